"""One training step under ``ms.jit``: loss, gradients, sum over ranks, clip, update.

Losses are summed over tokens, gradients over micro-batches and ranks, and both divided by the tokens of the
whole step, so any split of one global batch gives the same step within fp32's rounding. The update stands
under an ``if``: it skips a step that is not finite or far out, and makes the compiled step a tenth faster on CPU.
With accumulation there are two compiled functions and one more fp32 number a parameter.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mindspore as ms
from mindspore import Parameter, Tensor, amp, nn, ops

from mrprep.training.head import CACHED, HELD, LinearCrossEntropy
from mrprep.training.model import Llama
from mrprep.training.reduce import Sums, sum_over_ranks
from mrprep.training.scaling import scaling
from mrprep.training.spikes import NO_LIMITS, Limits, Seen, stretch

Columns = tuple[Tensor, ...]
Compiled = Callable[..., Any]
_stretch = ops.constexpr(stretch)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one step did, over all ranks."""

    loss: float
    """Mean cross entropy a token, nats."""
    norm: float
    """L2 norm of the mean gradient, before clipping."""
    peak: float
    """Highest mean loss of a stretch of a row, nats a place, see ``spikes.stretch``."""
    tokens: int
    """Targets trained on; padding is not one."""
    skipped: bool
    """Whether loss, norm or peak was not below its limit, so that no weight changed."""
    stop: bool
    """Whether a rank was asked to stop."""
    norms: tuple[float, ...]
    """L2 norm of the mean gradient of each weight, before clipping."""
    loss_scale: float | None = None
    """What the loss was multiplied by, if it was."""

    @property
    def overflow(self) -> bool:
        """Whether gradients overflowed the half type, so that the loss scale was halved; below 1 it is of no use."""
        return self.skipped and math.isfinite(self.loss) and not math.isfinite(self.norm) and (self.loss_scale or 0) > 1

    @property
    def seen(self) -> Seen:
        """Its part in the limits of later steps."""
        return Seen(self.loss, self.norm, self.peak)


class TrainStep:
    """The compiled step of one model; call it with the micro-batches of one rank.

    Args:
        model: whose weights are trained.
        optimizer: called with gradients and learning rate; changes the model's weights.
        split: columns -> (ids, labels, mask), see ``data.splitter``.
        ranks: processes whose gradients are summed.
        rank: of this process.
        accumulate: micro-batches a step.
        clip: largest gradient norm.
        z_loss: weight of the squared log of the softmax's denominator (Chowdhery et al. 2022), not in the loss shown.
        scaler: of the loss, for float16; its state goes on from step to step.
    """

    def __init__(
        self,
        model: Llama,
        optimizer: nn.Cell,
        split: Callable[..., tuple[Tensor, Tensor, Tensor]],
        *,
        ranks: int,
        rank: int = 0,
        accumulate: int,
        clip: float,
        z_loss: float = 0.0,
        scaler: amp.DynamicLossScaler | None = None,
    ) -> None:
        self._accumulate, self._scaled = accumulate, scaler is not None
        amplify, restore, adjust = scaling(scaler)
        gradient = _gradient(model, split, z_loss, amplify, restore)
        finish = _finish(optimizer, rank, ranks, clip, adjust)
        if accumulate == 1:
            self._single = _fused(gradient, finish)
        else:
            self._add, self._apply = _accumulating(model.trainable_params(), gradient, finish)

    def __call__(
        self,
        micro_batches: Sequence[Columns],
        lr: float,
        limits: Limits = NO_LIMITS,
        stop: bool = False,
    ) -> Outcome:
        """Train on one step's rows of this rank; every rank must call it.

        Args:
            micro_batches: columns of each.
            lr: learning rate.
            limits: loss, norm and peak below which the update is made; infinite ones pass whatever is finite.
            stop: this rank's wish, which all ranks get to know.
        """
        plan = Tensor([lr, *limits], ms.float32)
        wish = Tensor(float(stop), ms.float32)
        if self._accumulate == 1:
            outcome = self._single(plan, wish, *micro_batches[0])
        else:
            for columns in micro_batches:
                self._add(*columns)
            outcome = self._apply(plan, wish)
        loss, norm, peak, tokens, updated, stops, scale, *norms = outcome.asnumpy().tolist()
        return Outcome(
            loss, norm, peak, round(tokens), not updated, stops > 0, tuple(norms), scale if self._scaled else None
        )


def _gradient(
    model: Llama,
    split: Callable[..., tuple[Tensor, Tensor, Tensor]],
    z_loss: float,
    amplify: Compiled,
    restore: Compiled,
) -> Compiled:
    """Return columns -> (gradient of the summed loss by each weight, summed loss, targets, peak)."""
    slice_logits = CACHED if ms.get_context("device_target") == "CPU" else HELD
    cross_entropy = LinearCrossEntropy(model.precision, z_loss, slice_logits)

    def forward(*columns: Tensor) -> tuple[Tensor, ...]:
        ids, labels, mask = split(*columns)
        factor = amplify(ops.ones((), ms.float32), columns[0].size)
        mask = mask.reshape(-1)
        aim, losses, *_ = cross_entropy(model.model(ids), model.table(), labels.reshape(-1), mask, factor)
        width = _stretch(labels.shape[1])
        peak = losses.reshape(-1, width).sum(-1).max() / width
        return aim, losses.sum(), mask.sum(), peak

    differentiate = ms.value_and_grad(forward, None, ms.ParameterTuple(model.trainable_params()), has_aux=True)

    def gradient(*columns: Tensor) -> tuple[Tensor, ...]:
        (_, loss, targets, peak), gradients = differentiate(*columns)
        return (*restore(gradients, columns[0].size), loss, targets, peak)

    return gradient


def _finish(optimizer: nn.Cell, rank: int, ranks: int, clip: float, adjust: Compiled) -> Compiled:
    """Return (sums and peak of this rank, plan, wish) -> what ``Outcome`` holds, after the update.

    Only sums are known to AllReduce on CPU, so each rank puts its peak in a place of its own.
    """
    reduce = sum_over_ranks([*(p.size for p in optimizer.parameters), 1, 1, 1, ranks], ranks)
    own_place = Tensor([float(r == rank) for r in range(ranks)], ms.float32)

    def update(gradients: tuple[Tensor, ...], factor: Tensor, lr: Tensor) -> None:
        scaled: Sums = ()
        for g in gradients:
            scaled = (*scaled, g * factor)
        optimizer(scaled, lr)

    def finish(sums: tuple[Tensor, ...], plan: Tensor, wish: Tensor) -> Tensor:
        sums = reduce((*sums[:-1], wish, sums[-1] * own_place))
        gradients, loss, tokens, wishes, peak = sums[:-4], sums[-4], sums[-3], sums[-2], sums[-1].max()
        squares: Sums = ()
        for g in gradients:
            squares = (*squares, (g * g).sum(-1).sum())  # in one sum it takes twelve times as long
        share = 1.0 / tokens
        norms, mean = ops.sqrt(ops.stack(squares)) * share, loss * share
        norm = ops.sqrt((norms * norms).sum())
        good = ops.logical_and(ops.logical_and(mean < plan[1], norm < plan[2]), peak < plan[3])
        if good:
            update(gradients, share * ops.minimum(Tensor(1.0, ms.float32), clip / (norm + 1e-6)), plan[0])
        return ops.concat((ops.stack((mean, norm, peak, tokens, good.astype(ms.float32), wishes, adjust(norm))), norms))

    return finish


def _fused(gradient: Compiled, finish: Compiled) -> Compiled:
    def step(plan: Tensor, wish: Tensor, *columns: Tensor) -> Any:
        return finish(gradient(*columns), plan, wish)

    compiled: Compiled = ms.jit(step)
    return compiled


def _accumulating(weights: Sequence[Parameter], gradient: Compiled, finish: Compiled) -> tuple[Compiled, Compiled]:
    """Return (add the sums of one micro-batch, finish the step and empty the sums)."""
    scalars = [Parameter(Tensor(0, ms.float32), name=name) for name in ("loss_sum", "token_sum", "peak")]
    buffers = ms.ParameterTuple([*ms.ParameterTuple(weights).clone("gradient_sum", "zeros"), *scalars])
    count = len(buffers)

    def add(*columns: Tensor) -> Tensor:
        sums = gradient(*columns)
        for i in range(count - 1):
            ops.assign_add(buffers[i], sums[i])
        ops.assign(buffers[-1], ops.maximum(buffers[-1], sums[-1]))
        return sums[-1]

    def apply(plan: Tensor, wish: Tensor) -> Any:
        sums: Sums = ()
        for buffer in buffers:
            sums = (*sums, buffer * 1.0)
        outcome = finish(sums, plan, wish)
        for buffer in buffers:
            ops.assign(buffer, ops.zeros_like(buffer))
        return outcome

    return ms.jit(add), ms.jit(apply)
