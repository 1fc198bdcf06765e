"""The blocks in which files are read."""

from collections.abc import Iterator
from typing import BinaryIO

BLOCK = 1 << 20
"""Bytes of a block."""


class DamagedError(Exception):
    """A stream of blocks that breaks off because the compressed data ends early or is broken."""


def blocks_of(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield the next ``size`` bytes of a file, fewer if it has fewer."""
    while size and (block := file.read(min(BLOCK, size))):
        size -= len(block)
        yield block
