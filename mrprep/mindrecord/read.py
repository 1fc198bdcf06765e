"""Read rows of MindRecord files: many by index through MindDataset, one or a whole file without importing it.

MindDataset: 30 Mtok/s a core, after a second and 400 MB for the import.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.errors import MrprepError, NoRowError
from mrprep.mindrecord import core
from mrprep.mindrecord.checksum import Checksum, Written
from mrprep.mindrecord.errors import reason
from mrprep.mindrecord.schema import DTYPE, index_of
from mrprep.printable import printable

Columns = dict[str, npt.NDArray[Any]]
I64 = npt.NDArray[np.int64]

_BATCH = 64


def count_rows(file: Path) -> int:
    """Return the rows that the index of a file lists, without MindSpore.

    Raises:
        MrprepError: the index is missing or damaged.
    """
    index = index_of(file)
    try:
        connection = sqlite3.connect(f"{index.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            return int(connection.execute("SELECT COUNT(*) FROM INDEXES").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise MrprepError(
            f"{printable(str(index))} is no index of a MindRecord file ({error}): put it back, or build again"
        ) from None


def read_rows(
    files: Sequence[Path], columns: Sequence[str], indices: Sequence[int] | I64 | None = None
) -> Iterator[Columns]:
    """Yield rows one by one, name -> array [places]; arguments and errors as for ``read_batches``."""
    for batch in read_batches(files, columns, indices):
        for i in range(len(batch[columns[0]])):
            yield {name: array[i] for name, array in batch.items()}


def read_batches(
    files: Sequence[Path],
    columns: Sequence[str],
    indices: Sequence[int] | I64 | None = None,
    rows: int | None = None,
) -> Iterator[Columns]:
    """Yield rows in batches, name -> array [up to 64, places], in the order asked for.

    Args:
        files: in the order in which their rows are numbered through; all of one build and split.
        columns: names wanted.
        indices: rows wanted, repeats allowed; all rows in order if None.
        rows: how many the files have; counted if None.

    Raises:
        NoRowError: an index lies outside the rows; MindSpore would wrap it round and say nothing.
        MrprepError: the files cannot be read.
    """
    if indices is None:
        yield from _batches(files, columns, None)
        return
    total = sum(count_rows(file) for file in files) if rows is None else rows
    wanted = np.asarray(indices, np.int64)
    if wanted.size and not 0 <= wanted.min() <= wanted.max() < total:
        raise NoRowError(
            f"rows {wanted.min()} to {wanted.max()} asked for, there are {total}, counted from 0: name some of them"
        )
    for start in range(0, len(wanted), total):  # SubsetSampler takes no more indices than there are rows
        yield from _batches(files, columns, wanted[start : start + total].tolist())


def read_row(file: Path, index: int, columns: Sequence[str]) -> Columns:
    """Return one row of a file, name -> array [places], without importing MindSpore.

    It reads the file up to that row: 0.1 s for 4 Mtok, where MindDataset needs a second to be there.

    Raises:
        NoRowError: there is no such row.
        MrprepError: the file cannot be read.
    """
    if not 0 <= index < count_rows(file):
        raise NoRowError(f"row {index} asked for, there are {count_rows(file)}, counted from 0: name one of them")
    row = next(islice(_stored_rows(file, columns), index, None))
    return {name: np.frombuffer(bytes(row[name]), DTYPE) for name in columns}


def first_rows(file: Path, columns: Sequence[str], count: int) -> Columns:
    """Return the first rows of a file, name -> array [up to count, places], without importing MindSpore.

    Raises:
        MrprepError: the file cannot be read.
    """
    rows = list(islice(_stored_rows(file, columns), count))
    return {name: np.array([np.frombuffer(bytes(row[name]), DTYPE) for row in rows]) for name in columns}


def stored_batches(file: Path, columns: Sequence[str]) -> Iterator[Columns]:
    """Yield all rows of a file in order, name -> array [up to 64, places], without importing MindSpore; 20 Mtok/s.

    Raises:
        MrprepError: the file cannot be read.
    """
    rows = _stored_rows(file, columns)
    while batch := list(islice(rows, _BATCH)):
        yield {name: np.array([np.frombuffer(bytes(row[name]), DTYPE) for row in batch]) for name in columns}


def check_rows(file: Path, columns: Sequence[str]) -> Written:
    """Read a whole file; return its rows and their checksum, to be compared with what was written.

    By the reader that MindDataset is made of, at 20 Mtok/s a core.
    """
    sums = Checksum(columns)
    for row in _stored_rows(file, columns):
        sums.update_row({name: bytes(row[name]) for name in columns})
    return sums.written()


def _stored_rows(file: Path, columns: Sequence[str]) -> Iterator[dict[str, list[int]]]:
    """Yield the rows of a file in order, each column as a list of its bytes."""
    reader = core.load().ShardReader()
    try:
        core.done(reader.open([str(file)], False, 1, list(columns), []))
        core.done(reader.launch())
        while rows := reader.get_next():
            for blob, _ in rows:
                yield blob
    except RuntimeError as error:
        raise MrprepError(f"{printable(str(file))} cannot be read ({reason(error)}): build again") from None
    finally:
        reader.close()


def batched(files: Sequence[Path], columns: Sequence[str], indices: list[int] | None, batch: int) -> Any:
    """Return MindSpore's ``MindDataset`` of the rows asked for, or of all in order, in batches; the last is smaller.

    Indices must lie within the rows, and be no more than they: MindSpore says nothing and wraps them round.
    """
    import mindspore.dataset as ds

    sampler = ds.SequentialSampler() if indices is None else ds.SubsetSampler(indices)
    rows = ds.MindDataset(
        [str(file) for file in files], columns_list=list(columns), num_parallel_workers=1, sampler=sampler
    )
    return rows.batch(batch, num_parallel_workers=1)


def _batches(files: Sequence[Path], columns: Sequence[str], indices: list[int] | None) -> Iterator[Columns]:
    try:
        batches = batched(files, columns, indices, _BATCH)
        yield from batches.create_dict_iterator(num_epochs=1, output_numpy=True)
    except RuntimeError as error:
        raise MrprepError(f"{printable(str(files[0]))} cannot be read ({reason(error)}): build again") from None
