"""Documents of one or several texts -> their shingles, a batch of documents or a window of a long one at a time."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mrprep.minhash.shingles import shingle_hashes
from mrprep.minhash.units import BLOCK, unit_blocks, unit_hashes
from mrprep.order import I64, U64


class Documents(NamedTuple):
    """Texts in UTF-8, one after the other, and which of them make a document."""

    data: bytes | memoryview
    offsets: I64
    """int64[t + 1], where each text begins and the last one ends."""
    first: I64
    """int64[d], the first text of each document, from 0 up; a document has one at least."""

    def batches(self) -> Iterator[tuple[int, "Documents"]]:
        """Yield documents that are together no longer than a block, or a single longer one, and its number."""
        texts = np.append(self.first, self.offsets.size - 1)
        bounds = self.offsets[texts]
        low = 0
        while low < self.first.size:
            high = int(np.searchsorted(bounds, bounds[low] + BLOCK, side="right")) - 1
            high = max(high, low + 1)
            offsets = self.offsets[texts[low] : texts[high] + 1]
            yield low, Documents(self.data, offsets, self.first[low:high] - self.first[low])
            low = high

    @property
    def long(self) -> bool:
        """Whether they do not fit into a block."""
        return int(self.offsets[-1] - self.offsets[0]) > BLOCK

    def shingles(self, n: int) -> tuple[U64, I64, I64]:
        """Return the shingles of all documents; how many each has, and how many units, int64[d]."""
        begin, end = int(self.offsets[0]), int(self.offsets[-1])
        units, counts = unit_hashes(bytes(self.data[begin:end]), self.offsets - begin)
        hashes, made = shingle_hashes(units, counts, n)
        return hashes, np.add.reduceat(made, self.first), np.add.reduceat(counts, self.first)

    def windows(self, n: int) -> Iterator[tuple[U64, int]]:
        """Yield the same shingles in the memory of a block, without saying which document they are of.

        With each window comes how many units it goes on by; it may be empty.
        """
        for start, stop in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            yield from _windows(unit_blocks(self.data, start, stop), n)


def _windows(blocks: Iterator[U64], n: int) -> Iterator[tuple[U64, int]]:
    """Yield the shingles of one text of which the units come in blocks."""
    carried = np.empty(0, np.uint64)
    total = 0
    for block in blocks:
        units = np.concatenate([carried, block])
        total += block.size
        whole = units if units.size >= n else units[:0]
        yield shingle_hashes(whole, np.array([whole.size]), n)[0], block.size
        carried = units[max(0, units.size - n + 1) :]
    if 0 < total < n:
        yield shingle_hashes(carried, np.array([carried.size]), n)[0], 0
