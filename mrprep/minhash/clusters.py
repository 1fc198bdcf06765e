"""Verified pairs -> clusters, and which member of each is kept.

Texts that a chain of verified pairs links are one cluster; `stars` has the other kind.
"""

import numpy as np

from mrprep.order import I64


def components(size: int, pairs: I64) -> I64:
    """Return for each of ``size`` texts the smallest text that pairs connect it with, int64[size]."""
    return connected(np.arange(size, dtype=np.int64), pairs)


def connected(labels: I64, pairs: I64) -> I64:
    """Return what ``components`` gives when these pairs come to those that gave ``labels``.

    Labels fall along the pairs and jump to their own labels until nothing changes (Shiloach and Vishkin
    1982): a logarithmic number of rounds over arrays.
    """
    labels = labels.copy()
    one, other = (pairs[:, 0], pairs[:, 1]) if len(pairs) else (labels[:0], labels[:0])
    while True:
        low, high = np.minimum(labels[one], labels[other]), np.maximum(labels[one], labels[other])
        open_ = low < high
        if not open_.any():
            return labels
        one, other = one[open_], other[open_]
        np.minimum.at(labels, high[open_], low[open_])
        while not np.array_equal(further := labels[labels], labels):
            labels = further


def best(labels: I64, sizes: I64) -> I64:
    """Return for each text the largest text under its label, of equals the first, int64[n]."""
    order = np.lexsort((np.arange(labels.size), -sizes, labels))
    first = np.concatenate([[True], labels[order][1:] != labels[order][:-1]]) if labels.size else order[:0]
    winners = order[first]
    out: I64 = winners[np.searchsorted(labels[winners], labels)]
    return out
