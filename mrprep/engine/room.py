"""Room on the disk, looked at before it is needed."""

import shutil
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
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < needed + beside:
        raise MrprepError(
            f"{what} needs {size_of(needed + beside)}, {size_of(free)} free in {printable(str(there))}: make room, or "
            "give an --out on another disk"
        )


def bytes_in(folder: Path) -> int:
    """Return the bytes of all files below a directory, 0 if there is none."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def size_of(number: float) -> str:
    """Return bytes as people read them, in powers of a thousand."""
    for unit, one in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if number >= one:
            return f"{number / one:.3g} {unit}"
    return f"{number / 1e3:.3g} kB"
