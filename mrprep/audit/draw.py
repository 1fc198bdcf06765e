"""Which rows an audit looks at: a seeded sample, from each shard in proportion to its rows."""

from collections.abc import Mapping, Sequence

import numpy as np

from mrprep.order import I64, permute

_LEAST = 8
_SALT = 0x6175646974
"""Keeps the sample apart from every other use of a permutation: packing and training order by small seeds too."""


def draw(rows: Mapping[str, Sequence[int]], sample: int, seed: int) -> dict[str, list[I64]]:
    """Return the row numbers drawn from each shard of each split, rising, without repeats.

    Every shard that has rows gives at least one, so with more shards than ``sample`` there are more rows; and
    every split at least an eighth of the sample, so that a small valid split can be judged too.

    Args:
        rows: split -> rows of each shard.
        sample: rows wanted over all shards.
        seed: of the draw.
    """
    total = max(1, sum(sum(shards) for shards in rows.values()))
    drawn = {}
    for number, (split, shards) in enumerate(rows.items()):
        held = max(1, sum(shards))
        wanted = max(sample * held / total, sample / _LEAST)
        counts = [min(n, max(1, round(wanted * n / held))) for n in shards]
        seeds = range(seed + (number << 48), seed + (number << 48) + len(shards))
        drawn[split] = [_draw(n, count, own) for n, count, own in zip(shards, counts, seeds, strict=True)]
    return drawn


def _draw(rows: int, count: int, seed: int) -> I64:
    return np.sort(permute(seed ^ (_SALT << 20), max(1, rows), np.arange(count, dtype=np.int64)))
