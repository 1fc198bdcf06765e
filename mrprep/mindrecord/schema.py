"""What a MindRecord file of ours holds: columns and the sizes of its header and pages. Pure, no MindSpore.

All files that one MindDataset reads need the same schema, header size and page size (MindSpore 2.10 compares
the metadata), so all three depend on row length, layout and the largest shard alone, never on one file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Layout = Literal["flat", "mcore"]

DTYPE = "int32"
"""Of every column; loss_mask too, as in mindformers' own Megatron datasets: 1.25 B a token where float32 takes 4."""

_STORED_BYTES = 4.25  # an integer takes two bits of tag and 1, 2 or 4 bytes
_FIELD_BYTES = 16  # MindRecord writes the length of a field before it
_PAGE_ROWS, _PAGE_TOKENS = 16, 30_000  # a page holds at least as many: little is lost at its end
_PAGE_MIN = 1 << 15  # MindRecord's own limit
_HEADER_MIN, _HEADER_MAX = 1 << 17, 1 << 27  # 128 KiB serves shards of up to 8 Mi tokens at any row length
_HEADER_SCHEMA, _HEADER_PAGE = 1 << 12, 192  # bytes for the schema; bytes for a page's entry, at most


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns of a file, and how it is laid out."""

    columns: Mapping[str, int]
    """Name -> places, in the order in which readers should ask for them."""
    header: int
    """Bytes of the header."""
    page: int
    """Bytes of a page."""


def schema(layout: Layout, seq: int, documents: int, rows: int) -> Schema:
    """Return the schema of rows of ``seq`` targets in files of at most ``rows`` rows.

    Args:
        layout: flat or mcore.
        seq: targets a row (S).
        documents: places of ``actual_seq_len`` (K); layout mcore only.
        rows: of the largest file, or more.

    Raises:
        ValueError: that many rows do not fit into one MindRecord file.
    """
    columns = columns_of(layout, seq, documents)
    row = row_bytes(columns)
    held = max(_PAGE_ROWS, -(-_PAGE_TOKENS // seq))
    page = max(_PAGE_MIN, _power_of_two(held * row))
    pages = -(-rows // (page // row)) + 1
    header = max(_HEADER_MIN, _power_of_two(_HEADER_SCHEMA + _HEADER_PAGE * pages))
    if header > _HEADER_MAX:
        raise ValueError(f"{rows} rows of {seq} tokens are too many for one MindRecord file")
    return Schema(columns, header, page)


def index_of(file: Path) -> Path:
    """Return the path of the index that belongs to a MindRecord file."""
    return file.with_name(file.name + ".db")


def columns_of(layout: Layout, seq: int, documents: int) -> dict[str, int]:
    """Return name -> places of the columns of a layout."""
    if layout == "flat":
        return {"input_ids": seq + 1}
    return {
        "input_ids": seq,
        "labels": seq,
        "loss_mask": seq,
        "position_ids": seq,
        "actual_seq_len": documents,
    }


def row_bytes(columns: Mapping[str, int]) -> int:
    """Return how many bytes a row takes in a page at most."""
    return sum(int(_STORED_BYTES * places) + _FIELD_BYTES for places in columns.values())


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()
