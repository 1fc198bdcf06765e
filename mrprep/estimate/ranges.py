"""Numbers that are known only within a range."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

_RESAMPLES = 200
_TAILS = (2.5, 97.5)
_FEW = 4
"""Drawn stretches of a kind under which it has no ratio of its own."""


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


def per_byte(amounts: F64, sizes: F64, groups: I64, seed: int) -> Range:
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


def by_kind(amounts: F64, sizes: F64, kinds: I64, totals: F64, groups: I64, seed: int) -> Range:
    """Return an amount of the whole, of which a sample is known and the bytes of each kind, with its bootstrap range.

    The post-stratified ratio estimator (Cochran 1977, "Sampling techniques", section 5A.9): where kinds of text differ
    in tokens a byte, it does not matter how much of each kind came into the sample.

    Args:
        amounts: of each drawn stretch, float64[n].
        sizes: bytes of each, float64[n].
        kinds: of each, int64[n], places in ``totals``.
        totals: bytes of the whole by kind; of a kind of which few stretches were drawn the others' ratio is taken.
        groups: as for ``per_byte``.
        seed: of the resampling.
    """
    drawn = np.bincount(kinds, minlength=totals.size)
    own = np.where(drawn >= _FEW, np.arange(totals.size), int(drawn.argmax()))
    kinds, whole = own[kinds], np.bincount(own, totals, totals.size).astype(np.float64)
    count = int(groups.max()) + 1
    place = groups * totals.size + kinds
    a, b = (np.bincount(place, of, count * totals.size).reshape(count, -1) for of in (amounts, sizes))
    weights = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), _RESAMPLES)
    low, high = np.percentile(_scaled(weights @ a, weights @ b, whole), _TAILS)
    mid = _scaled(a.sum(axis=0)[None], b.sum(axis=0)[None], whole)
    return Range(float(low), float(mid[0]), float(high))


def _scaled(a: F64, b: F64, whole: F64) -> F64:
    """Return the amounts of the whole; of a kind that a resample lacks, by the ratio over all that it has."""
    over_all = a.sum(axis=1, keepdims=True) / np.maximum(b.sum(axis=1, keepdims=True), 1)
    ratios = np.where(b > 0, a / np.maximum(b, 1), over_all)
    return np.asarray(ratios @ whole)


def poisson_bounds(count: int) -> tuple[float, float]:
    """Return the means between which a Poisson count's lies with 95 % confidence.

    Garwood 1936, in the approximation of Wilson and Hilferty 1931; 3.7 above a count of 0.
    """
    z = 1.96
    low = count * (1 - 1 / (9 * count) - z / (3 * count**0.5)) ** 3 if count else 0.0
    above = count + 1
    return low, above * (1 - 1 / (9 * above) + z / (3 * above**0.5)) ** 3
