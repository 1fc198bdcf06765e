"""Losses of single tokens, forward only: for validation, and to find what is wrong with a step's rows."""

from collections.abc import Callable
from dataclasses import dataclass

import mindspore as ms
import numpy as np
import numpy.typing as npt
from mindspore import Tensor, nn

from mrprep.training import data
from mrprep.training.mixture import I64, Mixture

Losses = npt.NDArray[np.float32]


class Scorer:
    """Scores rows with the weights that the model has at the time of the call.

    Args:
        model: int32[batch, seq] -> logits[batch * seq, vocabulary].
        split: columns -> (ids, labels, mask), see ``data.splitter``.
        batch: rows at a time.
    """

    def __init__(self, model: nn.Cell, split: Callable[..., tuple[Tensor, Tensor, Tensor]], batch: int) -> None:
        cross_entropy = nn.SoftmaxCrossEntropyWithLogits(sparse=True)

        def forward(*columns: Tensor) -> Tensor:
            ids, labels, mask = split(*columns)
            losses = cross_entropy(model(ids), labels.reshape(-1)).reshape(labels.shape)
            return ms.ops.stack((losses, mask))

        self._forward, self._batch = ms.jit(forward), batch

    def __call__(self, mixture: Mixture, rows: I64, beat: Callable[[], None]) -> tuple[Losses, Losses]:
        """Return loss and mask of each target of some rows, fp32[rows, seq] both; ``beat`` is called every batch."""
        scored = []
        whole = len(rows) - len(rows) % self._batch
        for part, batch in ((rows[:whole], self._batch), (rows[whole:], len(rows) - whole)):
            for columns in data.read(mixture, part, batch) if batch and len(part) else ():
                scored.append(self._forward(*columns).asnumpy().reshape(2, batch, mixture.like.seq))
                beat()
        both: Losses = np.concatenate(scored, axis=1)
        return both[0], both[1]


@dataclass(frozen=True, slots=True)
class Total:
    """Sum over some rows."""

    loss: float
    """Summed cross entropy, nats."""
    tokens: float
    """Targets."""


def total(losses: Losses, mask: Losses) -> Total:
    """Return the sums in double precision."""
    return Total(float((losses * mask).sum(dtype=np.float64)), float(mask.sum(dtype=np.float64)))
