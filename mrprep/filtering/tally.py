"""How often something is so in each of many texts whose bytes, characters or words lie one after the other."""

from typing import Self

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Tally:
    """Counts by texts.

    Args:
        owners: which texts have entries, int64[n].
        sizes: how many entries each of these has, 1 to 65,535, int64[n].
        texts: how many texts there are, those without entries too.
    """

    def __init__(self, owners: Column, sizes: Column, texts: int) -> None:
        self._owners, self._sizes, self._texts = owners, sizes, texts
        self._starts = np.cumsum(sizes) - sizes

    def __call__(self, flags: Mask) -> Column:
        """Return how many flags of each text are set; some may be missing at the end, or too many be there, unset."""
        counts = np.zeros(self._texts, np.int64)
        if self._owners.size:
            counts[self._owners] = np.add.reduceat(flags.view(np.uint8), self._starts, dtype=np.uint16)
        return counts

    def only(self, those: Mask) -> Self:
        """Return the tally of some texts, whose entries lie by themselves."""
        kept = those[self._owners]
        return type(self)(self._owners[kept], self._sizes[kept], self._texts)

    def entries(self, those: Mask, most: int | None = None) -> Mask:
        """Mark the entries of some texts, or the first ``most`` of each."""
        first = self._sizes if most is None else np.minimum(self._sizes, most)
        marks = np.zeros((len(first), 2), bool)
        marks[:, 0] = those[self._owners]
        return np.repeat(marks.ravel(), np.stack([first, self._sizes - first], axis=1).ravel())
