"""How many words units are worth: a word 1, a Han character 0.6 (a Chinese word has about 1.65), a character of kana,
Hangul, Thai and the like 0.3.
"""

import numpy as np
import numpy.typing as npt

from mrprep.minhash.units import kinds
from mrprep.order import I64, U64

HAN, ALONE = 0.6, 0.3
TOLERANCE = 1e-6
"""Of sums, when they are compared with a number of words."""


def running_words(units: U64) -> npt.NDArray[np.float64]:
    """Return float64[units + 1]: how many words come before each unit, and how many all are."""
    kind = kinds(units)
    return np.concatenate([[0.0], np.cumsum(np.select([kind == "w", kind == "h"], [1.0, HAN], ALONE))])


def words_of(units: U64, counts: I64) -> npt.NDArray[np.float64]:
    """Return how many words each of several texts is, given how many units each has."""
    running, ends = running_words(units), np.cumsum(counts)
    total: npt.NDArray[np.float64] = running[ends] - running[ends - counts]
    return total
