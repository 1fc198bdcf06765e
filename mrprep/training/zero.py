"""ZeRO stage 1 (Rajbhandari et al. 2020): each rank holds and applies AdamW's state for its share of the weights.

Weights of one decay are laid end to end in stretches, and each rank owns an equal piece of each: two fp32 numbers of
state, and one of weights to work on, for 1/ranks of the weights. The CPU has no ReduceScatter, so gradients are summed
whole and cut; the pieces of the weights are put together by AllGather.
"""
# mypy: disable-error-code="misc"

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import mindspore as ms
import numpy as np
import numpy.typing as npt
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

from mrprep.training.optimizer import AdamWOptions, decays
from mrprep.training.reduce import BUCKET, buckets

Array = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Weights laid end to end."""

    members: tuple[int, ...]
    """Places of them among the parameters."""
    size: int
    """Numbers in all of them."""
    width: int
    """Numbers of one rank's piece; the last piece may be filled up with zeros."""
    decay: float
    """Weight decay of all of them."""


def stretches(sizes: Sequence[int], rates: Sequence[float], ranks: int) -> list[Stretch]:
    """Cut parameters of these sizes and weight decays into stretches."""
    cut = []
    for decay in dict.fromkeys(rates):
        group = [place for place, rate in enumerate(rates) if rate == decay]
        for start, stop in buckets([sizes[place] for place in group], BUCKET):
            members = tuple(group[start:stop])
            size = sum(sizes[place] for place in members)
            cut.append(Stretch(members, size, -(-size // ranks), decay))
    return cut


class ShardedAdamW(nn.Cell):
    """``AdamW`` whose state is split over the ranks; the same weights come of it."""

    def __init__(self, parameters: Sequence[Parameter], options: AdamWOptions, rank: int, ranks: int) -> None:
        super().__init__()
        self.parameters = ParameterTuple(parameters)
        self.rank, self.ranks = rank, ranks
        self.stretches = stretches([p.size for p in parameters], decays(parameters, options), ranks)
        self.members = tuple(s.members for s in self.stretches)
        self.widths = tuple(s.width for s in self.stretches)
        self.filling = tuple(s.width * ranks - s.size for s in self.stretches)
        self.decays = tuple(s.decay for s in self.stretches)
        self.count = len(self.stretches)
        self.pieces, self.first, self.second = (self._new(name) for name in ("piece", "exp_avg", "exp_avg_sq"))
        self.step = Parameter(Tensor(0, ms.float32), name="step")
        self.beta1, self.beta2, self.eps = options.beta1, options.beta2, options.eps
        self.adam, self.gather = ops.Adam(), ops.AllGather()

    def _new(self, name: str) -> ParameterTuple:
        return ParameterTuple(
            [Parameter(Tensor(np.zeros(s.width, np.float32)), name=f"{name}.{k}") for k, s in enumerate(self.stretches)]
        )

    def construct(self, gradients: tuple[Tensor, ...], lr: Tensor) -> Tensor:  # noqa: D102
        self.step = self.step + 1.0
        power1 = ops.pow(Tensor(self.beta1, ms.float32), self.step)
        power2 = ops.pow(Tensor(self.beta2, ms.float32), self.step)
        eps = self.eps * ops.sqrt(1.0 - power2)
        for k in range(self.count):
            piece = self._own(self.parameters, k)
            if self.decays[k] > 0:
                piece = piece * (1.0 - lr * self.decays[k])
            ops.assign(self.pieces[k], piece)
            self.adam(
                self.pieces[k], self.first[k], self.second[k], power1, power2, lr,
                self.beta1, self.beta2, eps, self._own(gradients, k),
            )  # fmt: skip
            whole = self.gather(self.pieces[k])
            at = 0
            for i in self.members[k]:
                weight = self.parameters[i]
                ops.assign(weight, whole[at : at + weight.size].reshape(weight.shape))
                at = at + weight.size
        return self.step

    def _own(self, tensors: tuple[Tensor, ...], k: int) -> Tensor:
        """Return this rank's piece of some tensors laid end to end."""
        parts: tuple[Tensor, ...] = ()
        for i in self.members[k]:
            parts = (*parts, tensors[i].reshape(-1))
        if self.filling[k] > 0:
            parts = (*parts, ops.zeros((self.filling[k],), ms.float32))
        start = self.rank * self.widths[k]
        return ops.concat(parts)[start : start + self.widths[k]]

    @property
    def state_bytes(self) -> int:
        """Bytes of the state that this rank holds."""
        return sum(p.nbytes for p in (*self.first, *self.second))

    def snapshot(self) -> dict[str, Array]:
        """Return the whole state by the names of ``AdamW``; every rank must call it at the same time."""
        arrays = {"step": self.step.asnumpy()}
        for name, pieces in (("exp_avg", self.first), ("exp_avg_sq", self.second)):
            for k, piece in enumerate(pieces):
                flat = self.gather(piece).asnumpy()
                for i, start, stop in self._places(k):
                    weight = self.parameters[i]
                    arrays[f"{name}.{weight.name}"] = flat[start:stop].reshape(weight.shape)
        return arrays

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take this rank's share of the state that a snapshot holds, made on any number of ranks."""
        self.step.set_data(Tensor(arrays["step"]))
        for name, pieces in (("exp_avg", self.first), ("exp_avg_sq", self.second)):
            for k, piece in enumerate(pieces):
                flat = np.zeros(self.widths[k] * self.ranks, np.float32)
                for i, start, stop in self._places(k):
                    flat[start:stop] = arrays[f"{name}.{self.parameters[i].name}"].reshape(-1)
                piece.set_data(Tensor(flat.reshape(self.ranks, -1)[self.rank]))

    def _places(self, k: int) -> Iterator[tuple[int, int, int]]:
        """Yield (parameter, start, stop) of the members of a stretch."""
        at = 0
        for i in self.members[k]:
            yield i, at, at + self.parameters[i].size
            at += self.parameters[i].size
