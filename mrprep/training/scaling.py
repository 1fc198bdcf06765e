"""The loss scale within the compiled step: the loss made large, the gradients small again, the scale kept in bounds.

The step's losses are sums, but a scale is known for means: 65,536 is where float16 training begins. So the sum is
first divided by the least power of two from its tokens up.
"""

from collections.abc import Callable
from typing import Any

from mindspore import Tensor, amp, ops

Compiled = Callable[..., Any]


def power_of_two(count: int) -> float:
    """Return the least power of two from ``count`` up."""
    return float(1 << (count - 1).bit_length())


_power_of_two = ops.constexpr(power_of_two)


def scaling(scaler: amp.DynamicLossScaler | None) -> tuple[Compiled, Compiled, Compiled]:
    """Return the three functions of a step, which do nothing without a scaler.

    amplify: (summed loss, tokens) -> what is differentiated.
    restore: (its gradients, tokens) -> gradients of the summed loss.
    adjust: norm of the whole step -> the scale it was made with; afterwards the scale is that of the next.
    """
    return _nothing() if scaler is None else _dynamic(scaler)


def _nothing() -> tuple[Compiled, Compiled, Compiled]:
    def same(value: Any, count: int) -> Any:  # noqa: ARG001
        return value

    def one(norm: Tensor) -> Tensor:
        return ops.ones_like(norm)

    return same, same, one


def _dynamic(scaler: amp.DynamicLossScaler) -> tuple[Compiled, Compiled, Compiled]:
    def amplify(loss: Tensor, count: int) -> Tensor:
        return loss * (scaler.scale_value / _power_of_two(count))

    def restore(gradients: tuple[Tensor, ...], count: int) -> tuple[Tensor, ...]:
        factor = _power_of_two(count) / scaler.scale_value
        restored: tuple[Tensor, ...] = ()
        for g in gradients:
            restored = (*restored, g * factor)
        return restored

    def adjust(norm: Tensor) -> Tensor:
        used = scaler.scale_value * 1.0
        scaler.adjust(ops.isfinite(norm))
        return used

    return amplify, restore, adjust
