"""An axis: from values to places between 0 and 1, straight or by their logarithm, and the marks on it."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mrprep.pages.numbers import log_ticks, ticks

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Axis:
    """A stretch of numbers."""

    low: float
    """Value at place 0."""
    high: float
    """Value at place 1; above ``low``."""
    log: bool = False
    """Whether places go by the logarithm; ``low`` is above 0 then."""

    def places(self, values: Iterable[float]) -> Floats:
        """Return where values stand; NaN for what has no place."""
        found = np.asarray(list(values), np.float64)
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                found = np.log10(found)
            low, high = np.log10(self.low), np.log10(self.high)
        else:
            low, high = self.low, self.high
        places = (found - low) / (high - low)
        return np.where(np.isfinite(places), places, np.nan)

    def place(self, value: float) -> float:
        """Return where one value stands."""
        return float(self.places([value])[0])

    def ticks(self) -> list[float]:
        """Return round values to mark."""
        return log_ticks(self.low, self.high) if self.log else ticks(self.low, self.high)


def axis(values: Iterable[float], *, log: bool = False, zero: bool = False, margin: float = 0.0) -> Axis:
    """Return an axis that holds all finite values.

    Args:
        values: what is to be shown.
        log: by the logarithm; what is not above 0 is left out.
        zero: begin at 0.
        margin: share of the stretch that is added at both ends.
    """
    found = np.asarray(list(values), np.float64)
    found = found[np.isfinite(found) & ((found > 0) | (not log))]
    low, high = (float(found.min()), float(found.max())) if found.size else (1.0, 10.0)
    if log:
        factor = (high / low) ** margin if high > low else 2.0
        return Axis(low / factor, high * factor, log=True)
    low = min(low, 0.0) if zero else low
    room = (high - low) * margin if high > low else abs(high) * 0.1 or 1.0
    return Axis(low if zero and low == 0 else low - room, high + room)
