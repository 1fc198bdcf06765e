"""Documents of a packed row kept apart, in the graph: who attends to whom, and places counted from a document's start.

An EOD ends a document, itself included; no text can hold one. So a row's documents are counted from its ids, in
either layout, whether rows are cut shorter or not. Costs one comparison of seq x seq numbers a row and step, in place
of the constant mask.
"""
# mypy: disable-error-code="misc"

from dataclasses import dataclass

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

FAR = -1e9
"""Added to the score of what must not be seen."""


@dataclass(frozen=True, slots=True)
class Apart:
    """How documents that share a row are kept apart."""

    eod_id: int
    """Ends a document."""
    attention: bool
    """Whether a place sees its own document alone."""
    position: bool
    """Whether places are counted from the start of the document, not of the row."""


class Boundaries(nn.Cell):
    """Mask and rotary angles of rows: int32[batch, seq] -> (mask, cos, sin).

    The mask, fp32, to be added to the scores, is [seq, seq], or [batch, 1, seq, seq] where rows differ; the angles
    [seq, width] or [batch, 1, seq, width].
    """

    def __init__(self, cos: Tensor, sin: Tensor, apart: Apart | None) -> None:
        super().__init__()
        seq = cos.shape[0]
        self.cos, self.sin = cos, sin
        self.mask = Tensor(np.triu(np.full((seq, seq), FAR, np.float32), 1))
        self.causal = Tensor(np.tril(np.ones((seq, seq), np.bool_)))
        self.eod_id = apart.eod_id if apart else -1
        self.attention = apart is not None and apart.attention
        self.position = apart is not None and apart.position

    def construct(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # noqa: D102
        mask, cos, sin = self.mask, self.cos, self.sin
        if self.attention or self.position:
            seq = ids.shape[1]
            ends = (ids == self.eod_id).astype(ms.int32)
            document = ops.cumsum(ends, 1) - ends
            same = document.reshape(-1, 1, seq, 1) == document.reshape(-1, 1, 1, seq)
            seen = ops.logical_and(same, self.causal)
            if self.attention:
                mask = (1.0 - seen.astype(ms.float32)) * FAR
            if self.position:
                place = seen.astype(ms.float32).sum(-1).astype(ms.int32) - 1
                cos, sin = self._at(cos, place), self._at(sin, place)
        return mask, cos, sin

    def _at(self, angles: Tensor, place: Tensor) -> Tensor:
        return ops.gather(angles, place.reshape(-1), 0).reshape(-1, 1, place.shape[-1], angles.shape[-1])
