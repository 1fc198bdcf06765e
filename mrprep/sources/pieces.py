"""Cuts texts over 16 MB at a paragraph, else a line, else a character; decodes, and counts what it cannot.

Memory: one piece and one block, whatever the length of the text.
"""

import re
from collections.abc import Iterable, Iterator

from mrprep.document import Document, Place
from mrprep.sources.files import BLOCK, DamagedError
from mrprep.sources.found import Found

MAX_PIECE = 16 << 20
"""UTF-8 bytes of the longest piece."""
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
    for index, piece in enumerate(pieces(blocks)):
        yield Document(Place(source, path, offset, line, index), piece.decode(), score=score)


def pieces(blocks: Iterable[bytes], limit: int = MAX_PIECE) -> Iterator[bytes]:
    """Yield the bytes of a UTF-8 stream in pieces of at most ``limit``; the cuts depend on the bytes alone.

    An empty stream is one empty piece. A cut falls in the second half of a piece if there is a paragraph's
    or a line's end in it, and else before the character that would not fit. Of a damaged stream the whole lines
    before the damage are a piece.
    """
    held = bytearray()
    empty = True
    try:
        for block in blocks:
            held += block
            start = 0
            while len(held) - start > limit:
                end = _cut(held, start, start + limit)
                yield bytes(held[start:end])
                empty, start = False, end
            del held[:start]
    except DamagedError:
        if whole := held[: held.rfind(b"\n") + 1]:
            yield bytes(whole)
        raise
    if held or empty:
        yield bytes(held)


def _cut(held: bytearray, start: int, stop: int) -> int:
    """Return where to cut ``held[start:stop + 1]`` so that a piece ends by ``stop``."""
    middle = start + (stop - start) // 2
    for ending in (b"\n\n", b"\n\r\n", b"\n"):
        found = held.rfind(ending, middle, stop)
        if found >= 0:
            return found + len(ending)
    for end in range(stop, max(middle, stop - 4), -1):
        if held[end] & 0xC0 != 0x80:
            return end
    return stop
