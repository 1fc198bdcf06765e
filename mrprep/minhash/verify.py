"""Buckets -> verified pairs: the pairs of texts in a bucket whose exact Jaccard reaches the threshold.

Round 0 compares each member of a bucket with its first, round ``d`` with the member ``d`` places before it, up
to `REACH`; so a bucket of up to ``REACH + 1`` texts is compared in full. A pair that verified pairs connect already
is not compared: connected components need no more. A bucket that has become one component is done. Time is linear in
the texts of the buckets; memory is a number a text, a slice of the members, and as many of the pairs that were compared
as there is place for: such a pair in another bucket is not compared again.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from mrprep.minhash.bands import F64
from mrprep.minhash.buckets import Buckets, walk
from mrprep.minhash.clusters import connected
from mrprep.order import I64, mix

Flags = npt.NDArray[np.bool_]

REACH = 64
REMEMBERED = 1 << 22
"""Pairs, a power of two; 8 bytes each, once they are written."""


class Similarity(Protocol):
    """Exact Jaccard of pairs int64[p, 2] of texts; may say 0 for any below the threshold."""

    def __call__(self, pairs: I64) -> F64: ...  # noqa: D102


class Verified(NamedTuple):
    """What comparing found."""

    pairs: I64
    """int64[p, 2], pairs at or above the threshold, the smaller text first."""
    jaccard: F64
    """float64[p], of each."""
    labels: I64
    """The smallest text that such pairs connect each with, int64[texts]."""
    overflow: int
    """Texts of large buckets that were not compared with all members that they may resemble."""


def verify(texts: int, buckets: Buckets, similarity: Similarity, threshold: float, told: Flags) -> Verified:
    """Compare the members of buckets until it is known which of them are connected.

    Args:
        texts: members are numbered below it.
        buckets: candidates; members that are mapped are given back slice by slice.
        similarity: compares pairs.
        threshold: least Jaccard of a pair.
        told: bool[texts]; of the pairs that were found, those of a text so marked and one that is not are returned.
    """
    labels = np.arange(texts, dtype=np.int64)
    pairs, scores = [np.empty((0, 2), np.int64)], [np.empty(0)]
    live = np.arange(buckets.starts.size)
    compared = _Compared()
    for distance in range(REACH + 1):
        live = _undecided(buckets, live, labels, distance)
        if not live.size:
            break
        before, codes, found = labels, [np.empty(0, np.int64)], [np.empty(0)]
        for own in map(compared.new, _codes(buckets, live, distance, texts)):
            one, other = np.divmod(own, texts)
            mixed = told[one] != told[other]
            apart = np.where(mixed, before[one] != before[other], labels[one] != labels[other])
            wanted = np.column_stack([one, other])[apart]
            score = similarity(wanted)
            good = score >= threshold
            labels = connected(labels, wanted[good])
            codes.append(own[apart][good & mixed[apart]])
            found.append(score[good & mixed[apart]])
        every, first = np.unique(np.concatenate(codes), return_index=True)
        pairs.append(np.column_stack(np.divmod(every, texts)))
        scores.append(np.concatenate(found)[first])
    missed = overflow(buckets, live, labels)
    return Verified(np.concatenate(pairs), np.concatenate(scores), labels, missed)


class _Compared:
    """Remembers pairs, the later in place of an earlier one where two fall on one place."""

    def __init__(self) -> None:
        self._codes = np.zeros(REMEMBERED, np.uint64)

    def new(self, codes: I64) -> I64:
        """Return those that are not remembered, and remember them."""
        marks = codes.astype(np.uint64)  # 0, text 0 with itself, is none
        places = mix(marks) & np.uint64(REMEMBERED - 1)
        new = self._codes[places] != marks
        self._codes[places[new]] = marks[new]
        unknown: I64 = codes[new]
        return unknown


def within_reach(texts: int, buckets: Buckets) -> I64:
    """Return all pairs that there are to compare, int64[p, 2], each once, the smaller text first."""
    every = np.arange(buckets.starts.size)
    codes = [codes for distance in range(REACH + 1) for codes in _codes(buckets, every, distance, texts)]
    return np.column_stack(np.divmod(np.unique(np.concatenate([np.empty(0, np.int64), *codes])), texts))


def _undecided(buckets: Buckets, live: I64, labels: I64, distance: int) -> I64:
    """Return which of the live buckets still have pairs to compare at that distance."""
    live = live[buckets.sizes[live] > distance]
    first = labels[buckets.members[buckets.starts[live]]]
    mixed = np.zeros(live.size, bool)
    for which, within in walk(buckets, live):
        own = labels[buckets.members[buckets.starts[live[which]] + within]]
        mixed[which[own != first[which]]] = True
    undecided: I64 = live[mixed]
    return undecided


def _codes(buckets: Buckets, live: I64, distance: int, texts: int) -> Iterator[I64]:
    """Yield the pairs of one round as first * texts + second, sorted and unique, a slice at a time."""
    for which, within in walk(buckets, live):
        start = buckets.starts[live[which]]
        later = (start + within)[within >= max(distance, 1)]
        earlier = later - distance if distance else start[within > 0]
        yield np.unique(buckets.members[earlier] * texts + buckets.members[later])


def overflow(buckets: Buckets, live: I64, labels: I64) -> int:
    """Count the texts of the live buckets beyond reach of the first member that are not in its component."""
    live = live[buckets.sizes[live] > REACH + 1]
    missed = np.zeros(labels.size, bool)
    for which, within in walk(buckets, live):
        start = buckets.starts[live[which]]
        member, first = buckets.members[start + within], buckets.members[start]
        missed[member[(within > REACH) & (labels[first] != labels[member])]] = True
    return int(missed.sum())
