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

    Few keys repeat as a rule: sorting values finds which, and only their positions are ordered.
    """
    ranked = np.sort(keys)
    repeated = np.unique(ranked[1:][ranked[1:] == ranked[:-1]])
    if not repeated.size:
        return Buckets(np.empty(0, np.int64), np.empty(0, np.int64))
    which = np.minimum(np.searchsorted(repeated, keys), repeated.size - 1)
    positions = np.flatnonzero(repeated[which] == keys)
    order = np.argsort(which[positions], kind="stable")
    return Buckets(positions[order], np.searchsorted(which[positions[order]], np.arange(repeated.size)))


def merged(several: list[Buckets]) -> Buckets:
    """Return all of them as one list, each set of members once."""
    members = np.concatenate([b.members for b in several] or [np.empty(0, np.int64)])
    sizes = np.concatenate([b.sizes for b in several] or [np.empty(0, np.int64)])
    both = Buckets(members, np.cumsum(sizes) - sizes)
    if not sizes.size:
        return both
    marks = np.add.reduceat(mix(members.astype(np.uint64)), both.starts)
    return both.take(np.unique(marks, return_index=True)[1])
