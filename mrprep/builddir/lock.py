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
    """Hold the lock of a work directory, which is made if it is missing.

    Raises:
        MrprepError: another process holds it.
    """
    work.mkdir(parents=True, exist_ok=True)
    handle = os.open(work / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise MrprepError(
                f"another build is writing to {printable(str(work))}: wait for it to end, or give another --out"
            ) from None
        yield
    finally:
        os.close(handle)
