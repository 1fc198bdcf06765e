"""Band keys -> buckets: sets of texts that share a band, without those of one text and without repeats."""

from typing import NamedTuple

import numpy as np

from mrprep.order import I64, U64, mix


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


def merged(several: list[Buckets]) -> Buckets:
    """Return all of them as one list, each set of members once."""
    members = np.concatenate([b.members for b in several] or [np.empty(0, np.int64)])
    sizes = np.concatenate([b.sizes for b in several] or [np.empty(0, np.int64)])
    both = Buckets(members, np.cumsum(sizes) - sizes)
    if not sizes.size:
        return both
    marks = np.add.reduceat(mix(members.astype(np.uint64)), both.starts)
    return both.take(np.unique(marks, return_index=True)[1])
