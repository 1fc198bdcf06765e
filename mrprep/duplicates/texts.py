"""Texts of whole documents, as one buffer and offsets, out of Arrow arrays and out of ``text.parquet``."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from mrprep.order import I64


class Texts(NamedTuple):
    """Texts in UTF-8, one after the other."""

    data: memoryview
    offsets: I64
    """int64[n + 1], where each begins and the last one ends."""


def flat(texts: pa.Array | pa.ChunkedArray) -> Texts:
    """Return the texts of a string or large_string array."""
    array = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if not len(array):
        return Texts(memoryview(b""), np.zeros(1, np.int64))
    _, bounds, data = array.buffers()
    width = np.int64 if pa.types.is_large_string(array.type) else np.int32
    offsets = np.frombuffer(bounds, width)[array.offset : array.offset + len(array) + 1]
    return Texts(memoryview(data or b""), offsets.astype(np.int64))


def read_documents(part: Path, first: I64, rows: npt.NDArray[np.int32]) -> Iterator[tuple[Texts, I64]]:
    """Yield the texts of documents of a part a few row groups at a time, and which text begins each document.

    Args:
        part: directory of ``text.parquet``; only its row groups that hold such documents are read.
        first: int64[d], first row of each document wanted, ascending.
        rows: int32[d], how many rows each has.
    """
    if not first.size:
        return
    with pq.ParquetFile(part / "text.parquet") as file:
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        begins = np.cumsum([0, *sizes])
        for low, high in _runs(begins, first, rows):
            mine = slice(*np.searchsorted(first, begins[[low, high]]))
            pieces = rows[mine].astype(np.int64)
            starts = np.cumsum(pieces) - pieces
            wanted = np.arange(pieces.sum()) + np.repeat(first[mine] - starts - begins[low], pieces)
            if wanted.size:
                table = file.read_row_groups(range(low, high), columns=["text"], use_threads=False)
                yield flat(table.column("text").take(pa.array(wanted))), starts


def _runs(begins: I64, first: I64, rows: npt.NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Yield the shortest ranges of row groups whose ends no document crosses."""
    low = 0
    for high in range(1, begins.size):
        before = int(np.searchsorted(first, begins[high])) - 1
        if before < 0 or first[before] + rows[before] <= begins[high]:
            yield low, high
            low = high
