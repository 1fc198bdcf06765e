r"""Reads JSON Lines: a record a line, lines end at ``\n`` alone, one bad line costs one line.

What strict JSON refuses but people have is read: NaN and Infinity, huge numbers, raw control characters,
lone surrogates (as U+FFFD), a BOM before a line. Of a key given twice the last counts. Blank lines are
no records.

Costs: about 0.4 GB/s a core on clean lines of 1 KB.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import orjson

from mrprep.document import BadRecord, Document, Place
from mrprep.printable import printable
from mrprep.sources import long_json
from mrprep.sources.found import Found
from mrprep.sources.lines import MAX_RECORD, Batch, TooLong
from mrprep.sources.pieces import MAX_PIECE, documents, documents_of, without_surrogates
from mrprep.sources.span import Span
from mrprep.sources.texts import NoTextError, score_of, text_of

_SHORT = MAX_PIECE // 4
_WHITE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_LENIENT = json.JSONDecoder(strict=False, parse_int=float)


def read(span: Span, batches: Iterable[Batch | TooLong], found: Found) -> Iterator[Document | BadRecord]:
    """Yield the documents and bad records in lines."""
    source, path, loads = span.source, span.path, orjson.loads
    field = span.text[0] if len(span.text) == 1 and not span.score else None
    for batch in batches:
        if isinstance(batch, TooLong):
            yield too_long(Place(source, path, batch.offset, batch.line), batch.size)
            continue
        offset, line = batch.offset, batch.line
        for raw in batch.lines:
            try:
                plain = len(raw) <= MAX_PIECE
                text = loads(raw)[field] if plain else ""
                plain = plain and type(text) is str and len(text) <= _SHORT
            except (ValueError, LookupError, TypeError):
                plain = False
            if plain:
                yield Document(Place(source, path, offset, line), text)
            elif raw.removeprefix(_BOM).strip(_WHITE):
                text = ""  # a long one is not kept twice
                yield from record(span, raw, offset, line, found)
            offset += len(raw) + 1
            line += 1


def record(span: Span, raw: bytes, offset: int, line: int, found: Found) -> Iterator[Document | BadRecord]:
    """Yield what one record is: a document, its pieces, or a bad record."""
    if len(raw) > MAX_PIECE:
        rest, strings = long_json.shortened(raw)
        if strings:
            yield from _long_record(span, rest, strings, offset, line, found)
            return
    try:
        value = parse(raw)
        text = text_of(value, span.text)
    except NoTextError as error:
        yield BadRecord(Place(span.source, span.path, offset, line), error.reason, error.message)
        return
    score = score_of(value, span.score)
    yield from documents(span.source, span.path, offset, line, without_surrogates(text, found), score)


def _long_record(
    span: Span, rest: bytes, strings: Mapping[str, memoryview], offset: int, line: int, found: Found
) -> Iterator[Document | BadRecord]:
    """Yield what one record is, without a copy of its long strings."""
    try:
        for string in strings.values():
            for block in long_json.blocks(string):
                parse(block)
        value = parse(rest)
        text = text_of(value, span.text)
    except NoTextError as error:
        message = {"bad-json": "not JSON", "bad-utf8": "the record is not UTF-8"}.get(error.reason, error.message)
        yield BadRecord(Place(span.source, span.path, offset, line), error.reason, message)
        return
    texts = chain.from_iterable(map(_texts, long_json.stretches(text, strings)))
    blocks = (without_surrogates(each, found).encode() for each in texts)
    yield from documents_of(span.source, span.path, offset, line, blocks, score_of(value, span.score))


def _texts(stretch: str | memoryview) -> Iterable[str]:
    return [stretch] if isinstance(stretch, str) else map(parse, long_json.blocks(stretch))


def parse(raw: bytes) -> Any:
    """Return the JSON value of a record, leniently.

    Raises:
        NoTextError: it is not UTF-8, or no JSON.
    """
    try:
        return orjson.loads(raw)
    except ValueError:
        pass
    try:
        return _LENIENT.decode(raw.removeprefix(_BOM).decode())
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        message = f"byte {error.start + 1} of the record, 0x{byte:02X}, is not UTF-8"
        raise NoTextError("bad-utf8", message) from None
    except json.JSONDecodeError as error:
        raise NoTextError("bad-json", _syntax(error)) from None
    except RecursionError:
        raise NoTextError("bad-json", "the record is nested too deeply") from None


def too_long(place: Place, size: int) -> BadRecord:
    """Return the bad record for one that is over the limit."""
    message = f"the record has {size >> 20} MB; at most {MAX_RECORD >> 20} MB are read"
    return BadRecord(place, "too-long", message)


def not_lines(head: bytes) -> str:
    """Return a sentence if a file that begins with ``head`` is JSON but not JSON Lines, else ""."""
    head = head.removeprefix(_BOM).lstrip(_WHITE)
    first, _, rest = head.partition(b"\n")
    first = first.strip(_WHITE)
    if not first.startswith((b"[", b"{")) or (first.startswith(b"{") and not rest.strip()):
        return ""
    value = _value_of(first)
    if isinstance(value, list) and (not value or isinstance(value[0], dict)) and not rest.strip(_WHITE):
        return "is a JSON array, not JSON Lines: name it .json, or write one object a line"
    if value is not None:
        return ""
    if first == b"{" or _first_value_spans_lines(head):
        return "is pretty-printed JSON, not JSON Lines: write one object a line"
    if first == b"[" or (first.startswith(b"[{") and not first.endswith(b"]")):
        return "is a JSON array, not JSON Lines: name it .json, or write one object a line"
    return ""


def _value_of(raw: bytes) -> Any:
    try:
        return parse(raw)
    except NoTextError:
        return None


def _first_value_spans_lines(head: bytes) -> bool:
    text = head.decode("utf-8", "replace")
    try:
        _, end = _LENIENT.raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return "\n" in text[:end]


def _syntax(error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return f"more than one value on the line: the second begins at character {error.pos + 1}"
    return f"not JSON: {printable(error.msg.removesuffix(' at'))} at character {error.pos + 1}"
