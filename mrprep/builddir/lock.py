"""One build at a time into one output: a lock that the system lets go when its holder dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mrprep.builddir.layout import INPUTS, LOCK
from mrprep.errors import MrprepError
from mrprep.printable import printable

_NO_WORK = (INPUTS, str(Path(INPUTS).with_suffix(".tmp")), LOCK)
"""What is there before any work is, in the order in which it goes."""


@contextmanager
def locked(work: Path) -> Iterator[None]:
    """Hold the lock of a work directory, which is made if missing and removed if no work is left in it.

    Raises:
        MrprepError: another process holds it, or what stands there is no work directory of mrprep.
    """
    handle = _acquire(work)
    try:
        yield
    finally:
        with suppress(OSError):
            if {path.name for path in work.iterdir()} <= set(_NO_WORK):
                for name in _NO_WORK:
                    (work / name).unlink(missing_ok=True)
                work.rmdir()
        os.close(handle)


def _acquire(work: Path) -> int:
    """Look, lock, look again: the file that was locked must still be the one that stands there."""
    while True:
        _check_ours(work)
        try:
            work.mkdir(parents=True, exist_ok=True)
            handle = os.open(work / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # another build has just taken the empty directory away
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), (work / LOCK).stat()):
                return handle
        except FileNotFoundError:
            pass
        except OSError:
            os.close(handle)
            raise MrprepError(
                f"another build is writing to {printable(str(work))}: wait for it to end, or give another --out"
            ) from None
        os.close(handle)


def _check_ours(work: Path) -> None:
    """Refuse a work directory that does not bear the lock file, and so may be somebody's own."""
    with suppress(FileNotFoundError):
        foreign = work.is_symlink() or (work.exists() and not work.is_dir())
        if foreign or (work.is_dir() and any(work.iterdir()) and not (work / LOCK).is_file()):
            raise MrprepError(f"{printable(str(work))} was not made by mrprep: move it away, or give another --out")
