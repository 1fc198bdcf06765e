"""Do data-parallel ranks get equal batches and every row once? In the order that the trainer will see."""

from collections.abc import Sequence

import numpy as np

from mrprep import order
from mrprep.audit.finding import Finding

_STEPS = 4096
"""Steps of the first epoch that are looked at."""


def rank_batches(seed: int, rows: int, ranks: Sequence[int], batch: int) -> Finding:
    """Deal the train split's rows to ranks and compare.

    Args:
        seed: of the build.
        rows: of train.
        ranks: numbers of ranks to try, each a divisor of ``batch``.
        batch: rows a step over all ranks.
    """
    steps, left = order.steps_per_epoch(rows, batch), rows % batch
    if not steps:
        message = f"train has {rows} rows, not one step of {batch} rows"
        return Finding("rank-batches", "warning", 0, 1, message, "take a smaller batch, more text, or a shorter --seq")
    wrong = [n for n in ranks if not _equal(seed, rows, batch, n, min(steps, _STEPS))]
    message = (
        f"{steps:,} steps of {batch} rows an epoch, the same rows at {', '.join(map(str, ranks))} ranks, "
        f"{left} rows sit an epoch out"
    )
    if wrong:
        message = f"ranks do not get equal batches of different rows at {', '.join(map(str, wrong))} ranks"
    return Finding(
        "rank-batches",
        "failure" if wrong else "ok",
        len(wrong),
        1,
        message,
        "report this as a bug of mrprep" if wrong else "",
    )


def _equal(seed: int, rows: int, batch: int, ranks: int, steps: int) -> bool:
    """Return whether each step has the rows it has on one rank, none twice, as many a rank."""
    alone = order.rows(seed, 0, rows, batch, 0, 1, 0, steps)
    dealt = [order.rows(seed, 0, rows, batch, rank, ranks, 0, steps) for rank in range(ranks)]
    if any(mine.size * ranks != alone.size for mine in dealt):
        return False
    together = np.concatenate([mine.reshape(steps, -1) for mine in dealt], axis=1)
    same = np.array_equal(np.sort(together, axis=1), np.sort(alone.reshape(steps, -1), axis=1))
    return same and np.unique(alone).size == alone.size
