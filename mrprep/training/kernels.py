"""Parts of the decoder with backward passes of their own, where what MindSpore derives is slower on CPU.

Each is the textbook formula; `tests/test_training_step.py` holds them to finite differences,
`tests/test_training_transformers.py` to torch.
"""
# mypy: disable-error-code="misc"

import mindspore as ms
from mindspore import Tensor, nn, ops

from mrprep.training.precision import Precision


class Mix(nn.Cell):
    """softmax(q k' + mask) v, for query heads that share key heads.

    Called with q [batch * kv heads, group * seq, width], k and v [batch * kv heads, seq, width] and the mask of
    ``documents.Boundaries``; returns what q is, and the weights for the backward pass. There the sum over the keys
    that softmax asks for is taken as rowsum(dO * O), which is shorter by seq / width (Dao et al. 2022, section B.2).
    """

    def __init__(self, heads: int, precision: Precision) -> None:
        super().__init__()
        self.heads, self.products, self.norms = heads, precision.products, precision.norms
        self.by_transposed, self.by, self.transposed_by = (
            ops.BatchMatMul(transpose_b=True),
            ops.BatchMatMul(),
            ops.BatchMatMul(transpose_a=True),
        )

    def construct(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:  # noqa: D102
        seq = mask.shape[-1]
        scores = self.by_transposed(q, k).astype(ms.float32)
        apart = scores.reshape(-1, seq, seq) if mask.ndim == 2 else scores.reshape(-1, self.heads, seq, seq)
        weights = ops.softmax((apart + mask).astype(self.norms), -1).astype(self.products).reshape(scores.shape)
        return self.by(weights, v), weights

    def bprop(  # noqa: D102
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, out: tuple[Tensor, Tensor], dout: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, ...]:
        mixed, weights, above = out[0], out[1], dout[0]
        sums = (above.astype(ms.float32) * mixed.astype(ms.float32)).sum(-1, keepdims=True)
        pull = self.by_transposed(above, v).astype(ms.float32) - sums
        pull = (weights.astype(ms.float32) * pull).astype(self.products)
        return (
            self.by(pull, k),
            self.transposed_by(pull, q),
            self.transposed_by(weights, above),
            ops.zeros_like(mask),
        )


class Turn(nn.Cell):
    """Turn the pairs (i, i + width / 2) of each head by the angle of its place; back again in the backward pass.

    Called with x [..., seq, width] and cos and sin that broadcast to its halves.
    """

    def construct(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:  # noqa: D102
        half = x.shape[-1] // 2
        a, b = x[..., :half], x[..., half:]
        return ops.concat((a * cos - b * sin, b * cos + a * sin), -1)

    def bprop(self, x: Tensor, cos: Tensor, sin: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor, ...]:  # noqa: D102, ARG002
        half = dout.shape[-1] // 2
        a, b = dout[..., :half], dout[..., half:]
        return ops.concat((a * cos + b * sin, b * cos - a * sin), -1), ops.zeros_like(cos), ops.zeros_like(sin)


class Normed(nn.Cell):
    """x / root mean square(x) * weight, over the last axis (Zhang and Sennrich 2019).

    Called with x [n, width] and weight fp32[width]; returns what x is, and the reciprocal roots fp32[n, 1] for the
    backward pass.
    """

    def __init__(self, eps: float, precision: Precision) -> None:
        super().__init__()
        self.eps, self.within, self.out = eps, precision.norms, precision.stream

    def construct(self, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:  # noqa: D102
        wide = x.astype(ms.float32)
        root = ops.rsqrt((wide * wide).mean(-1, keep_dims=True) + self.eps)
        y = x.astype(self.within) * root.astype(self.within) * weight.astype(self.within)
        return y.astype(self.out), root

    def bprop(  # noqa: D102
        self, x: Tensor, weight: Tensor, out: tuple[Tensor, Tensor], dout: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        root, above = out[1], dout[0].astype(ms.float32)
        unit, pull = x.astype(ms.float32) * root, above * weight
        by_x = (pull - unit * (pull * unit).mean(-1, keep_dims=True)) * root
        return by_x.astype(x.dtype), (above * unit).reshape(-1, x.shape[-1]).sum(0)
