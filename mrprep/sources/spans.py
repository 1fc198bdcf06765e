"""Cuts listed files into spans, and spans into units of work of about equal size.

Spans and units depend on the listing alone. A line belongs to the span that holds its first byte.
Costs one look (under 1 MB) into each file that is larger than a unit; smaller files are not opened.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mrprep.sources import arrow, encoding, jsonl, packed, parquet, streams
from mrprep.sources.discover import File, Listing
from mrprep.sources.files import UnreadableError, blocks_of, open_file
from mrprep.sources.pieces import MAX_PIECE, STEP
from mrprep.sources.span import Span, is_of_lines, is_table

__all__ = ["Span", "count_lines", "cut", "is_cuttable", "ranges", "to_count", "unit_bytes", "with_first_lines"]

_SMALLEST_UNIT, _GOOD_UNIT, _LARGEST_UNIT = 2 << 20, 8 << 20, 256 << 20
_COST_OF_A_FILE = 4096
"""What opening a file counts for, in bytes: 500 empty files fill a unit of 2 MB."""


def unit_bytes(total: int) -> int:
    """Return the size of a unit, a power of two: 8 MiB, but 16 units at the least and 512 about at the most.

    From 2 MiB to 256 MiB. A unit has costs of its own, mostly waits for the disk: at 500 MB, 2 MiB cost 10 % more.
    """
    few = max(1 << (total // 512 - 1).bit_length(), _SMALLEST_UNIT)
    many = 1 << (total // 16).bit_length() >> 1
    return min(max(few, min(many, _GOOD_UNIT)), _LARGEST_UNIT)


def cut(listings: Iterable[Listing], unit: int) -> list[tuple[Span, ...]]:
    """Return units of about ``unit`` bytes, in the order of sources and paths.

    Only files of lines (jsonl; txt and md unless ``documents = "file"``) of UTF-8 are cut, plain or compressed, and
    tables between row groups or record batches. ``first_line`` is right in each first span of a file and in tables;
    the others need ``with_first_lines``.
    """
    units: list[tuple[Span, ...]] = []
    filling: list[Span] = []
    filled = 0
    for listing in listings:
        for file in listing.files:
            for span in _spans(listing, file, unit):
                cost = span.size + _COST_OF_A_FILE
                if filling and filled + cost > unit + _COST_OF_A_FILE:
                    units.append(tuple(filling))
                    filling, filled = [], 0
                filling.append(span)
                filled += cost
    return [*units, tuple(filling)] if filling else units


def to_count(units: Iterable[Sequence[Span]]) -> list[Span]:
    """Return the spans whose line ends must be counted: those with a later span of the same file of lines."""
    spans = [span for unit in units for span in unit]
    return [a for a, b in itertools.pairwise(spans) if _continues(a, b)]


def count_lines(span: Span) -> int:
    """Return how many line ends lie in a span of ``to_count``; 0 for a file that has vanished."""
    try:
        with open_file(span.full_path) as file:
            file.seek(span.start)
            return sum(block.count(b"\n") for block in blocks_of(file, span.stop - span.start))
    except (OSError, UnreadableError):
        return 0


def with_first_lines(units: Iterable[Sequence[Span]], counts: Sequence[int]) -> list[tuple[Span, ...]]:
    """Return the units with every ``first_line`` set; ``counts`` belong to ``to_count(units)``, in order."""
    left, before, line = iter(counts), None, 1
    placed: list[tuple[Span, ...]] = []
    for unit in units:
        spans = []
        for span in unit:
            if before is not None and _continues(before, span):
                line += next(left)
                spans.append(replace(span, first_line=line))
            else:
                line = 1
                spans.append(span)
            before = span
        placed.append(tuple(spans))
    return placed


def _continues(a: Span, b: Span) -> bool:
    return b.start == a.stop > 0 and not b.packed and (a.source, a.path) == (b.source, b.path) and not is_table(b)


def _spans(listing: Listing, file: File, unit: int) -> Iterator[Span]:
    source = listing.source
    assert file.format != "mindrecord", "rows of shards are no text"
    whole = Span(
        source=source.name,
        root=listing.root,
        path=file.path,
        format=file.format,
        compression=file.compression,
        documents=source.documents,
        text=source.text,
        score=source.score,
        encoding=source.encoding,
        start=0,
        stop=file.size,
        first_line=1,
        whole=True,
        size=file.size,
    )
    if file.size <= unit:
        yield whole
    elif is_table(whole):
        yield from _groups(whole, unit)
    elif whole.compression:
        yield from packed.stretches(whole, unit)
    elif is_cuttable(whole):
        for start in range(0, file.size, unit):
            stop = min(start + unit, file.size)
            yield replace(whole, start=start, stop=stop, encoding="utf-8", whole=False, size=stop - start)
    else:
        yield whole


def ranges(whole: Span, unit: int) -> list[Span]:
    """Return a file that is one long document of UTF-8 as ranges of its pieces, none if it is no such file.

    Their ``start`` and ``stop`` are multiples of `pieces.STEP`, but for the end; the cuts lie somewhat before.
    """
    if not whole.whole or whole.format not in {"txt", "md"} or whole.documents != "file" or whole.size <= unit:
        return []
    each = max(1, unit // STEP) * STEP
    if whole.compression:
        found = list(packed.cut(whole, each, STEP))
        return found if len(found) > 1 else []
    if whole.size <= MAX_PIECE or not _is_utf8(whole):
        return []
    bounds = [*range(0, whole.size, each), whole.size]
    return [
        replace(whole, start=start, stop=stop, encoding="utf-8", whole=False, size=stop - start)
        for start, stop in itertools.pairwise(bounds)
    ]


def is_cuttable(span: Span) -> bool:
    """Return whether a whole file is one of plain UTF-8 lines, as far as a look at samples of it tells."""
    return is_of_lines(span) and _is_utf8(span)


def _is_utf8(span: Span) -> bool:
    try:
        with open_file(span.full_path) as file:
            sample = encoding.sample_of(file, span.stop)
    except (OSError, UnreadableError):
        return False
    if encoding.decide(sample, span.encoding, records=span.format == "jsonl").name != "utf-8":
        return False
    return not streams.codec_of(sample.data) and not (span.format == "jsonl" and jsonl.not_lines(sample.data))


def _groups(whole: Span, unit: int) -> Iterator[Span]:
    """Yield spans of whole row groups or record batches, each the fewest that reach ``unit`` bytes."""
    groups = (parquet.row_groups if whole.format == "parquet" else arrow.record_batches)(whole)
    if not groups:
        yield whole
        return
    start = stop = size = 0
    for index, (rows, compressed) in enumerate(groups):
        stop, size = stop + rows, size + compressed
        if size >= unit or index == len(groups) - 1:
            yield replace(whole, start=start, stop=stop, first_line=start + 1, whole=False, size=size)
            start, size = stop, 0
