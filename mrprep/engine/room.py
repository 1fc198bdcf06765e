"""Room on the disk, looked at before it is needed."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mrprep.errors import MrprepError
from mrprep.printable import printable


def check_room(folder: Path, needed: int, what: str, beside: int = 0) -> None:
    """See that a disk has room for what will be written.

    Args:
        folder: where it will be written; it need not be there yet.
        needed: bytes that will come to what is there now.
        what: will be written, for the message.
        beside: bytes that must stay free while it is written.

    Raises:
        MrprepError: it has not.
    """
    if needed <= 0:
        return
    there = _standing(folder)
    if shutil.disk_usage(there).free < needed + beside:
        raise MrprepError(
            f"{what} needs {size_of(needed + beside)}, {free_in(there)}: make room, or give an --out on another disk"
        )


@contextmanager
def room(folder: Path, needed: int, what: str, beside: int = 0) -> Iterator[None]:
    """See that a disk has room before the block writes to it; if it fills all the same, say what is free and missing.

    Args:
        folder: where the block writes; what lies there already is part of it.
        needed: bytes that the folder will hold, at the least.
        what: is written, for the message.
        beside: bytes that must stay free while it is written.

    Raises:
        MrprepError: there is no room, or none was left.
    """
    check_room(folder, needed - bytes_in(folder), what, beside)
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        left = needed + beside - bytes_in(folder)
        more = f" and {what} needs {size_of(left)} more" if left > 0 else ""
        raise MrprepError(
            f"the disk is full, {free_in(folder)}{more}: free some, and the same command goes on from here"
        ) from error


def is_full(error: OSError) -> bool:
    """Return whether a disk was full; NumPy says only how much of an array it wrote then."""
    return error.errno == errno.ENOSPC or (error.errno is None and " requested and " in str(error))


def free_in(folder: Path) -> str:
    """Return how much is free where a directory is or will be, in words."""
    there = _standing(folder)
    return f"{size_of(shutil.disk_usage(there).free)} free in {printable(str(there))}"


def _standing(folder: Path) -> Path:
    """Return the directory, or the nearest above it that is there."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())


def bytes_in(folder: Path) -> int:
    """Return the bytes of all files below a directory, 0 if there is none."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def size_of(number: float) -> str:
    """Return bytes as people read them, in powers of a thousand."""
    for unit, one in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if number >= one:
            return f"{number / one:.3g} {unit}"
    return f"{number / 1e3:.3g} kB"
