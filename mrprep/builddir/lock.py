"""One build at a time into one output: a lock that the system lets go when its holder dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mrprep.builddir.layout import LOCK
from mrprep.errors import MrprepError
from mrprep.printable import printable


@contextmanager
def locked(work: Path) -> Iterator[None]:
    """Hold the lock of a work directory, which is made if missing and removed if nothing is left in it.

    Raises:
        MrprepError: another process holds it.
    """
    handle = _acquire(work)
    try:
        yield
        if [path.name for path in work.iterdir()] == [LOCK]:
            (work / LOCK).unlink()
            work.rmdir()
    finally:
        os.close(handle)


def _acquire(work: Path) -> int:
    """Look, lock, look again: the file that was locked must still be the one that stands there."""
    while True:
        work.mkdir(parents=True, exist_ok=True)
        handle = os.open(work / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
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
