"""Numbers that are known only within a range."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

_RESAMPLES = 200
_TAILS = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Range:
    """A number and the bounds between which it lies in 19 of 20 cases."""

    low: float
    mid: float
    high: float

    @classmethod
    def exact(cls, value: float) -> "Range":
        """Return a number that is known."""
        return cls(value, value, value)

    def __mul__(self, factor: float) -> "Range":
        return Range(self.low * factor, self.mid * factor, self.high * factor)

    def plus(self, other: "Range") -> "Range":
        """Return the sum with a number whose error may go the same way."""
        return Range(self.low + other.low, self.mid + other.mid, self.high + other.high)


def per_byte(amounts: F64, sizes: F64, groups: npt.NDArray[np.int64], seed: int) -> Range:
    """Return the ratio of two sums over a sample, with its bootstrap range (Efron 1979).

    Args:
        amounts: of each drawn stretch, float64[n].
        sizes: bytes of each, float64[n].
        groups: which stretches were drawn together, int64[n] from 0 up; groups are resampled whole.
        seed: of the resampling.
    """
    count = int(groups.max()) + 1
    a, b = np.bincount(groups, amounts, count), np.bincount(groups, sizes, count)
    weights = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), _RESAMPLES)
    ratios = (weights @ a) / np.maximum(weights @ b, 1)
    low, high = np.percentile(ratios, _TAILS)
    return Range(float(low), float(a.sum() / max(1.0, b.sum())), float(high))


def poisson_bounds(count: int) -> tuple[float, float]:
    """Return the means between which a Poisson count's lies with 95 % confidence.

    Garwood 1936, in the approximation of Wilson and Hilferty 1931; 3.7 above a count of 0.
    """
    z = 1.96
    low = count * (1 - 1 / (9 * count) - z / (3 * count**0.5)) ** 3 if count else 0.0
    above = count + 1
    return low, above * (1 - 1 / (9 * above) + z / (3 * above**0.5)) ** 3
