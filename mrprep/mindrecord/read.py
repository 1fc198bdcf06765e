"""Read rows of our MindRecord files: by index through MindDataset, one or a whole file without importing MindSpore.

MindDataset: 30 Mtok/s a core, after a second and 400 MB for the import.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.errors import MrprepError, NoRowError
from mrprep.mindrecord.checksum import Checksum, Written
from mrprep.mindrecord.errors import reason
from mrprep.mindrecord.index import DamagedError
from mrprep.mindrecord.integers import Ragged
from mrprep.mindrecord.schema import DTYPE, index_of
from mrprep.mindrecord.stored import stored_rows
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
    _check_inside(wanted, total)
    for start in range(0, len(wanted), total):  # SubsetSampler takes no more indices than there are rows
        yield from _batches(files, columns, wanted[start : start + total].tolist())


def read_row(file: Path, index: int, columns: Sequence[str]) -> Columns:
    """Return one row of a file, name -> array [places]; errors as for ``stored_batches``."""
    found = next(stored_batches(file, columns, np.array([index])))
    return {name: found[name][0] for name in columns}


def stored_batches(file: Path, columns: Sequence[str], rows: I64 | None = None) -> Iterator[Columns]:
    """Yield rows of a file, name -> array [some, places], without importing MindSpore; 90 Mtok/s.

    Args:
        file: one of ours.
        columns: names wanted.
        rows: numbers of the rows wanted, repeats allowed; all in order if None.

    Raises:
        NoRowError: there is no such row.
        MrprepError: the file cannot be read.
    """
    if rows is not None:
        _check_inside(rows, count_rows(file))
    try:
        for batch in stored_rows(file, columns, rows):
            yield {name: _rectangle(batch[name]) for name in columns}
    except DamagedError as error:
        raise MrprepError(f"{printable(str(file))} cannot be read ({error}): build again") from None


def check_rows(file: Path, columns: Sequence[str]) -> Written:
    """Read a whole file; return its rows and their checksum, to be compared with what was written; 90 Mtok/s.

    Raises:
        MrprepError: the file cannot be read.
    """
    sums = Checksum(columns)
    for batch in stored_batches(file, columns):
        sums.update(batch)
    return sums.written()


def _check_inside(rows: I64, total: int) -> None:
    if rows.size and not 0 <= rows.min() <= rows.max() < total:
        raise NoRowError(
            f"rows {rows.min()} to {rows.max()} asked for, there are {total}, counted from 0: name some of them"
        )


def _rectangle(ragged: Ragged) -> npt.NDArray[Any]:
    places = int(ragged.count[0])
    if ragged.values.dtype != np.dtype(DTYPE) or (ragged.count != places).any():
        raise DamagedError("its rows differ in length or are of another type")
    return ragged.values.reshape(len(ragged.count), -1)[:, :places]


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
