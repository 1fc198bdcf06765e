"""How many documents hold each line: counted by part, then summed over all parts, a range of keys at a time.

On disk 14 bytes a distinct line of a part. In memory as much for the lines of one part, which has at most a unit of
text, or of one range of keys; there are as many ranges as it takes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from mrprep.builddir.textpart import documents
from mrprep.order import U64
from mrprep.repeats.key_ranges import KEYS, KeyRange, key_ranges
from mrprep.repeats.lines import keys_of, salt


@dataclass(frozen=True)
class CountUnit:
    """A part, and all sources by name."""

    part: Path
    sources: tuple[str, ...]


@dataclass(frozen=True)
class RangeUnit:
    """A range of keys in the counts of all parts, and when a line is in too many documents."""

    counted: tuple[Path, ...]
    range: KeyRange
    max_share: float
    """Of the documents of its source."""
    min_documents: int


def count_part(unit: CountUnit, out: Path) -> None:
    """Write in how many documents each line of ``text.parquet`` is, and how many documents each source has.

    Writes ``keys.npy`` (uint64[n], ascending), ``documents.npy`` (int32[n]), ``sources.npy`` (int16[n]: of which
    source), ``totals.npy`` (int64[sources]).
    """
    totals = np.zeros(len(unit.sources), np.int64)
    found: list[list[U64]] = [[] for _ in unit.sources]
    for name, pieces in _documents(unit.part):
        source = unit.sources.index(name)
        totals[source] += 1
        found[source].append(np.fromiter(keys_of(pieces, salt(name)), np.uint64))
    counted = [np.unique(np.concatenate([np.empty(0, np.uint64), *keys]), return_counts=True) for keys in found]
    keys = np.concatenate([keys for keys, _ in counted])
    order = np.argsort(keys)
    np.save(out / KEYS, keys[order])
    np.save(out / "documents.npy", np.concatenate([counts for _, counts in counted]).astype(np.int32)[order])
    np.save(
        out / "sources.npy", np.repeat(np.arange(len(found)), [keys.size for keys, _ in counted]).astype("<i2")[order]
    )
    np.save(out / "totals.npy", totals)


def range_units(counted: Sequence[Path], max_share: float, min_documents: int) -> list[RangeUnit]:
    """Return as many units as the lines of all parts take."""
    return [RangeUnit(tuple(counted), each, max_share, min_documents) for each in key_ranges(counted)]


def find_frequent(unit: RangeUnit, out: Path) -> None:
    """Write ``frequent.npy``: uint64, ascending, the keys in this range of lines that are in too many documents."""
    slices = [(path, unit.range.within(path)) for path in unit.counted]
    keys, held, sources = (
        np.concatenate([np.load(path / f"{name}.npy", mmap_mode="r")[part] for path, part in slices])
        for name in ("keys", "documents", "sources")
    )
    totals = np.sum([np.load(path / "totals.npy") for path in unit.counted], axis=0)
    distinct, first, owner = np.unique(keys, return_index=True, return_inverse=True)
    together = np.bincount(owner, held, distinct.size)
    most = np.maximum(unit.max_share * totals[sources[first]], unit.min_documents - 1)
    np.save(out / "frequent.npy", distinct[together > most])


def _documents(part: Path) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the source and the pieces of each document of a part."""
    whole = groupby(documents(part), key=lambda piece: (piece.place.source, piece.place.path, piece.place.offset))
    for (source, _, _), pieces in whole:
        yield source, (piece.text for piece in pieces)
