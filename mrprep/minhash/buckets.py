"""Band keys -> buckets: sets of texts that share a band, without those of one text and without repeats."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mrprep.builddir.mapped import let_go
from mrprep.order import I64, U64, mix

AT_ONCE = 1 << 18
"""Members of buckets that are looked at together; some 100 bytes each."""


class Buckets(NamedTuple):
    """Sets of texts, one after the other; within each the texts ascend."""

    members: I64
    """int64[m], which texts."""
    starts: I64
    """int64[b], where in ``members`` each bucket begins."""

    @property
    def sizes(self) -> I64:
        """How many texts each bucket holds, int64[b]."""
        return np.diff(self.starts, append=self.members.size)

    def take(self, which: I64) -> "Buckets":
        """Return those buckets, in that order."""
        sizes = self.sizes[which]
        ends = np.cumsum(sizes)
        places = np.arange(sizes.sum()) + np.repeat(self.starts[which] - (ends - sizes), sizes)
        return Buckets(self.members[places], ends - sizes)


def same_key(keys: U64) -> Buckets:
    """Return the sets of two or more positions of ``keys`` that hold the same key, in order of keys.

    Few keys repeat as a rule: all are sorted the fast way, and only the positions of those that do put in order.
    """
    order = np.argsort(keys)
    ranked = keys[order]
    first, last = np.ones((2, keys.size), bool)
    np.not_equal(ranked[1:], ranked[:-1], out=first[1:])
    last[:-1] = first[1:]
    repeated = ~(first & last)
    members, first = order[repeated], first[repeated]
    in_order = np.sort(np.cumsum(first) << 32 | members)  # by set, then by position
    return Buckets(in_order & 0xFFFFFFFF, np.flatnonzero(first))


def slices(sizes: I64) -> Iterator[tuple[I64, I64]]:
    """Go through ranges of these sizes, one after the other, `AT_ONCE` places at a time, however large one is.

    Yields:
        int64[n] and int64[n]: which range each place is in, and how far from its start.
    """
    ends = np.cumsum(sizes)
    for low in range(0, int(ends[-1]) if ends.size else 0, AT_ONCE):
        places = np.arange(low, min(low + AT_ONCE, int(ends[-1])))
        which = np.searchsorted(ends, places, "right")
        yield which, places - (ends - sizes)[which]


def walk(buckets: Buckets, which: I64) -> Iterator[tuple[I64, I64]]:
    """Go through the members of those buckets a slice at a time; what is mapped of them is given back after each.

    Yields:
        int64[n] and int64[n]: for each member which of the buckets it is in, and how far from its start.
    """
    for slice_ in slices(buckets.sizes[which]):
        yield slice_
        let_go(buckets.members)


def merged(several: Sequence[Buckets]) -> Buckets:
    """Return all of them as one list, each set of members once."""
    chosen = [buckets.take(which) for buckets, which in zip(several, once(several), strict=True)]
    members = np.concatenate([b.members for b in chosen] or [np.empty(0, np.int64)])
    sizes = np.concatenate([b.sizes for b in chosen] or [np.empty(0, np.int64)])
    return Buckets(members, np.cumsum(sizes) - sizes)


def once(several: Sequence[Buckets]) -> list[I64]:
    """Return which buckets of each list to take so that each set of members is there once."""
    marks = [_marks(buckets) for buckets in several]
    bounds = np.cumsum([0, *(mark.size for mark in marks)])
    first = np.unique(np.concatenate([np.empty(0, np.uint64), *marks]), return_index=True)[1]
    first.sort()
    cuts = np.searchsorted(first, bounds)
    return [first[low:high] - base for low, high, base in zip(cuts[:-1], cuts[1:], bounds[:-1], strict=True)]


def _marks(buckets: Buckets) -> U64:
    """Return for each bucket a hash of its members."""
    marks = np.zeros(buckets.starts.size, np.uint64)
    for which, within in walk(buckets, np.arange(marks.size)):
        low = which[0]
        here = buckets.members[buckets.starts[low] + within[0] :][: which.size]
        new = np.flatnonzero(np.diff(which, prepend=-1))
        marks[low : which[-1] + 1] += np.add.reduceat(mix(here.astype(np.uint64)), new)
    return marks
