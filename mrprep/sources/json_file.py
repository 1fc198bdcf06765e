"""Reads .json: an array of records, or records by lines, or one record however it is laid out."""

import itertools
from collections.abc import Iterable, Iterator

from mrprep.document import BadRecord, Document, Place
from mrprep.sources import json_values, jsonl
from mrprep.sources.files import UnreadableError
from mrprep.sources.found import Found
from mrprep.sources.lines import MAX_RECORD, TooLong, batches
from mrprep.sources.span import Span
from mrprep.sources.texts import NoTextError

_WHITE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


def read(span: Span, blocks: Iterable[bytes], found: Found) -> Iterator[Document | BadRecord]:
    """Yield the documents and bad records of a whole .json file.

    Raises:
        UnreadableError: an array that is not whole, or one record that is too long or broken.
    """
    head, rest = _head(iter(blocks))
    stream = itertools.chain([head], rest)
    if head.removeprefix(_BOM).lstrip(_WHITE).startswith(b"["):
        yield from _array(span, stream, found)
    elif jsonl.not_lines(head):
        yield from _one_record(span, stream, found)
    else:
        yield from jsonl.read(span, batches(stream), found)


def _array(span: Span, stream: Iterable[bytes], found: Found) -> Iterator[Document | BadRecord]:
    for item in json_values.elements(stream):
        if isinstance(item, TooLong):
            yield jsonl.too_long(Place(span.source, span.path, item.offset, item.line), item.size)
        else:
            yield from jsonl.record(span, item.raw, item.offset, item.line, found)


def _one_record(span: Span, stream: Iterable[bytes], found: Found) -> Iterator[Document | BadRecord]:
    held, size = [], 0
    for block in stream:
        held.append(block)
        size += len(block)
        if size > MAX_RECORD:
            raise UnreadableError(f"is one JSON value of more than {MAX_RECORD >> 20} MB")
    raw = b"".join(held)
    try:
        jsonl.parse(raw)
    except NoTextError as error:
        raise UnreadableError(f"is no JSON array, no JSON Lines and no single JSON value: {error.message}") from None
    yield from jsonl.record(span, raw, 0, 1, found)


def _head(blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes that are not all white space, and what follows them."""
    head = b""
    for block in blocks:
        head += block
        if head.removeprefix(_BOM).strip(_WHITE):
            break
    return head, blocks
