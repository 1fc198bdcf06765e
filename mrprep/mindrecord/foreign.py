"""MindRecord files of anyone: which are there, what columns of integers they hold, and their rows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.errors import MrprepError
from mrprep.mindrecord.index import DamagedError, read_index
from mrprep.mindrecord.stored import is_integers, stored_rows
from mrprep.printable import printable


def mindrecord_files(path: Path) -> list[Path]:
    """Return the MindRecord files at a path, itself or below it, sorted: whatever has a ``.db`` beside it."""
    if path.is_file():
        return [path]
    indexes = sorted(index for index in path.rglob("*.db") if index.is_file())
    return [data for index in indexes if (data := index.with_suffix("")).is_file()]


def describe(file: Path) -> tuple[int, dict[str, Any]]:
    """Return the rows of a file and the columns of integers in it, name -> ``{"type", "shape"}``; 1 us a row.

    Raises:
        MrprepError: it is no MindRecord file, damaged, or its index is missing or another file's.
    """
    try:
        index = read_index(file)
    except DamagedError as error:
        raise _unreadable(file, error) from None
    columns = {name: dict(index.schema[name]) for name in index.blobs if is_integers(index.schema[name])}
    return index.start.size, columns


def read_ragged(file: Path, column: str, indices: Sequence[int] | None = None) -> Iterator[npt.NDArray[np.int64]]:
    """Yield one column of rows of a file, int64[places] each, rows of any length; in the order asked for, or all.

    Raises:
        MrprepError: the file cannot be read.
    """
    rows = None if indices is None else np.asarray(indices, np.int64)
    try:
        for batch in stored_rows(file, [column], rows):
            found = batch[column]
            values = found.values.astype(np.int64)
            for first, count in zip(found.first.tolist(), found.count.tolist(), strict=True):
                yield values[first : first + count]
    except DamagedError as error:
        raise _unreadable(file, error) from None


def _unreadable(file: Path, why: DamagedError) -> MrprepError:
    return MrprepError(
        f"{printable(str(file))} cannot be read as MindRecord ({why}): "
        "put back the file and the .db that were written together"
    )
