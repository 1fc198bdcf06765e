"""The output layer and its cross entropy together, some rows at a time, so that no logits of a whole batch are held.

Loss and both gradients of a slice are made while its logits are there, as in Liger Kernel's fused linear cross
entropy (Hsu et al. 2024). On CPU a slice fits the cache, which is what makes it fast: two thirds of the time that
logits, ``SoftmaxCrossEntropyWithLogits`` and their gradients take, and half their peak memory (docs/training.md).
"""
# mypy: disable-error-code="misc"

import mindspore as ms
from mindspore import Tensor, nn, ops

from mrprep.training.precision import Precision

CACHED = 2 << 20
"""Logits that a CPU's cache holds: 8 MiB in fp32."""
HELD = 64 << 20
"""Logits of a slice on another device: 256 MiB in fp32."""
MOST_SLICES = 16
"""The compiled graph grows with each."""


def slice_rows(rows: int, vocabulary: int, logits: int) -> int:
    """Return how many rows a slice takes, so that it has about as many logits, but the slices are not too many."""
    slices = min(MOST_SLICES, -(-rows * vocabulary // logits))
    return -(-rows // slices)


_slice_rows = ops.constexpr(slice_rows)


class LinearCrossEntropy(nn.Cell):
    """Cross entropy of ``hidden @ table.T``, as gradients want it and as people do.

    Args:
        precision: type that matrices are multiplied in.
        z_loss: weight of the squared log of the softmax's denominator (Chowdhery et al. 2022).
        logits: of a slice, about.

    Called with hidden [rows, width], table fp32[vocabulary, width], labels int32[rows], mask fp32[rows] and factor
    fp32[], it returns what is to be differentiated, by hidden and table alone: (summed loss and z-loss of the rows that
    the mask keeps) * factor; then the loss of each row, in nats, fp32[rows], 0 where the mask is 0; then two tensors
    that only the backward pass reads.
    """

    def __init__(self, precision: Precision, z_loss: float, logits: int) -> None:
        super().__init__()
        self.within, self.z_loss, self.logits = precision.products, z_loss, logits
        self.forward, self.by_rows, self.by_table = (
            ops.MatMul(transpose_b=True),
            ops.MatMul(),
            ops.MatMul(transpose_a=True),
        )
        self.log_softmax, self.pick, self.put = ops.LogSoftmax(-1), ops.GatherD(), ops.TensorScatterElements(1, "add")

    def construct(  # noqa: D102
        self, hidden: Tensor, table: Tensor, labels: Tensor, mask: Tensor, factor: Tensor
    ) -> tuple[Tensor, ...]:
        x, w = hidden.astype(self.within), table.astype(self.within)
        kept = (mask * factor).reshape(-1, 1)
        extra, by_table = ops.zeros((), ms.float32), ops.zeros(table.shape, ms.float32)
        losses: tuple[Tensor, ...] = ()
        by_rows: tuple[Tensor, ...] = ()
        step = _slice_rows(hidden.shape[0], table.shape[0], self.logits)
        for start in range(0, hidden.shape[0], step):
            part, share = x[start : start + step], kept[start : start + step]
            label = labels[start : start + step].reshape(-1, 1)
            logits = self.forward(part, w).astype(ms.float32)
            logs = self.log_softmax(logits)
            loss = -self.pick(logs, 1, label)
            pull = self.put(ops.exp(logs), label, -ops.ones_like(loss))
            if self.z_loss > 0:
                denominator = self.pick(logits, 1, label) + loss
                extra = extra + (denominator * denominator * share).sum()
                pull = pull + ops.exp(logs) * (2.0 * self.z_loss * denominator)
            pull = (pull * share).astype(self.within)
            by_rows = (*by_rows, self.by_rows(pull, w))
            by_table = by_table + self.by_table(pull, part).astype(ms.float32)
            losses = (*losses, loss)
        loss = ops.concat(losses).reshape(-1) * mask
        by_hidden = ops.concat(by_rows).astype(hidden.dtype)
        return loss.sum() * factor + self.z_loss * extra, loss, by_hidden, by_table

    def bprop(  # noqa: D102
        self,
        hidden: Tensor,  # noqa: ARG002
        table: Tensor,  # noqa: ARG002
        labels: Tensor,
        mask: Tensor,
        factor: Tensor,
        out: tuple[Tensor, ...],
        dout: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        by_hidden, by_table = out[2], out[3]
        return (
            by_hidden * dout[0].astype(by_hidden.dtype),
            by_table * dout[0],
            ops.zeros_like(labels),
            ops.zeros_like(mask),
            ops.zeros_like(factor),
        )
