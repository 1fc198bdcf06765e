r"""Splits a stream of bytes into lines at ``\n`` and at nothing else, each with its place.

Memory: a block and the longest line; a line over ``MAX_RECORD`` is passed over, not held.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO

from mrprep.sources.files import BLOCK

MAX_RECORD = 256 << 20
"""Bytes of the longest record that is read."""


@dataclass(frozen=True, slots=True)
class Batch:
    r"""Lines that follow each other, without their ``\n``."""

    offset: int
    """Of the first line's first byte."""
    line: int
    """Number of the first line."""
    lines: list[bytes]


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that is longer than ``MAX_RECORD``."""

    offset: int
    line: int
    size: int


def batches(
    blocks: Iterable[bytes], offset: int = 0, line: int = 1, limit: int = MAX_RECORD
) -> Iterator[Batch | TooLong]:
    """Yield all lines of a stream that begins at ``offset`` and on ``line``, a block's worth at a time.

    ``limit`` is at least the size of a block.
    """
    pending, held = BytesIO(), 0
    """The line that has begun, and its bytes; more than ``limit`` once it is passed over."""
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if not end:
            held += len(block)
            pending.write(block)
            if held > limit:
                pending = BytesIO()
            continue
        first = block.find(b"\n") + 1
        if held + first - 1 > limit:
            yield TooLong(offset, line, held + first - 1)
            offset, line, pending = offset + held + first, line + 1, BytesIO()
        elif held > len(block):  # a long line is not copied with those after it
            pending.write(block[: first - 1])
            yield Batch(offset, line, [_taken(pending)])
            offset, line, pending = offset + held + first, line + 1, BytesIO()
        else:
            first = 0
        if end > first:
            pending.write(block[first:end])
            lines = _taken(pending).split(b"\n")
            lines.pop()
            yield Batch(offset, line, lines)
            offset += sum(map(len, lines)) + len(lines)
            line += len(lines)
        pending, held = BytesIO(), len(block) - end
        pending.write(block[end:])
    if held > limit:
        yield TooLong(offset, line, held)
    elif held:
        yield Batch(offset, line, [_taken(pending)])


def _taken(pending: BytesIO) -> bytes:
    """Return what was written, which is not copied, and is held no longer."""
    taken = pending.getvalue()
    pending.close()
    return taken


def of_span(file: BinaryIO, start: int, stop: int, first_line: int) -> tuple[int, int, Iterator[bytes]]:
    """Return offset and line of the first line that begins in a span, and the blocks from there to the file's end.

    One of the blocks ends at ``stop``; there are none if no line begins in the span.
    """
    begin = _next_line(file, start, stop)
    line = first_line + (begin > start)
    return begin, line, _blocks(file, begin, stop)


def _next_line(file: BinaryIO, start: int, stop: int) -> int:
    """Return where the first line that begins in ``start..stop`` begins; ``stop`` if none does."""
    if start == 0:
        return 0
    file.seek(start - 1)
    position = start - 1
    while position < stop - 1 and (block := file.read(min(BLOCK, stop - 1 - position))):
        found = block.find(b"\n")
        if found >= 0:
            return position + found + 1
        position += len(block)
    return stop


def _blocks(file: BinaryIO, begin: int, stop: int) -> Iterator[bytes]:
    """Yield the blocks of a file from ``begin`` on, one of which ends at ``stop``; none if that comes before."""
    if begin >= stop:
        return
    file.seek(begin)
    position = begin
    while block := file.read(BLOCK if position >= stop else min(BLOCK, stop - position)):
        position += len(block)
        yield block


def to_line_end(blocks: Iterable[bytes], begin: int, stop: int) -> Iterator[bytes]:
    """Yield blocks, the first of which lies at ``begin``, to the first line end at or after ``stop - 1``."""
    if begin >= stop:
        return
    position = begin
    for block in blocks:
        position += len(block)
        if position < stop:
            yield block
            continue
        end = block.find(b"\n", max(0, stop - 1 - (position - len(block)))) + 1
        yield block[:end] if end else block
        if end:
            return


def numbered(found: Iterable[Batch | TooLong]) -> Iterator[tuple[int, int, bytes] | TooLong]:
    """Yield offset, line number and bytes of each line."""
    for batch in found:
        if isinstance(batch, TooLong):
            yield batch
            continue
        offset = batch.offset
        for line, raw in enumerate(batch.lines, batch.line):
            yield offset, line, raw
            offset += len(raw) + 1
