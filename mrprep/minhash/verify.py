"""Buckets -> verified pairs: the pairs of texts in a bucket whose exact Jaccard reaches the threshold.

Round 0 compares each member of a bucket with its first, round ``d`` with the member ``d`` places before it, up
to `REACH`; so a bucket of up to ``REACH + 1`` texts is compared in full. A pair is compared once however many
buckets hold it, and not at all when verified pairs connect it already: connected components need no more. A
bucket that has become one component is done. Time is linear in the texts of the buckets.
"""

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from mrprep.minhash.bands import F64
from mrprep.minhash.buckets import Buckets
from mrprep.minhash.clusters import components
from mrprep.order import I64

Flags = npt.NDArray[np.bool_]

REACH = 64


class Similarity(Protocol):
    """Exact Jaccard of pairs int64[p, 2] of texts; may say 0 for any below the threshold."""

    def __call__(self, pairs: I64) -> F64: ...  # noqa: D102


class Verified(NamedTuple):
    """What comparing found."""

    pairs: I64
    """int64[p, 2], the pairs at or above the threshold, the smaller text first."""
    jaccard: F64
    """float64[p], of each."""
    overflow: int
    """Texts of large buckets that were not compared with all members that they may resemble."""


def verify(texts: int, buckets: Buckets, similarity: Similarity, threshold: float, every_pair: bool) -> Verified:
    """Compare the members of buckets.

    Args:
        texts: members are numbered below it.
        buckets: candidates.
        similarity: compares pairs.
        threshold: least Jaccard of a pair that is kept.
        every_pair: also compare pairs that verified pairs connect already (stars need them).
    """
    pairs, scores = [np.empty((0, 2), np.int64)], [np.empty(0)]
    tested = np.empty(0, np.int64)
    labels = np.arange(texts, dtype=np.int64)
    for distance in range(REACH + 1):
        buckets = buckets.take(np.flatnonzero(_undecided(buckets, labels, distance, every_pair)))
        if not buckets.starts.size:
            break
        codes = np.setdiff1d(_codes(buckets, distance, texts), tested, assume_unique=True)
        wanted = np.column_stack(np.divmod(codes, texts))
        if not every_pair:
            wanted = wanted[labels[wanted[:, 0]] != labels[wanted[:, 1]]]
        found = similarity(wanted)
        tested = np.concatenate([tested, codes])
        good = found >= threshold
        pairs.append(wanted[good])
        scores.append(found[good])
        labels = components(texts, np.concatenate(pairs))
    return Verified(np.concatenate(pairs), np.concatenate(scores), _overflow(buckets, labels))


def _undecided(buckets: Buckets, labels: I64, distance: int, every_pair: bool) -> Flags:
    """Mark the buckets that still have pairs to compare at that distance."""
    large: Flags = buckets.sizes > distance
    if every_pair or not large.size:
        return large
    own = labels[buckets.members]
    mixed: Flags = np.minimum.reduceat(own, buckets.starts) != np.maximum.reduceat(own, buckets.starts)
    return mixed & large


def _codes(buckets: Buckets, distance: int, texts: int) -> I64:
    """Return the pairs of one round as first * texts + second, sorted and unique."""
    within = np.arange(buckets.members.size) - np.repeat(buckets.starts, buckets.sizes)
    later = np.flatnonzero(within >= max(distance, 1))
    earlier = later - (distance or within[later])
    return np.unique(buckets.members[earlier] * texts + buckets.members[later])


def _overflow(buckets: Buckets, labels: I64) -> int:
    """Count the texts beyond reach of the first member that are not in its component."""
    large = buckets.take(np.flatnonzero(buckets.sizes > REACH + 1))
    within = np.arange(large.members.size) - np.repeat(large.starts, large.sizes)
    first = np.repeat(large.members[large.starts], large.sizes)
    return int(np.unique(large.members[(within > REACH) & (labels[first] != labels[large.members])]).size)
