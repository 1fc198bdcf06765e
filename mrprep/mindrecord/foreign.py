"""MindRecord files of anyone: which are there, what columns of integers they hold, and their rows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.errors import MrprepError
from mrprep.mindrecord.apart import Reader
from mrprep.mindrecord.index import misfit
from mrprep.printable import printable

_READER = Reader()


def mindrecord_files(path: Path) -> list[Path]:
    """Return the MindRecord files at a path, itself or below it, sorted: whatever has a ``.db`` beside it."""
    if path.is_file():
        return [path]
    indexes = sorted(index for index in path.rglob("*.db") if index.is_file())
    return [data for index in indexes if (data := index.with_suffix("")).is_file()]


def describe(file: Path) -> tuple[int, dict[str, Any]]:
    """Return the rows of a file and the columns of integers in it, name -> ``{"type", "shape"}``; takes 0.01 s.

    Raises:
        MrprepError: it is no MindRecord file, damaged, or its index is missing or another file's.
    """
    why = misfit(file)
    if why:
        raise MrprepError(
            f"{printable(str(file))} cannot be read as MindRecord ({why}): "
            "put back the file and the .db that were written together"
        )
    facts = _READER.facts(file)
    columns = {name: kind for name, kind in facts["schema"].items() if kind["type"] in ("int32", "int64")}
    return int(facts["rows"]), {name: kind for name, kind in columns.items() if "shape" in kind}


def read_ragged(file: Path, column: str, indices: Sequence[int] | None = None) -> Iterator[npt.NDArray[np.int64]]:
    """Yield one column of rows of a file, int64[places] each, rows of any length; in the order asked for, or all.

    Raises:
        MrprepError: the file cannot be read.
    """
    return _READER.rows(file, column, None if indices is None else list(indices))
