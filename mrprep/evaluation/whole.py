"""Evaluation texts that are too short for an n-gram, looked for as they stand whole.

A document is asked for the first units of each; where these stand, the rest is compared unit by unit.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mrprep.evaluation.hash_set import HashSet
from mrprep.minhash.shingles import shingle_hashes
from mrprep.order import I64, U64

_ARRAYS = ("begins", "texts", "offsets", "units")


class Whole(NamedTuple):
    """Short texts, in the order of their beginnings."""

    begins: HashSet
    """Hash of the first ``length`` units of each; not unique."""
    texts: I64
    """Which evaluation text each is."""
    offsets: I64
    """int64[n + 1]: where the units of each begin, and the last ones end."""
    units: U64
    length: int

    def within(self, units: U64) -> Iterator[tuple[int, int, int]]:
        """Yield (first unit, unit after the last, evaluation text) wherever one stands in a document."""
        if not self.texts.size or units.size < self.length:
            return
        hashes, _ = shingle_hashes(units, np.array([units.size]), self.length)
        at = np.flatnonzero(self.begins.among(hashes))
        low, high = (np.searchsorted(self.begins.hashes, hashes[at], side) for side in ("left", "right"))
        for start, first, last in zip(at.tolist(), low.tolist(), high.tolist(), strict=True):
            for number in range(first, last):
                wanted = self.units[self.offsets[number] : self.offsets[number + 1]]
                if np.array_equal(units[start : start + wanted.size], wanted):
                    yield start, start + wanted.size, int(self.texts[number])


def write_whole(units: U64, counts: I64, texts: I64, length: int, out: Path) -> None:
    """Write short texts for `load_whole`.

    Args:
        units: of all of them, in order.
        counts: how many each has, ``length`` at least.
        texts: which evaluation text each is.
        length: units of its beginning that a document is asked for.
        out: directory.
    """
    hashes, made = shingle_hashes(units, counts, length)
    begins = hashes[np.cumsum(made) - made]
    order = np.argsort(begins, kind="stable")
    starts = (np.cumsum(counts) - counts)[order]
    sizes = counts[order]
    ends = np.cumsum(sizes)
    flat = np.arange(units.size) + np.repeat(starts - (ends - sizes), sizes)
    arrays = (begins[order], texts[order], np.append(0, ends), units[flat])
    for name, array in zip(_ARRAYS, arrays, strict=True):
        np.save(out / f"whole_{name}.npy", array)


def load_whole(path: Path, length: int) -> Whole:
    """Return what `write_whole` wrote."""
    begins, texts, offsets, units = (np.load(path / f"whole_{name}.npy") for name in _ARRAYS)
    return Whole(HashSet.of(begins), texts, offsets, units, length)
