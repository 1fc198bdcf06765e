"""Paragraphs that come more often than they may: counted by part, then a share of the copies for each part.

The first copies in the order of the documents stay, so each part may keep what the parts before it have left over.
On disk 12 bytes a distinct paragraph of a part, and 16 for one that comes too often. In memory as much for one part,
which has at most a unit of text, or for one range of keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mrprep.builddir.textpart import documents
from mrprep.order import I64
from mrprep.repeats.key_ranges import KEYS, KeyRange, key_ranges
from mrprep.repeats.paragraphs import keys_of, split

MOST_FREQUENT = 10
"""Paragraphs that are told as examples."""


@dataclass(frozen=True)
class CountUnit:
    """A part, and how many bytes of UTF-8 a paragraph has that counts."""

    part: Path
    min_bytes: int


@dataclass(frozen=True)
class ShareUnit:
    """A range of keys in the counts of all parts, and how many copies of a paragraph stay."""

    counted: tuple[Path, ...]
    range: KeyRange
    keep: int


class Surplus(NamedTuple):
    """What a part may keep of paragraphs of which it has more."""

    may_stay: dict[int, int]
    """By key, how many copies."""
    frequent: dict[int, int]
    """The most frequent of all parts: by key, how many copies there are."""


def count_part(unit: CountUnit, out: Path) -> None:
    """Write how often each paragraph comes in ``text.parquet``: ``keys.npy`` uint64[n], ascending, ``copies.npy``."""
    found = [np.empty(0, np.uint64)]
    for document in documents(unit.part):
        every = keys_of(split(document.text)[0], unit.min_bytes)
        found.append(np.array([key for key in every if key is not None], np.uint64))
    keys, copies = np.unique(np.concatenate(found), return_counts=True)
    np.save(out / KEYS, keys)
    np.save(out / "copies.npy", copies.astype(np.int32))


def share_units(counted: Sequence[Path], keep: int) -> list[ShareUnit]:
    """Return as many units as the paragraphs of all parts take."""
    return [ShareUnit(tuple(counted), each, keep) for each in key_ranges(counted)]


def share(unit: ShareUnit, out: Path) -> None:
    """Write what each part may keep of the paragraphs in this range of which it has more.

    Writes ``keys.npy`` (uint64[n], of the first part, then of the next, and so on), ``may_stay.npy`` (int32[n]),
    ``starts.npy`` (int64[parts + 1]: where each part begins), and ``frequent.npy`` and ``frequent_copies.npy``.
    """
    slices = [(path, unit.range.within(path)) for path in unit.counted]
    keys, copies = (
        np.concatenate([np.load(path / name, mmap_mode="r")[part] for path, part in slices])
        for name in (KEYS, "copies.npy")
    )
    parts = np.repeat(np.arange(len(slices)), [part.stop - part.start for _, part in slices])
    distinct, which = np.unique(keys, return_inverse=True)
    totals = np.bincount(which, copies, distinct.size).astype(np.int64)
    may_stay = np.maximum(unit.keep - _before(which, copies, totals), 0).astype(np.int32)
    over = np.flatnonzero(copies > may_stay)
    np.save(out / KEYS, keys[over])
    np.save(out / "may_stay.npy", may_stay[over])
    np.save(out / "starts.npy", np.searchsorted(parts[over], np.arange(len(slices) + 1)))
    most = np.lexsort((distinct, -totals))[:MOST_FREQUENT]
    most = most[totals[most] > unit.keep]
    np.save(out / "frequent.npy", distinct[most])
    np.save(out / "frequent_copies.npy", totals[most])


def _before(which: I64, copies: I64, totals: I64) -> I64:
    """Return how many copies of the same paragraph come before each entry, of ``which`` paragraph each has some."""
    order = np.argsort(which, kind="stable")
    before = np.empty(which.size, np.int64)
    before[order] = np.cumsum(copies[order]) - copies[order] - (np.cumsum(totals) - totals)[which[order]]
    return before


def load_surplus(shared: Sequence[Path], part: int) -> Surplus:
    """Return what all ranges have written for a part, given by its number."""
    may_stay: dict[int, int] = {}
    frequent: list[tuple[int, int]] = []
    for path in shared:
        which = slice(*np.load(path / "starts.npy", mmap_mode="r")[part : part + 2].tolist())
        keys, copies = (np.load(path / name, mmap_mode="r")[which].tolist() for name in (KEYS, "may_stay.npy"))
        may_stay.update(zip(keys, copies, strict=True))
        frequent += zip(
            *(np.load(path / f"{name}.npy").tolist() for name in ("frequent", "frequent_copies")), strict=True
        )
    return Surplus(may_stay, dict(sorted(frequent, key=lambda item: (-item[1], item[0]))[:MOST_FREQUENT]))
