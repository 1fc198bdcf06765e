"""Exact Jaccard similarity of sets of shingles, each a sorted array without repeats.

A pair costs about 1 µs and 6 ns a shingle: the two arrays are two sorted runs, which a stable sort merges, of all
pairs of one length at once.
"""

from collections.abc import Callable, Iterator

import numpy as np

from mrprep.minhash.bands import F64
from mrprep.order import I64, U64

AT_ONCE = 1 << 18
"""Shingles that are compared together, but for a pair that has more: 2 MiB."""


def jaccard(one: U64, other: U64) -> float:
    """Return the size of the intersection over that of the union; 0 when both are empty."""
    return _ratio(_common(one, other), one.size + other.size)


def jaccard_of_chunks(one: Iterator[U64], other: Iterator[U64]) -> float:
    """Return the same of two sets that come a chunk at a time, in order."""
    left, right = next(one, _NONE), next(other, _NONE)
    common, total = 0, left.size + right.size
    while left.size and right.size:
        last = min(left[-1], right[-1])
        ends = np.searchsorted(left, last, "right"), np.searchsorted(right, last, "right")
        common += _common(left[: ends[0]], right[: ends[1]])
        left, right = left[ends[0] :], right[ends[1] :]
        if not left.size:
            left = next(one, _NONE)
            total += left.size
        if not right.size:
            right = next(other, _NONE)
            total += right.size
    return _ratio(common, total + sum(chunk.size for rest in (one, other) for chunk in rest))


_NONE: U64 = np.empty(0, np.uint64)


def _common(one: U64, other: U64) -> int:
    merged = np.concatenate([one, other])
    merged.sort(kind="stable")
    return int(np.count_nonzero(merged[1:] == merged[:-1]))


def _ratio(common: int, total: int) -> float:
    return common / (total - common) if total else 0.0


def jaccard_of_pairs(pairs: I64, shingles: Callable[[I64], U64], sizes: I64, least: float = 0.0) -> F64:
    """Return the Jaccard of each pair, float64[p]; 0 where sizes alone show it to be below ``least``.

    Args:
        pairs: int64[p, 2], which sets.
        shingles: gives sets by their numbers int64[n], one after the other, in an array of its own.
        sizes: int64[sets], how many shingles each has.
        least: similarities below it are of no interest.
    """
    first, second = sizes[pairs[:, 0]], sizes[pairs[:, 1]]
    total = first + second
    hopeful = np.flatnonzero(np.minimum(first, second) >= least * np.maximum(first, second))
    out = np.zeros(len(pairs))
    if not hopeful.size:
        return out
    slices = np.cumsum(total[hopeful]) // AT_ONCE
    for slice_ in np.split(hopeful, np.flatnonzero(np.diff(slices)) + 1):
        some = slice_[np.argsort(total[slice_], kind="stable")]
        common = _common_of_equal(shingles(pairs[some].ravel()), total[some])
        out[some] = common / np.maximum(total[some] - common, 1)
    return out


def _common_of_equal(both: U64, total: I64) -> I64:
    """Return how many shingles the two sets of each pair share; pairs of equal total are sorted as one table."""
    widths, counts = np.unique(total, return_counts=True)
    common, begin = [np.empty(0, np.int64)], 0
    for width, count in zip(widths.tolist(), counts.tolist(), strict=True):
        table = both[begin : begin + width * count].reshape(count, width)
        table.sort(axis=1, kind="stable")
        common.append(np.count_nonzero(table[:, 1:] == table[:, :-1], axis=1))
        begin += width * count
    return np.concatenate(common)
