"""Which losses and gradient norms are out of line with the steps before them; plain Python, the same on every rank.

A value is far out when it lies above the median of the last ``WINDOW`` good steps by more than ``DEVIATIONS``
robust standard deviations (1.4826 x the median absolute deviation; Hampel 1974). Norms are compared by their
logarithm, as their spread is one of factors. Both spreads have a floor, so that a calm run does not stop at a shrug.
"""

import math
from collections import deque
from collections.abc import Iterable
from statistics import median

WINDOW = 64
"""Steps looked back on."""
_LEAST = 20
"""Steps before which only values that are not finite are far out."""
DEVIATIONS = 5.0
"""Robust standard deviations above the median."""
_LOSS_FLOOR = 0.03
"""Least standard deviation of the loss, nats."""
_NORM_FLOOR = math.log(3) / DEVIATIONS
"""Least standard deviation of the norm's logarithm: below three times the median nothing is far out."""

Pair = tuple[float, float]


class Recent:
    """Loss and norm of the last good steps."""

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        self._pairs: deque[Pair] = deque(pairs, WINDOW)

    def add(self, loss: float, norm: float) -> None:
        """Note a step whose update was made."""
        self._pairs.append((loss, norm))

    def pairs(self) -> tuple[Pair, ...]:
        """Return them, oldest first, for a checkpoint."""
        return tuple(self._pairs)

    def limits(self) -> Pair:
        """Return the loss and the norm at which a step is far out; infinite while too few are known."""
        if len(self._pairs) < _LEAST:
            return math.inf, math.inf
        losses, norms = zip(*self._pairs, strict=True)
        return _limit(losses, _LOSS_FLOOR), math.exp(_limit([math.log(max(n, 1e-30)) for n in norms], _NORM_FLOOR))


def _limit(values: Iterable[float], floor: float) -> float:
    known = list(values)
    middle = median(known)
    deviation = 1.4826 * median(abs(value - middle) for value in known)
    return middle + DEVIATIONS * max(deviation, floor)
