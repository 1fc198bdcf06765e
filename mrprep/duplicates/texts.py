"""Texts of whole documents, as one buffer and offsets, out of Arrow arrays and out of ``text.parquet``."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from mrprep.builddir.tables import TextPart
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


def sources_of(part: TextPart) -> tuple[list[str], I64]:
    """Return the names of the sources of a part, and which of them each row is of."""
    if not part.rows:
        return [], np.empty(0, np.int64)
    table = pq.read_table(part.path / "text.parquet", columns=["source"], use_threads=False)
    column = table.combine_chunks().column(0).chunk(0)
    return column.dictionary.to_pylist(), column.indices.to_numpy().astype(np.int64)


def scores_of(part: TextPart) -> npt.NDArray[np.float64]:
    """Return the score of each row of a part, NaN where there is none."""
    table = pq.read_table(part.path / "text.parquet", columns=["score"], use_threads=False)
    scores: npt.NDArray[np.float64] = table["score"].to_numpy()
    return scores


class Batch(NamedTuple):
    """Documents of one row group."""

    documents: Documents
    continues: bool
    """The first of them began in the row group before."""
    goes_on: bool
    """The last of them goes on in the next row group."""


def read_documents(part: Path, first: I64, rows: npt.NDArray[np.int32]) -> Iterator[Batch]:
    """Yield documents of a part, a row group at a time.

    Args:
        part: directory of ``text.parquet``; only its row groups that hold such documents are read.
        first: int64[d], first row of each document wanted, ascending.
        rows: int32[d], how many rows each has.
    """
    last = first + rows
    begin = 0
    with pq.ParquetFile(part / "text.parquet") as file:
        for group in range(file.num_row_groups):
            end = begin + file.metadata.row_group(group).num_rows
            mine = slice(*(int(np.searchsorted(*pair)) for pair in ((last, begin + 1), (first, end))))
            if mine.start < mine.stop:
                column = file.read_row_group(group, columns=["text"], use_threads=False).column("text")
                low, high = np.maximum(first[mine], begin), np.minimum(last[mine], end)
                starts = np.cumsum(high - low) - (high - low)
                wanted = np.arange((high - low).sum()) + np.repeat(low - begin - starts, high - low)
                if wanted.size < len(column):
                    column = column.take(pa.array(wanted))
                yield Batch(Documents(*flat(column), starts), first[mine][0] < begin, last[mine][-1] > end)
            begin = end
