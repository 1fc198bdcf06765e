"""Validation loss: over the first rows of the valid split by every rank in turn, or over all of it by one."""

import math
from collections.abc import Callable

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

from mrprep.training.metrics import Validation
from mrprep.training.score import Scorer, Total, total
from mrprep.training.shards import TrainingShards


class Validator:
    """Looks at the first ``rows`` rows of a split; each rank at every ``ranks``-th, and the sums are added up."""

    def __init__(self, scorer: Scorer, shards: TrainingShards, rows: int, rank: int, ranks: int) -> None:
        self._scorer, self._shards, self._ranks = scorer, shards, ranks
        self._mine = np.arange(rank, min(rows, shards.rows), ranks)

    def __call__(self, step: int, beat: Callable[[], None]) -> Validation:
        """Return the loss with the model as it is; every rank must call it."""
        mine = total(*self._scorer(self._shards, self._mine, beat)) if self._mine.size else Total(0.0, 0.0)
        if self._ranks > 1:
            mine = _sum_over_ranks(mine)
        return result(step, mine, self._shards)


def result(step: int, sums: Total, shards: TrainingShards) -> Validation:
    """Return means from sums, in nats, as perplexity, and in bits a byte of text."""
    loss = sums.loss / sums.tokens
    per_byte = loss / math.log(2) / shards.bytes_per_token if shards.bytes_per_token else None
    return {
        "step": step,
        "loss": loss,
        "perplexity": math.exp(min(loss, 700.0)),
        "bits_per_byte": per_byte,
        "tokens": round(sums.tokens),
    }


def _sum_over_ranks(mine: Total) -> Total:
    sums = ops.AllReduce(ops.ReduceOp.SUM)(Tensor([mine.loss, mine.tokens], ms.float32)).asnumpy().tolist()
    return Total(*sums)
