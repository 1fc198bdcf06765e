"""Which of many hashes are among a set; about 1 ns each while few are: one bit of the hash sorts out most."""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from mrprep.order import I64, U64

_SPREAD = 16
"""Places in the table for each hash, at least."""


class HashSet(NamedTuple):
    """Hashes of 64 bits."""

    hashes: U64
    """Sorted."""
    table: npt.NDArray[np.bool_]
    """Marks the last bits of those that are in it."""

    @classmethod
    def of(cls, hashes: U64) -> Self:
        """Return the set of sorted hashes."""
        table = np.zeros(1 << max(10, (hashes.size * _SPREAD - 1).bit_length()), bool)
        table[hashes & np.uint64(table.size - 1)] = True
        return cls(hashes, table)

    def among(self, hashes: U64) -> npt.NDArray[np.bool_]:
        """Mark those that are in the set."""
        found: npt.NDArray[np.bool_] = self.table[hashes & np.uint64(self.table.size - 1)]
        maybe = np.flatnonzero(found)
        found[maybe] = self.hashes[self.places(hashes[maybe])] == hashes[maybe]
        return found

    def places(self, hashes: U64) -> I64:
        """Return where each is in the sorted hashes, the first of equal ones; anything if it is not in the set."""
        return np.minimum(np.searchsorted(self.hashes, hashes), self.hashes.size - 1)
