"""Reads .txt and .md: a file, a line, or a stretch between blank lines is a document."""

from collections.abc import Iterable, Iterator
from math import inf

from mrprep.document import BadRecord, Document, Place
from mrprep.sources.files import DamagedError
from mrprep.sources.found import Found
from mrprep.sources.jsonl import too_long
from mrprep.sources.lines import MAX_RECORD, Batch, TooLong, numbered
from mrprep.sources.pieces import STEP, decode, documents, pieces
from mrprep.sources.span import Span

_WHITE = b" \t\r\n\v\f"
_BOM = b"\xef\xbb\xbf"


def read_file(span: Span, blocks: Iterable[bytes], found: Found) -> Iterator[Document]:
    """Yield the file as one document, an empty one too, or as its pieces; of a range of pieces, those.

    Args:
        span: the file, or the range.
        blocks: the file from ``pieces.begin_of`` of its first piece on.
        found: is told nothing of what is wrong before the range begins; that is said where it lies.
    """
    first, last = (0, inf) if span.whole else range_of(span)
    index = first - 1
    for index, piece in enumerate(pieces(blocks, first, last), first):
        raw = piece if index else piece.removeprefix(_BOM)
        yield Document(Place(span.source, span.path, 0, 1, index), decode(raw, found))
    if first > index:
        found.problem = ""


def range_of(span: Span) -> tuple[int, float]:
    """Return the number of the first piece of a range of pieces, and of the one after the last."""
    return span.start // STEP, inf if span.stop % STEP else span.stop // STEP


def read_lines(span: Span, batches: Iterable[Batch | TooLong], found: Found) -> Iterator[Document | BadRecord]:
    r"""Yield each line that is not blank, without its ``\n`` or ``\r\n``."""
    for item in numbered(batches):
        if isinstance(item, TooLong):
            yield too_long(Place(span.source, span.path, item.offset, item.line), item.size)
            continue
        offset, line, raw = item
        text = _without_bom(raw, offset)
        if text.strip(_WHITE):
            yield from documents(span.source, span.path, offset, line, decode(text.removesuffix(b"\r"), found))


def read_stretches(
    span: Span, batches: Iterable[Batch | TooLong], found: Found, limit: int = MAX_RECORD
) -> Iterator[Document | BadRecord]:
    """Yield each stretch of lines between blank ones; one of more than ``limit`` bytes is a bad record.

    A stretch belongs to the span that holds the first byte of the blank line before it: reading goes past the
    span's end to the first blank line there. What is wrong there with the file is left to the span it lies in.
    """
    stretch, stop = _Stretch(span, found, limit), inf if span.whole else span.stop
    begun, end = span.start == 0, 0
    try:
        for item in numbered(batches):
            offset, line, raw = (item.offset, item.line, b"") if isinstance(item, TooLong) else item
            size = item.size if isinstance(item, TooLong) else len(raw)
            text = _without_bom(raw, offset)
            blank = size == len(raw) and not text.strip(_WHITE)
            end = offset + size + 1
            if blank:
                yield from stretch.close()
            if offset >= stop and (blank or not begun):
                return
            if blank:
                begun = True
            elif begun:
                stretch.add(offset, line, text, size)
    except DamagedError:
        yield from stretch.close()
        if end < stop:
            raise
        return
    yield from stretch.close()
    if end >= stop:
        found.problem = ""


class _Stretch:
    """The lines since the last blank one."""

    def __init__(self, span: Span, found: Found, limit: int) -> None:
        self._span, self._found, self._limit = span, found, limit
        self._lines: list[bytes] = []
        self._size = self._offset = self._line = 0

    def add(self, offset: int, line: int, raw: bytes, size: int) -> None:
        if not self._size:
            self._offset, self._line = offset, line
        self._size += size + 1
        if self._size > self._limit:
            self._lines.clear()
        else:
            self._lines.append(raw)

    def close(self) -> Iterator[Document | BadRecord]:
        span, size, lines = self._span, self._size, self._lines
        self._size, self._lines = 0, []
        if size > self._limit:
            yield too_long(Place(span.source, span.path, self._offset, self._line), size)
        elif size:
            text = decode(b"\n".join(lines).removesuffix(b"\r"), self._found)
            yield from documents(span.source, span.path, self._offset, self._line, text)


def _without_bom(raw: bytes, offset: int) -> bytes:
    return raw.removeprefix(_BOM) if offset == 0 else raw
