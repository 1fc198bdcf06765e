"""Which steps are out of line with those before them; plain Python, the same on every rank.

A loss is far out when it lies above the median of the last ``WINDOW`` good steps by more than ``DEVIATIONS`` robust
standard deviations (1.4826 x the median absolute deviation; Hampel 1974). Norms are compared by their logarithm, as
their spread is one of factors, and by twice as many deviations: a large norm alone does little harm, as the gradient is
clipped, and its tail is heavier than a loss's. Both spreads have a floor, so that a calm run does not stop at a shrug.

One garbage document in a batch of many rows moves neither. So each row is cut into stretches, and the highest mean
loss of one, the peak, is looked at as well. Peaks are far from normal, and higher for a language that is rare in the
mixture: a peak is far out when it lies above the usual loss by more than ``PEAK_FACTOR`` times what the highest tenth
of the last peaks did.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

WINDOW = 64
"""Steps looked back on."""
_LEAST = 20
"""Steps before which only values that are not finite are far out."""
DEVIATIONS = 5.0
"""Robust standard deviations above the median: of losses."""
NORM_DEVIATIONS = 2 * DEVIATIONS
"""Of norms, by their logarithm."""
_LOSS_FLOOR = 0.03
"""Least standard deviation of the loss, nats."""
_NORM_FLOOR = math.log(9) / NORM_DEVIATIONS
"""Least standard deviation of the norm's logarithm: below nine times the median nothing is far out."""

PEAK_FACTOR = 2.0
"""How many times as far above the usual loss as the highest tenth of the peaks a peak may be."""
_PEAK_FLOOR = 1.0
"""Least distance of a peak from the usual loss at which it is far out, nats."""
_STRETCH = 128
"""Least places of a stretch, in longer rows."""


class Seen(NamedTuple):
    """What is known of a step."""

    loss: float
    """Mean, nats a token."""
    norm: float
    """Of the gradient."""
    peak: float
    """Highest mean loss of a stretch."""


Limits = Seen
"""Values at which a step is far out."""
NO_LIMITS = Limits(math.inf, math.inf, math.inf)


def stretch(seq: int) -> int:
    """Return how many places of a row of ``seq`` are looked at together: the least divisor from 128 up."""
    return next((width for width in range(_STRETCH, seq) if seq % width == 0), seq)


class Recent:
    """The last steps whose loss and norm were good."""

    def __init__(self, seen: Iterable[Seen] = ()) -> None:
        self._seen: deque[Seen] = deque(seen, WINDOW)

    def add(self, seen: Seen) -> None:
        """Note a step; one that only its peak made far out too, so that a new kind of text is got used to."""
        self._seen.append(seen)

    def seen(self) -> tuple[Seen, ...]:
        """Return them, oldest first, for a checkpoint."""
        return tuple(self._seen)

    def limits(self) -> Limits:
        """Return what a step must stay below; infinite while too few are known."""
        if len(self._seen) < _LEAST:
            return NO_LIMITS
        losses, norms, peaks = zip(*self._seen, strict=True)
        usual, highest = median(losses), sorted(peaks)[-max(1, len(peaks) // 10)]
        return Limits(
            _limit(losses, DEVIATIONS, _LOSS_FLOOR),
            math.exp(_limit([math.log(max(n, 1e-30)) for n in norms], NORM_DEVIATIONS, _NORM_FLOOR)),
            usual + max(PEAK_FACTOR * (highest - usual), _PEAK_FLOOR),
        )


def _limit(values: Sequence[float], deviations: float, floor: float) -> float:
    middle = median(values)
    deviation = 1.4826 * median(abs(value - middle) for value in values)
    return middle + deviations * max(deviation, floor)
