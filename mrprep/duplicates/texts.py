"""Texts of whole documents, as one buffer and offsets, out of Arrow arrays and out of ``text.parquet``."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from mrprep.minhash.documents import Documents
from mrprep.order import I64


def flat(texts: pa.Array | pa.ChunkedArray) -> tuple[memoryview, I64]:
    """Return the UTF-8 of a string or large_string array, and int64[n + 1]: where texts begin and the last ends."""
    array = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if not len(array):
        return memoryview(b""), np.zeros(1, np.int64)
    _, bounds, data = array.buffers()
    width = np.int64 if pa.types.is_large_string(array.type) else np.int32
    offsets = np.frombuffer(bounds, width)[array.offset : array.offset + len(array) + 1]
    return memoryview(data or b""), offsets.astype(np.int64)


def read_documents(part: Path, first: I64, rows: npt.NDArray[np.int32]) -> Iterator[Documents]:
    """Yield documents of a part, a few row groups at a time.

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
                column = file.read_row_groups(range(low, high), columns=["text"], use_threads=False).column("text")
                if wanted.size < len(column):
                    column = column.take(pa.array(wanted))
                yield Documents(*flat(column), starts)


def _runs(begins: I64, first: I64, rows: npt.NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Yield the shortest ranges of row groups whose ends no document crosses."""
    low = 0
    for high in range(1, begins.size):
        before = int(np.searchsorted(first, begins[high])) - 1
        if before < 0 or first[before] + rows[before] <= begins[high]:
            yield low, high
            low = high
