"""Sorted 64-bit keys of many parts, summed a range of keys at a time; there are as many ranges as it takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

KEYS_A_RANGE = 4 << 20
"""Keys of all parts that one unit of work sums."""
KEYS = "keys.npy"


@dataclass(frozen=True)
class KeyRange:
    """One of `of` equal ranges of 64-bit keys."""

    index: int
    of: int

    def within(self, part: Path) -> slice:
        """Return where this range lies in the ``keys.npy`` (uint64, ascending) of a part."""
        keys = np.load(part / KEYS, mmap_mode="r")
        bounds = [((1 << 64) * at // self.of) for at in (self.index, self.index + 1)]
        low, high = (int(np.searchsorted(keys, np.uint64(at))) if at < 1 << 64 else keys.size for at in bounds)
        return slice(low, high)


def key_ranges(parts: Sequence[Path]) -> list[KeyRange]:
    """Return as many ranges as the keys of all parts take."""
    keys = sum(np.load(part / KEYS, mmap_mode="r").size for part in parts)
    of = max(1, -(-keys // KEYS_A_RANGE))
    return [KeyRange(index, of) for index in range(of)]
