"""A seeded sample of the text of a corpus, in seconds whatever its size.

Up to `MOST_READ` bytes of the files are read: all of a small input, else whole units in a seeded order, and of a
file that cannot be cut its first stretch. Of the text in what is read, stretches of at most `STRETCH` characters
are drawn by a hash of seed and place.
"""

import heapq
import random
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import xxhash

from mrprep.document import Document
from mrprep.engine.progress import bar
from mrprep.plan import Plan
from mrprep.sources.read import read
from mrprep.sources.span import Span, is_table

MOST_READ = 256 << 20
"""Bytes of files that are read."""
MOST_DRAWN = 32 << 20
"""Bytes of text that are drawn, when no share is given."""
STRETCH = 1 << 16
_KEYS = 1 << 64
_WIDE = (0.01, 0.15, 0.5)
"""Shares of wide characters between kinds of text: a token of Han holds other bytes than one of Latin script."""


@dataclass(frozen=True, slots=True, order=True)
class Take:
    """A drawn stretch of a document."""

    key: int
    """Hash of seed and place; those with the smallest are drawn."""
    unit: int = field(compare=False)
    size: int = field(compare=False)
    """Bytes of UTF-8, as read."""
    at: int = field(compare=False)
    """Where it begins in its document, in characters."""
    whole: float = field(compare=False)
    """Which share of its document it is."""
    document: Document = field(compare=False)
    """The stretch as a document of its own."""
    kind: int = field(compare=False)
    """How much of it is in wide characters, a place in ``Sample.kinds``."""


@dataclass(slots=True)
class Sample:
    """What was drawn, and what the input is known to hold."""

    takes: list[Take]
    """In the order of their keys."""
    share: float
    """Of the text that was read, which share was drawn."""
    read_share: float
    """Of the bytes of the files, which share was read."""
    documents: int
    """Documents in what was read."""
    bytes: int
    """Bytes of text in what was read, UTF-8."""
    kinds: list[int]
    """The same by kind of text."""


def draw(found: Plan, seed: int, share: float | None) -> Sample:
    """Draw a sample of the text of an input.

    Args:
        found: the input.
        seed: of the drawing.
        share: of the text to draw; None draws `MOST_DRAWN` bytes, or all if there is less.
    """
    chosen = _chosen(found, seed)
    reservoir = _Reservoir(share)
    sample = Sample([], 1.0, 1.0, 0, 0, [0] * (len(_WIDE) + 1))
    consumed = _size(chosen)
    with bar(consumed, "sample") as shown:
        for number, unit in enumerate(chosen):
            for span in unit:
                _read(span, number, seed, reservoir, sample)
                shown.update(span.size)
    sample.takes = sorted(reservoir.takes)
    sample.share, sample.read_share = reservoir.share, consumed / max(1, _size(found.units))
    return sample


def _size(units: Sequence[Sequence[Span]]) -> int:
    """Return the bytes of units; of tables, which may be compressed, those of their rows as they are."""
    return sum(span.size for unit in units for span in unit)


def _chosen(found: Plan, seed: int) -> list[tuple[Span, ...]]:
    """Return the units to read, whole or their beginnings."""
    if found.bytes <= MOST_READ:
        return list(found.units)
    units, chosen, left = list(found.units), list[tuple[Span, ...]](), MOST_READ
    random.Random(seed).shuffle(units)
    most = max(MOST_READ // 8, 1)
    for unit in units:
        cut = tuple(_beginning(span, most) for span in unit)
        size = sum(span.size for span in cut)
        if size <= left:
            chosen.append(cut)
            left -= size
    return chosen or [tuple(_beginning(span, MOST_READ) for span in units[0][:1])]


def _beginning(span: Span, most: int) -> Span:
    """Return the first bytes of a span; a table is cut between groups of rows already."""
    if span.size <= most or is_table(span):
        return span
    return replace(span, stop=span.start + most, size=most)


def _read(span: Span, unit: int, seed: int, reservoir: "_Reservoir", sample: Sample) -> None:
    for item in read(span):
        if isinstance(item, Document):
            size = len(item.text.encode())
            sample.documents += item.place.piece == 0
            sample.bytes += size
            for take in _stretches(item, unit, seed, size):
                sample.kinds[take.kind] += take.size
                reservoir.add(take)


def _stretches(document: Document, unit: int, seed: int, size: int) -> Iterator[Take]:
    place, text = document.place, document.text
    name = b"%s\0%s\0%d\0%d" % (place.source.encode(), place.path, place.offset, place.piece)
    if len(text) <= STRETCH:
        yield Take(xxhash.xxh3_64_intdigest(name, seed), unit, size, 0, 1.0, document, _kind(text, size))
        return
    for at in range(0, len(text), STRETCH):
        part = text[at : at + STRETCH]
        key = xxhash.xxh3_64_intdigest(b"%s\0%d" % (name, at), seed)
        piece = Document(replace(place, piece=1), part)
        of_part = len(part.encode())
        yield Take(key, unit, of_part, at, len(part) / len(text), piece, _kind(part, of_part))


def _kind(text: str, size: int) -> int:
    """Return the kind of a text: by its share of characters that take three bytes, or half as many of two."""
    return bisect(_WIDE, (size - len(text)) / 2 / max(1, len(text)))


class _Reservoir:
    """The takes with the smallest keys: a share of all, or as many as fill `MOST_DRAWN` bytes."""

    def __init__(self, share: float | None) -> None:
        self._bound = _KEYS if share is None else int(share * _KEYS)
        self._heap: list[tuple[int, Take]] = []
        self._size = 0

    @property
    def takes(self) -> list[Take]:
        return [take for _, take in self._heap]

    @property
    def share(self) -> float:
        return self._bound / _KEYS

    def add(self, take: Take) -> None:
        if take.key >= self._bound:
            return
        heapq.heappush(self._heap, (-take.key, take))
        self._size += take.size
        while self._size > MOST_DRAWN and len(self._heap) > 1:
            largest, gone = heapq.heappop(self._heap)
            self._size -= gone.size
            self._bound = -largest
