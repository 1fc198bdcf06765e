"""Which rows an audit looks at: a seeded sample, from each shard in proportion to its rows."""

from collections.abc import Sequence

import numpy as np

from mrprep.order import I64, permute


def draw(rows: Sequence[int], sample: int, seed: int) -> list[I64]:
    """Return the row numbers drawn from each shard, rising, without repeats.

    Every shard that has rows gives at least one, so with more shards than ``sample`` there are more rows.

    Args:
        rows: of each shard.
        sample: rows wanted over all shards.
        seed: of the draw.
    """
    total = max(1, sum(rows))
    wanted = [min(n, max(1, round(sample * n / total))) for n in rows]
    return [_draw(n, count, seed + (number << 32)) for number, (n, count) in enumerate(zip(rows, wanted, strict=True))]


def _draw(rows: int, count: int, seed: int) -> I64:
    return np.sort(permute(seed, max(1, rows), np.arange(count, dtype=np.int64)))
