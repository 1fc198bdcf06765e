"""Cuts texts over 16 MB at a paragraph, else a line, else a character; decodes, and counts what it cannot.

Cut ``k`` lies in the 4 MB before byte ``12 MB * k`` of a text and is found by what stands there: several workers can
make the pieces of one text, of which none reads all. Memory: one piece and one block, whatever the length of the text.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from math import inf

from mrprep.document import Document, Place
from mrprep.sources.files import BLOCK, DamagedError
from mrprep.sources.found import Found

MAX_PIECE = 16 << 20
"""UTF-8 bytes of the longest piece."""
STEP = MAX_PIECE // 4 * 3
"""Bytes of a text from the latest place of one cut to that of the next."""
_BLOCK = 1 << 16
"""Bytes of a block of a text that is at hand; what larger ones took would stay with the process."""
_BAD_BYTE = re.compile("[\udc80-\udcff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def decode(raw: bytes, found: Found) -> str:
    """Return UTF-8 bytes as text; each byte that is not UTF-8 becomes U+FFFD and is counted."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        text, bad = _BAD_BYTE.subn("\ufffd", raw.decode("utf-8", "surrogateescape"))
        found.replaced += bad
        return text


def without_surrogates(text: str, found: Found) -> str:
    """Return ``text`` with each lone surrogate, which no encoding can hold, as U+FFFD, counted."""
    if text.isascii():
        return text
    text, bad = _SURROGATE.subn("\ufffd", text)
    found.replaced += bad
    return text


def documents(
    source: str, path: bytes, offset: int, line: int, text: str, score: float | None = None
) -> Iterator[Document]:
    """Yield ``text`` as one document, or as its pieces."""
    if len(text) <= MAX_PIECE // 4 or (len(text) <= MAX_PIECE and len(text.encode()) <= MAX_PIECE):
        yield Document(Place(source, path, offset, line), text, score=score)
        return
    blocks = (text[at : at + BLOCK].encode() for at in range(0, len(text), BLOCK))
    yield from documents_of(source, path, offset, line, blocks, score)


def documents_of(
    source: str, path: bytes, offset: int, line: int, blocks: Iterable[bytes], score: float | None = None
) -> Iterator[Document]:
    """Yield a text that comes in blocks of UTF-8, cut anywhere, as one document, or as its pieces."""
    for index, text in enumerate(map(bytes.decode, pieces(blocks))):  # no piece is held beside its text
        yield Document(Place(source, path, offset, line, index), text, score=score)


def text_blocks(text: memoryview) -> Iterator[bytes]:
    """Yield the bytes of a long text, a block at a time."""
    return (bytes(text[at : at + _BLOCK]) for at in range(0, len(text), _BLOCK))


def is_utf8(text: memoryview) -> bool:
    """Tell whether a long text is UTF-8, a block at a time."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for block in text_blocks(text):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def begin_of(first: int, limit: int = MAX_PIECE) -> int:
    """Return the byte of a stream from which on it must be read to know where a piece begins."""
    return max(0, first * (limit // 4 * 3) - limit // 4)


def pieces(blocks: Iterable[bytes], first: int = 0, last: float = inf, limit: int = MAX_PIECE) -> Iterator[bytes]:
    """Yield the pieces of a UTF-8 stream, each of at most ``limit`` bytes; the cuts depend on the bytes alone.

    A stream of up to ``limit`` bytes is one piece, an empty one too. A cut lies where the last paragraph, else the last
    line, of its stretch ends, and else before the character that goes over it. Of a damaged stream the whole lines
    before the damage are a piece.

    Args:
        blocks: the stream from ``begin_of(first)`` on.
        first: number of the first piece that is yielded.
        last: number of the one to end before.
        limit: of a piece.

    Raises:
        DamagedError: the stream breaks off in one of these pieces.
    """
    held, base = bytearray(), begin_of(first, limit)
    begun, number = first == 0, max(first, 1)
    try:
        for block in blocks:
            held += block
            while base + len(held) > (limit if number == 1 else number * (limit // 4 * 3)):
                end = _cut(held, number * (limit // 4 * 3) - base, limit // 4)
                if begun:
                    yield bytes(memoryview(held)[:end])
                if number == last:
                    return
                del held[:end]
                begun, base, number = True, base + end, number + 1
    except DamagedError:
        if not begun:
            return
        if whole := held[: held.rfind(b"\n") + 1]:
            yield bytes(whole)
        raise
    if begun and (held or number == 1):
        yield bytes(held)


def _cut(held: bytearray, stop: int, reach: int) -> int:
    """Return where to cut in the ``reach`` bytes before ``held[stop]``, at the latest there."""
    for ending in (b"\n\n", b"\n\r\n", b"\n"):
        found = held.rfind(ending, stop - reach, stop)
        if found >= 0:
            return found + len(ending)
    for end in range(stop, max(stop - reach, stop - 4), -1):
        if held[end] & 0xC0 != 0x80:
            return end
    return stop
