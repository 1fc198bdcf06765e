"""What a MindRecord file of ours holds: columns and the sizes of its header and pages. Pure, no MindSpore.

All files that one MindDataset reads need the same schema, header size and page size (MindSpore 2.10 compares
the metadata), so all three depend on row length, layout and the largest shard alone, never on one file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Layout = Literal["flat", "mcore"]

_STORED_BYTES = {"int32": 4.25, "float32": 4.0}  # integers: two bits of tag and at most four bytes
_FIELD_BYTES = 16  # MindRecord writes the length of a field before it
_PAGE_ROWS, _PAGE_TOKENS = 16, 30_000  # a page holds at least as many: little is lost at its end
_PAGE_MIN = 1 << 15  # MindRecord's own limit
_HEADER_MIN, _HEADER_MAX = 1 << 17, 1 << 27  # 128 KiB serves shards of up to 8 Mi tokens at any row length
_HEADER_SCHEMA, _HEADER_PAGE = 1 << 12, 192  # bytes for the schema; bytes for a page's entry, at most


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns of a file, and how it is laid out."""

    columns: Mapping[str, tuple[str, int]]
    """Name -> (dtype, places), in the order in which readers should ask for them."""
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


def columns_of(layout: Layout, seq: int, documents: int) -> dict[str, tuple[str, int]]:
    """Return name -> (dtype, places) of the columns of a layout."""
    if layout == "flat":
        return {"input_ids": ("int32", seq + 1)}
    return {
        "input_ids": ("int32", seq),
        "labels": ("int32", seq),
        "loss_mask": ("float32", seq),
        "position_ids": ("int32", seq),
        "actual_seq_len": ("int32", documents),
    }


def row_bytes(columns: Mapping[str, tuple[str, int]]) -> int:
    """Return how many bytes a row takes in a page at most."""
    return sum(int(_STORED_BYTES[dtype] * places) + _FIELD_BYTES for dtype, places in columns.values())


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()
