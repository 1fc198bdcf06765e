"""Stretches of a large compressed file of lines, so that one such file keeps several workers busy.

A stretch is counted in decompressed bytes, and a line is of the stretch that holds its first byte. Each worker
decompresses from the start and passes over what comes before its stretch, lines counted: decompressing is some ten
times as fast as the work on what comes out, so of `k` stretches the whole costs (k + 1) / 2 decompressions and no disk.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace

from mrprep.sources import encoding, jsonl, streams
from mrprep.sources.files import BLOCK, DamagedError, UnreadableError, open_file, size_of
from mrprep.sources.found import Found
from mrprep.sources.span import Span, is_of_lines

END = 1 << 62
"""Where the last stretch stops: how much comes out of a file is known when it has been read."""
_LOOK = 4
"""Blocks that are looked at."""
_MOST = {"zst": 16, "gz": 8, "xz": 3, "bz2": 2}
"""Stretches of a file at most: the slower a format unpacks, the fewer."""


def stretches(whole: Span, unit: int) -> Iterator[Span]:
    """Yield the stretches of a compressed file, or the file itself if it is not one of UTF-8 lines, or too small."""
    if is_of_lines(whole):
        yield from cut(whole, unit)
    else:
        yield whole


def cut(whole: Span, unit: int, step: int = 1) -> Iterator[Span]:
    """Yield stretches of a compressed file, at multiples of ``step``, or all of it if it is not UTF-8 or too small.

    How much a file holds is guessed from how well its first bytes were packed; the last stretch takes what is more.
    """
    guess = _decompressed_size(whole)
    count = min(_MOST.get(whole.compression, 1), guess // unit)
    if count < 2:
        yield whole
        return
    each = guess // count // step * step
    for number in range(count):
        yield replace(
            whole,
            start=number * each,
            stop=END if number == count - 1 else (number + 1) * each,
            encoding="utf-8",
            whole=False,
            size=whole.size // count,
            packed=whole.size,
        )


def of_span(blocks: Iterator[bytes], span: Span, found: Found) -> tuple[int, int, Iterator[bytes]]:
    """Return offset and line of the first line that begins in a stretch, and the blocks from there to the end.

    Args:
        blocks: all that the file holds.
        span: the stretch.
        found: is told nothing of what is wrong before the stretch; that is said where it lies.
    """
    position, line, at_most = 0, 1, span.start - 1
    try:
        for block in blocks if span.start else ():
            at = max(0, at_most - position)
            end = block.find(b"\n", at) + 1 if at < len(block) else 0
            line += block.count(b"\n", 0, end or len(block))
            if end:
                begin = position + end
                return begin, line, itertools.chain([block[end:]], blocks)
            position += len(block)
    except DamagedError:
        blocks = iter(())
    if span.start:
        found.problem = ""
        return position, line, iter(())
    return 0, 1, blocks


def after(blocks: Iterator[bytes], begin: int) -> Iterator[bytes]:
    """Yield a stream from byte ``begin`` on."""
    for block in blocks:
        if begin < len(block):
            yield block[begin:]
        begin = max(0, begin - len(block))


def _decompressed_size(whole: Span) -> int:
    """Return about how much a file holds; 0 where it is not to be cut."""
    try:
        with open_file(whole.full_path) as file:
            stream = streams.decompressed(file, size_of(file), whole.compression, Found())
            held = list(itertools.islice(stream, _LOOK))
            taken = file.tell()
    except (OSError, UnreadableError):
        return 0
    head = b"".join(held)
    verdict = encoding.decide(encoding.Sample(head[:BLOCK], whole=False), whole.encoding, whole.format == "jsonl")
    if verdict.name != "utf-8" or streams.codec_of(head) or (whole.format == "jsonl" and jsonl.not_lines(head)):
        return 0
    return len(head) * whole.size // max(1, taken)
