"""Where the valid split ends and each shard begins, from histograms of tokens over key space. Pure.

Keys are uniform 64-bit hashes; a bucket is their upper 20 bits, so a bound is exact to a millionth of the
tokens and a histogram takes 8 MB, whatever the number of documents.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

BITS = 20
_SHIFT = 64 - BITS
KEYS = 1 << 64

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bound:
    """A stretch of key space."""

    first: int
    """Its first key."""
    last: int
    """Its last key, included."""
    tokens: int
    """Tokens of the entries in it."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Bound":
        """Return what ``dataclasses.asdict`` wrote."""
        return cls(data["first"], data["last"], data["tokens"])


def empty_histogram() -> I64:
    """Return a histogram of no tokens, int64[2**20]."""
    return np.zeros(1 << BITS, np.int64)


def add(histogram: I64, keys: npt.NDArray[np.uint64], tokens: I64) -> None:
    """Add ``tokens`` at ``keys`` to a histogram, in place."""
    np.add.at(histogram, (keys >> np.uint64(_SHIFT)).astype(np.int64), tokens)


def valid_end(histogram: I64, share: float, least: int) -> int:
    """Return the key before which the valid split lies, a bucket's first key.

    Args:
        histogram: tokens of documents, repeats left out, by base key.
        share: of the tokens that valid should hold.
        least: tokens that valid holds at least (a row), and that train must keep.

    Returns:
        0, no valid split, if ``share`` is 0, if train would keep fewer than ``least`` tokens, or if a document so
        long comes first that valid would hold more than half of all tokens, and twice what was asked for.
    """
    if not share:
        return 0
    sums = np.cumsum(histogram)
    total = int(sums[-1])
    buckets = int(np.searchsorted(sums, max(share * total, least))) + 1
    if buckets > len(sums) or total - sums[buckets - 1] < least or sums[buckets - 1] > max(0.5, 2 * share) * total:
        return 0
    return buckets << _SHIFT


def cut(histogram: I64, shards: int, first: int, end: int) -> list[Bound]:
    """Cut the keys from ``first`` to before ``end`` into shards that are even by tokens, none of them empty.

    Each bound lies at the bucket nearest to its even place. There are fewer than ``shards`` where fewer
    buckets (documents) hold tokens; none if there are no tokens.
    """
    held = np.flatnonzero(histogram)
    if not held.size:
        return []
    sums = np.cumsum(histogram[held])
    n = min(shards, len(held))
    edges = np.concatenate(([0], _nearest(sums, n), [len(held)]))
    starts = [first, *(bucket << _SHIFT for bucket in held[edges[1:-1]].tolist())]
    stops = [*starts[1:], end]
    tokens = np.diff(np.concatenate(([0], sums))[edges]).tolist()
    return [Bound(start, stop - 1, inside) for start, stop, inside in zip(starts, stops, tokens, strict=True)]


def _nearest(sums: I64, n: int) -> I64:
    """Return how many buckets lie before each of the n-1 inner bounds: strictly rising, from 1 on."""
    i = np.arange(1, n)
    wanted = sums[-1] * i // n
    above = np.searchsorted(sums, wanted)
    below_sum = np.where(above > 0, sums[above - 1], 0)
    near = np.where(wanted - below_sum <= sums[above] - wanted, above, above + 1)
    rising = np.maximum.accumulate(near - i) + i
    edges: I64 = np.clip(rising, i, len(sums) - n + i)
    return edges
