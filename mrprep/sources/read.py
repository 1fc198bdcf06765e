"""Reads a span: opens it, undoes compression and encoding, and hands it to the reader of its format.

Positions count bytes in the decoded stream: decompressed, and in UTF-8. Memory is bounded by one record
(256 MB) or one piece of a document (16 MB), whatever the size of the file.
"""

import itertools
from collections.abc import Iterator
from typing import BinaryIO

from mrprep.document import BadRecord, Document, ReadItem
from mrprep.sources import arrow, encoding, html_file, json_file, jsonl, lines, packed, parquet, pieces, plain, streams
from mrprep.sources.files import BLOCK, DamagedError, UnreadableError, blocks_of, open_file, size_of
from mrprep.sources.found import Found
from mrprep.sources.span import Span, is_of_lines, is_of_stretches

_READERS = {"parquet": parquet.read, "arrow": arrow.read}


def read(span: Span) -> Iterator[ReadItem]:
    """Yield the documents and bad records of a span in their order, and last a note on what reading found.

    Never raises for what is in a file, nor for one that is gone, unreadable or damaged: the note says so,
    after all that could be read.
    """
    found = Found()
    try:
        yield from _READERS.get(span.format, _text)(span, found)
    except OSError as error:
        found.problem = f"cannot be read: {(error.strerror or str(error)).lower()}"
    except UnreadableError as error:
        found.problem = str(error)
    yield found.note(span)


def _text(span: Span, found: Found) -> Iterator[Document | BadRecord]:
    with open_file(span.full_path) as file:
        size = size_of(file)
        if span.whole:
            yield from _whole(span, file, found)
        elif is_of_lines(span):
            yield from _stretch(span, file, found)
        else:
            yield from plain.read_file(span, _range(span, file, found), found)
        listed = span.packed or span.stop
        if size < listed:
            raise UnreadableError(f"has shrunk since it was listed, from {listed} bytes or more to {size}")


def _whole(span: Span, file: BinaryIO, found: Found) -> Iterator[Document | BadRecord]:
    """Yield what a whole file holds, up to the size at which it was listed."""
    sample, blocks = _sampled(span, file, found)
    verdict = encoding.decide(sample, span.encoding, records=span.format in {"jsonl", "json"})
    found.encoding, found.confidence = verdict.name, verdict.confidence
    if verdict.problem:
        raise UnreadableError(verdict.problem)
    if verdict.name != "utf-8":
        blocks = encoding.transcoded(blocks, verdict.name, found)
    if span.format == "json":
        yield from json_file.read(span, blocks, found)
    elif span.format == "html":
        yield from html_file.read(span, blocks, found)
    elif is_of_lines(span):
        yield from _of_lines(span, blocks, found, 0, 1)
    else:
        yield from plain.read_file(span, blocks, found)


def _stretch(span: Span, file: BinaryIO, found: Found) -> Iterator[Document | BadRecord]:
    """Yield the records that begin in a stretch of a file of lines."""
    if span.packed:
        stream = streams.decompressed(file, span.packed, span.compression, found)
        offset, line, blocks = packed.of_span(stream, span, found)
    else:
        offset, line, blocks = lines.of_span(file, span.start, span.stop, span.first_line)
    if not is_of_stretches(span):
        blocks = lines.to_line_end(blocks, offset, span.stop)
    yield from _of_lines(span, blocks, found, offset, line)


def _range(span: Span, file: BinaryIO, found: Found) -> Iterator[bytes]:
    """Return the blocks of a file that a range of pieces begins with, and those after it."""
    first, _ = plain.range_of(span)
    begin = pieces.begin_of(first)
    if span.packed:
        return packed.after(streams.decompressed(file, span.packed, span.compression, found), begin)
    file.seek(begin)
    return blocks_of(file, packed.END)


def _of_lines(
    span: Span, blocks: Iterator[bytes], found: Found, offset: int, line: int
) -> Iterator[Document | BadRecord]:
    if span.format == "jsonl" and span.whole:
        head = next(blocks, b"")
        if problem := jsonl.not_lines(head):
            raise UnreadableError(problem)
        blocks = itertools.chain([head], blocks)
    batches = lines.batches(blocks, offset, line)
    if span.format == "jsonl":
        yield from jsonl.read(span, batches, found)
    elif span.documents == "line":
        yield from plain.read_lines(span, batches, found)
    else:
        yield from plain.read_stretches(span, batches, found)


def _sampled(span: Span, file: BinaryIO, found: Found) -> tuple[encoding.Sample, Iterator[bytes]]:
    """Return samples of a whole file's bytes, decompressed, and the stream of all of them."""
    if not span.compression:
        sample = encoding.sample_of(file, span.stop)
        if codec := streams.codec_of(sample.data):
            raise UnreadableError(f"is {codec} data under a plain name: add .{codec} to it")
        if sample.whole:
            return sample, iter([sample.data])
        file.seek(0)
        return sample, blocks_of(file, span.stop)
    stream = streams.decompressed(file, span.stop, span.compression, found)
    head, rest = _head_of(stream)
    if codec := streams.codec_of(head):
        raise UnreadableError(f"is packed twice, with {codec} data inside: unpack it once")
    return encoding.Sample(head, whole=False), itertools.chain([head], rest)


def _head_of(stream: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return at least a block of a stream, joined, and the rest; damage in it is raised by the rest."""
    held, size = [], 0
    try:
        for block in stream:
            held.append(block)
            size += len(block)
            if size >= BLOCK:
                break
    except DamagedError as error:
        return b"".join(held), _raise(error)
    return b"".join(held), stream


def _raise(error: Exception) -> Iterator[bytes]:
    yield b""
    raise error
