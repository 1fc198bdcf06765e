"""Units -> shingles: a hash for each run of ``n`` neighbouring units of a text.

Costs about 10 ns a shingle. Equal shingles have equal hashes wherever they stand; repeats stay.
"""

import numpy as np

from mrprep.order import I64, U64, mix


def shingle_hashes(units: U64, counts: I64, n: int = 5) -> tuple[U64, I64]:
    """Return the shingles of texts, and how many each has.

    A text of fewer than ``n`` units is one shingle as a whole, a text without units has none. A shingle's
    hash is SplitMix64 of a sum of its units, each times a constant of its place, modulo 2^64.

    Args:
        units: uint64[u], unit hashes of all texts, in order.
        counts: int64[t], how many of them each text has.
        n: units a shingle.

    Returns:
        hashes uint64[s] in text order; counts int64[t].
    """
    ends = np.cumsum(counts)
    made = np.where(counts >= n, counts - n + 1, np.minimum(counts, 1))
    factors = _factors(n)
    sums, term = units * factors[0], np.empty_like(units)
    for place in range(1, min(n, units.size)):
        sums[:-place] += np.multiply(units[place:], factors[place], out=term[place:])
    _shorten(sums, units, counts, ends, factors)
    return mix(sums[_kept(units.size, ends, counts - made, n)]), made


def _shorten(sums: U64, units: U64, counts: I64, ends: I64, factors: U64) -> None:
    """Take out of the first sum of each short text what is not its own."""
    short = np.flatnonzero((counts > 0) & (counts < factors.size))
    begins = ends[short] - counts[short]
    for place in range(1, factors.size):
        foreign = begins[(counts[short] <= place) & (begins + place < units.size)]
        sums[foreign] -= units[foreign + place] * factors[place]


def _kept(size: int, ends: I64, dropped: I64, n: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Mark the units that begin a shingle: all but the last few of each text."""
    keep = np.ones(size, bool)
    for back in range(1, n):
        keep[ends[dropped >= back] - back] = False
    return keep


def _factors(n: int) -> U64:
    return mix(np.arange(1, n + 1, dtype=np.uint64)) | np.uint64(1)
