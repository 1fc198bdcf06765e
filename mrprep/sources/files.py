"""Opens files and reads them by blocks, and the two ways in which that can fail."""

import io
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, cast

from mrprep.sources import remote

BLOCK = 1 << 20
"""Bytes of a block."""


class UnreadableError(Exception):
    """Why a file, or the rest of it, cannot be read; a clause that goes with the file's name."""


class DamagedError(UnreadableError):
    """A stream of blocks breaks off because its compressed data ends early or is broken."""


def open_file(path: bytes) -> BinaryIO:
    """Return the open file, unbuffered; one that has become a pipe since it was listed does not block.

    Raises:
        UnreadableError: it is no regular file.
        OSError: it cannot be opened.
    """
    if remote.is_url(path):
        return remote.open_url(os.fsdecode(path))
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UnreadableError("is not a regular file any more")
    return cast("BinaryIO", io.FileIO(handle))


def size_of(file: BinaryIO) -> int:
    """Return the bytes of an open file, which is left at its start."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return size


def blocks_of(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield the next ``size`` bytes of a file, fewer if it has fewer."""
    while size and (block := file.read(min(BLOCK, size))):
        size -= len(block)
        yield block
