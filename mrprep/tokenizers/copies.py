"""How often each document of a weighted source is written, and the shuffle key of each copy."""

import numpy as np
import numpy.typing as npt

from mrprep.order import I64, U64, shuffle_keys

_SALT = 0x73616D706C65


def copies(seed: int, ids: U64, weights: npt.NDArray[np.float64]) -> I64:
    """Return how often each document is written, int64[n].

    That is the whole part of its weight, and once more for a seeded share of the documents as large as the
    rest.
    """
    whole = np.floor(weights)
    drawn = shuffle_keys(seed ^ _SALT, ids).astype(np.float64) / 2.0**64
    return np.asarray(whole + (drawn < weights - whole), np.int64)


def keys(seed: int, ids: U64, copy: I64) -> U64:
    """Return ``order.shuffle_keys`` of each (document, copy), uint64[n]."""
    out = np.zeros(ids.size, np.uint64)
    for number in np.unique(copy).tolist():
        these = copy == number
        out[these] = shuffle_keys(seed, ids[these], number)
    return out
