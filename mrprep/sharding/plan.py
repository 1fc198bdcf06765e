"""What packing comes to: which stretch of which document stands where in which row. 40 B a segment."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mrprep.runs import runs

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Plan:
    """Segments in order of (row, at): document ``document`` from its token ``offset`` on stands at ``at``."""

    seq: int
    rows: int
    tokens: int
    """Tokens of all documents (T)."""
    row: I64
    at: I64
    document: I64
    offset: I64
    length: I64

    @property
    def cuts(self) -> int:
        """Tokens that stand in two rows, because a cut goes through them."""
        return int(self.length.sum()) - self.tokens

    @property
    def padding(self) -> int:
        """Places of all rows that hold no token."""
        return self.rows * (self.seq + 1) - self.tokens - self.cuts

    @property
    def targets(self) -> int:
        """Tokens to be predicted: every token of a row but its first."""
        return self.tokens + self.cuts - self.rows


def in_order(seq: int, rows: int, tokens: int, segments: tuple[I64, I64, I64, I64, I64]) -> Plan:
    """Sort ``segments`` (row, at, document, offset, length) into a plan."""
    order = np.lexsort((segments[1], segments[0]))
    row, at, document, offset, length = (column[order] for column in segments)
    return Plan(seq, rows, tokens, row, at, document, offset, length)


def expand(counts: I64) -> tuple[I64, I64]:
    """Return for each item, ``counts[i]`` times: i, and 0, 1, … within it."""
    item = np.repeat(np.arange(len(counts)), counts)
    return item, runs(np.zeros_like(counts), counts)
