"""From rows to the documents in them, and from documents to where they came from and to their text.

Reads no more row groups than the documents asked for stand in, each once, of a few parts side by side.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mrprep.audit.block import Stretches
from mrprep.builddir.layout import VERDICT
from mrprep.builddir.manifest import Build
from mrprep.errors import MrprepError
from mrprep.order import I64
from mrprep.printable import printable
from mrprep.provenance.tables import Found

HELD = 32 << 20
"""Bytes of texts of a block's documents that are kept for a second look."""
READERS = 4
"""Parts that are read side by side."""
Rows = list[tuple[int, dict[str, Any]]]
Value = TypeVar("Value")
_WHERE = ["id", "source", "path", "line", "piece", "text"]


def stretches(build: Build, shard: Mapping[str, Any], rows: I64) -> Stretches:
    """Return what stands in some rows of a shard.

    Args:
        build: the build.
        shard: its entry in the manifest.
        rows: their numbers, rising.

    Raises:
        MrprepError: the provenance table is missing or damaged.
    """
    found: dict[str, list[I64]] = {name: [] for name in Stretches.__slots__}
    with _table(build, shard["provenance"]) as file:
        for group in range(file.num_row_groups):
            columns = {name: _numbers(column) for name, column in _columns(file.read_row_group(group))}
            place = np.searchsorted(rows, columns["row"])
            wanted = rows[np.minimum(place, rows.size - 1)] == columns["row"]
            columns["row"] = place
            for name, parts in found.items():
                parts.append(columns[name][wanted])
    return Stretches(**{name: np.concatenate([np.zeros(0, np.int64), *parts]) for name, parts in found.items()})


@dataclass(slots=True)
class Origins:
    """What is known of documents, by row ordinal."""

    found: dict[int, Found]
    """Where they came from."""
    sizes: dict[int, int]
    """Bytes of their texts."""
    texts: dict[int, str]
    """Their texts, of as many as have HELD bytes together."""

    def of(self, docs: I64) -> "Origins":
        """Return what is known of some of them."""
        wanted = np.unique(docs).tolist()
        return Origins(_some(self.found, wanted), _some(self.sizes, wanted), _some(self.texts, wanted))


def _some(known: Mapping[int, Value], docs: list[int]) -> dict[int, Value]:
    return {doc: known[doc] for doc in docs if doc in known}


def origins(build: Build, docs: I64) -> Origins:
    """Return where documents came from.

    Raises:
        MrprepError: a text table is missing or damaged.
    """
    all_of_them = Origins({}, {}, {})
    left = HELD
    for doc, row in _rows(build, docs, _WHERE):
        all_of_them.found[doc] = _found(row, doc)
        all_of_them.sizes[doc] = size = len(row["text"].encode())
        if size <= left:
            all_of_them.texts[doc] = row["text"]
            left -= size
    return all_of_them


def texts(build: Build, docs: I64) -> Iterator[tuple[int, str]]:
    """Yield (row ordinal, cleaned text) of documents, by rising ordinal.

    Raises:
        MrprepError: a text table is missing or damaged.
    """
    for doc, row in _rows(build, docs, ["text"]):
        yield doc, row["text"]


@dataclass(frozen=True, slots=True)
class TextGroup:
    """Some rows of text/ that are read at a time."""

    file: str
    number: int
    """Of the row group."""
    base: int
    """Ordinal of its first row."""
    bytes: int
    """Of all columns, decompressed."""


def text_groups(build: Build) -> list[TextGroup]:
    """Return all row groups of text/.

    Raises:
        MrprepError: a text table is missing or damaged.
    """
    groups = []
    for part in build.manifest["text"]["parts"]:
        base = part["base"]
        with _table(build, part["file"]) as file:
            for number in range(file.num_row_groups):
                facts = file.metadata.row_group(number)
                groups.append(TextGroup(part["file"], number, base, facts.total_byte_size))
                base += facts.num_rows
    return groups


def kept_texts(build: Build, group: TextGroup) -> tuple[list[Found], list[str]]:
    """Return the documents of a row group that dedupe has kept, and their cleaned texts.

    Raises:
        MrprepError: the text table is missing or damaged.
    """
    with _table(build, group.file) as file:
        table = file.read_row_group(group.number, _WHERE, use_threads=False)
    kept = np.ones(table.num_rows, bool)
    if build.holds(VERDICT):
        verdict = np.load(build.file(VERDICT), mmap_mode="r")
        kept = np.asarray(verdict[group.base : group.base + table.num_rows] == -1)
    rows = table.filter(pa.array(kept)).to_pylist()
    docs = (group.base + np.flatnonzero(kept)).tolist()
    founds = [_found(row, doc) for row, doc in zip(rows, docs, strict=True)]
    return founds, [row["text"] for row in rows]


def _found(row: Mapping[str, Any], doc: int) -> Found:
    return Found(row["id"], row["source"], row["path"], row["line"], row["piece"], doc)


def _rows(build: Build, docs: I64, columns: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    wanted = np.unique(docs)
    parts = build.manifest["text"]["parts"]
    bounds = np.searchsorted(wanted, [(part["base"], part["base"] + part["rows"]) for part in parts]).tolist()
    with ThreadPoolExecutor(READERS) as readers:
        ahead: deque[Future[Rows]] = deque()
        for part, (low, high) in zip(parts, bounds, strict=True):
            if low < high:
                ahead.append(readers.submit(_rows_of_part, build, part, wanted[low:high], columns))
            if len(ahead) > READERS:
                yield from ahead.popleft().result()
        for reader in ahead:
            yield from reader.result()


def _rows_of_part(build: Build, part: Mapping[str, Any], docs: I64, columns: list[str]) -> Rows:
    found: Rows = []
    with _table(build, part["file"]) as file:
        base = part["base"]
        for group in range(file.num_row_groups):
            end = base + file.metadata.row_group(group).num_rows
            mine = docs[slice(*np.searchsorted(docs, (base, end)))]
            if mine.size:
                table = file.read_row_group(group, columns, use_threads=False).take(pa.array(mine - base))
                found += zip(mine.tolist(), table.to_pylist(), strict=True)
            base = end
    return found


@contextmanager
def _table(build: Build, name: str) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(build.file(name)) as file:
            yield file
    except (OSError, KeyError, pa.ArrowException) as error:
        raise MrprepError(f"{printable(name)} cannot be read ({printable(str(error))}): run mrprep verify") from None


def _columns(table: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
    return zip(table.column_names, table.columns, strict=True)


def _numbers(column: pa.ChunkedArray) -> I64:
    return np.asarray(column.to_numpy(), np.int64)
