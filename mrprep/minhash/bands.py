"""Signatures -> band keys, and the choice of bands and rows (Leskovec, Rajaraman, Ullman, *Mining of Massive
Datasets*, 3.4): two texts are candidates when all rows of at least one band agree.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mrprep.order import U64, mix

F64 = npt.NDArray[np.float64]
_NEVER = 1e-300
"""A probability so low that its reciprocal may overflow."""


class Banding(NamedTuple):
    """How a signature is cut."""

    bands: int
    rows: int


def probability(similarity: F64, banding: Banding) -> F64:
    """Return how likely texts of these Jaccard similarities become candidates: 1 - (1 - s^rows)^bands."""
    curve: F64 = 1.0 - (1.0 - similarity**banding.rows) ** banding.bands
    return curve


def choose(threshold: float, recall: float, permutations: int) -> Banding:
    """Return the banding with the fewest false candidates of those with that recall *at* the threshold.

    False candidates are the area under the probability curve below the threshold. They cost only
    verification, while what is missed here is missed for good.

    Raises:
        ValueError: that recall needs more permutations, or a number is out of its range.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold is a similarity above 0 and at most 1, not {threshold}")
    if not 0 < recall < 1:
        raise ValueError(f"recall is a share between 0 and 1, not {recall}")
    grid = np.linspace(0.0, threshold, 513)
    fitting = []
    for rows in range(1, permutations + 1):
        bands = _bands_needed(threshold**rows, recall)
        if bands * rows <= permutations:
            fitting.append((float(probability(grid, Banding(bands, rows)).mean()), Banding(bands, rows)))
    if not fitting:
        needed = _bands_needed(threshold, recall)
        raise ValueError(f"recall {recall} at {threshold} needs {needed} permutations or more, not {permutations}")
    return min(fitting)[1]


def _bands_needed(agree: float, recall: float) -> int:
    if agree >= 1.0:
        return 1
    if agree < _NEVER:
        return 1 << 62
    return math.ceil(math.log1p(-recall) / math.log1p(-agree))


def band_keys(signs: U64, banding: Banding) -> U64:
    """Return a key for each band of each signature, uint64[bands, t]; equal rows give equal keys."""
    texts = len(signs)
    factors = mix(np.arange(banding.rows, dtype=np.uint64)) | np.uint64(1)
    rows = signs[:, : banding.bands * banding.rows].reshape(texts, banding.bands, banding.rows)
    keys = np.zeros((texts, banding.bands), np.uint64)
    for row, factor in enumerate(factors):
        keys += rows[:, :, row] * factor
    return np.ascontiguousarray(mix(keys).T)
