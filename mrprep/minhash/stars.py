"""Candidates -> stars: a kept text takes the texts that resemble it and no more, so every removed text is a duplicate
of the one that stays.

From the worthiest text on, a text that no kept text has taken is kept. Only kept texts are compared, with what may
still be theirs: of a cluster of near copies one text in a hundred or fewer, not all with all.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mrprep.builddir.mapped import let_go
from mrprep.minhash.buckets import Buckets, slices, walk
from mrprep.minhash.verify import REACH, Flags, Similarity
from mrprep.order import I64


class Places(NamedTuple):
    """Where texts stand among the members of buckets."""

    places: I64
    """int64[m], where each text is a member, text after text."""
    starts: I64
    """int64[texts + 1], where in ``places`` those of each begin."""


def stars(worth: I64, labels: I64, buckets: Buckets, similarity: Similarity, threshold: float, held: Flags) -> I64:
    """Return for each text the text kept in its place, int64[n]: itself, or a kept neighbour.

    Args:
        worth: int64[n], all different; the larger are kept before others.
        labels: of connected components of the texts that resemble each other (`verify`).
        buckets: whose members are neighbours, as far as `verify` compares them.
        similarity: compares pairs.
        threshold: least Jaccard of neighbours.
        held: which texts stay whatever comes; they are worth the most.
    """
    order = np.lexsort((-worth, labels))
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    kept = np.arange(order.size)
    taken = bytearray(order.size)
    is_taken = np.frombuffer(taken, np.bool_)
    where = placed(buckets, np.bincount(labels, minlength=labels.size)[labels] > 1)
    new = np.flatnonzero(np.diff(labels[order], prepend=-1))
    clusters = list(zip(new.tolist(), np.append(new[1:], order.size).tolist(), strict=True))
    while clusters:
        heads, clusters = _heads(taken, clusters)
        for head, text in _neighbours(order[heads], buckets, where):
            open_ = (labels[head] == labels[text]) & (rank[text] > rank[head]) & ~is_taken[rank[text]]
            open_ &= ~(held[head] & held[text])
            pairs = np.divmod(np.unique(head[open_] * order.size + text[open_]), order.size)
            found = similarity(np.sort(np.column_stack(pairs), axis=1)) >= threshold
            kept[pairs[1][found]] = pairs[0][found]
            is_taken[rank[pairs[1][found]]] = True
    return kept


def _heads(taken: bytearray, clusters: list[tuple[int, int]]) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the first text of each cluster that is not taken, and what is left of the clusters that have more."""
    found = [(taken.find(0, begin, end), end) for begin, end in clusters]
    left = [(head + 1, end) for head, end in found if 0 <= head < end - 1]
    return [begin - 1 for begin, _ in left], left


def placed(buckets: Buckets, wanted: Flags) -> Places:
    """Return where the wanted texts stand in buckets."""
    counts = np.zeros(wanted.size, np.int64)
    for members, _ in _members(buckets, wanted):
        counts += np.bincount(members, minlength=wanted.size)
    starts = np.concatenate([[0], np.cumsum(counts)])
    places, following = np.empty(int(starts[-1]), np.int64), starts[:-1].copy()
    for unordered, at in _members(buckets, wanted):
        order = np.argsort(unordered, kind="stable")
        members = unordered[order]
        new = np.flatnonzero(np.diff(members, prepend=-1))
        sizes = np.diff(new, append=members.size)
        places[following[members] + np.arange(members.size) - np.repeat(new, sizes)] = at[order]
        following[members[new]] += sizes
    return Places(places, starts)


def _members(buckets: Buckets, wanted: Flags) -> Iterator[tuple[I64, I64]]:
    """Yield the wanted members of buckets and where they stand, a slice at a time."""
    for which, within in walk(buckets, np.arange(buckets.starts.size)):
        at = buckets.starts[which] + within
        members = buckets.members[at]
        mine = wanted[members]
        yield members[mine], at[mine]


def _neighbours(heads: I64, buckets: Buckets, where: Places) -> Iterator[tuple[I64, I64]]:
    """Yield pairs of a head and a text that `verify` would compare with it, a slice at a time."""
    sizes = where.starts[heads + 1] - where.starts[heads]
    ends = np.cumsum(sizes)
    place = where.places[np.arange(sizes.sum()) + np.repeat(where.starts[heads] - (ends - sizes), sizes)]
    head = np.repeat(heads, sizes)
    bucket = np.searchsorted(buckets.starts, place, "right") - 1
    start, end = buckets.starts[bucket], buckets.starts[bucket] + buckets.sizes[bucket]
    first = np.maximum(start, place - REACH)
    last = np.where(place == start, end, np.minimum(end, place + REACH + 1))
    begins, stops = np.concatenate([first, start]), np.concatenate([last, start + 1])
    for which, within in slices(stops - begins):
        yield np.tile(head, 2)[which], buckets.members[begins[which] + within]
        let_go(buckets.members)
