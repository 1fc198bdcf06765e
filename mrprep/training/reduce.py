"""Sums over the ranks: a few large AllReduce instead of one a weight."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import mindspore as ms
from mindspore import Tensor, ops

BUCKET = 1 << 22
"""Numbers a sum over ranks takes at a time: 16 MB."""
Sums = tuple[Tensor, ...]


def sum_over_ranks(sizes: Sequence[int], ranks: int) -> Callable[[Sums], Any]:
    """Return sums of this rank -> sums over all, for tensors of these sizes."""

    def alone(sums: Sums) -> Sums:
        return sums

    if ranks == 1:
        return alone
    all_reduce = ops.AllReduce(ops.ReduceOp.SUM)
    stretches = buckets(sizes, BUCKET)

    def together(sums: Sums) -> Sums:
        reduced: Sums = ()
        for start, stop in stretches:
            parts: Sums = ()
            for part in sums[start:stop]:
                parts = (*parts, part.reshape(-1))
            flat = all_reduce(ops.concat(parts))
            at = 0
            for part in sums[start:stop]:
                reduced = (*reduced, flat[at : at + part.size].reshape(part.shape))
                at = at + part.size
        return reduced

    return together


def buckets(sizes: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Cut a list into stretches (start, stop), each of one item or of at most ``limit`` in sum."""
    cuts, held = [0], 0
    for place, size in enumerate(sizes):
        if held and held + size > limit:
            cuts.append(place)
            held = 0
        held += size
    return list(pairwise([*cuts, len(sizes)]))


def total_over_ranks(numbers: Sequence[float]) -> list[float]:
    """Return a few numbers summed over the ranks, of which there are several; every rank must call it."""
    total: list[float] = ops.AllReduce(ops.ReduceOp.SUM)(Tensor(numbers, ms.float32)).asnumpy().tolist()
    return total
