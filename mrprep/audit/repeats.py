"""Rows that say nothing new: identical to another row, or one token or phrase over and over."""

from collections.abc import Iterator

import numpy as np
import xxhash

from mrprep.audit.block import I32, Block, Example, Mask
from mrprep.audit.finding import Finding, Tally, grade
from mrprep.order import I64

PERIODS = 32
"""Longest phrase, in tokens, that is looked for."""
SAME = 0.8
"""Share of a row's tokens that equal the token one period before: from there on the row is monotone."""
_LEAST = 32
"""Tokens of text that a row must have to be judged."""


class Identical:
    """Rows that equal an earlier row of the sample, the copies aside that a source's weight asks for.

    Args:
        limits: shares of rows at which they are a warning and a failure.
    """

    def __init__(self, limits: tuple[float, float]) -> None:
        self._limits = limits
        self._seen: dict[bytes, tuple[str, int]] = {}
        self._rows = Tally()

    def see(self, block: Block) -> None:
        """Take in a block; 60 bytes a row are kept."""
        copies = np.zeros(block.rows.size, np.int64)
        np.maximum.at(copies, block.stretches.row, block.stretches.copy)
        repeated = list(self._repeated(block, copies))
        self._rows.add(len(repeated), block.rows.size, repeated)

    def _repeated(self, block: Block, copies: I64) -> Iterator[Example]:
        firsts = block.row_examples(np.arange(block.rows.size))
        for row, (first, copy) in enumerate(zip(firsts, copies.tolist(), strict=True)):
            key = xxhash.xxh3_128_digest(block.tokens[row].tobytes())
            twin, twin_copy = self._seen.setdefault(key, (first.row, copy))
            if twin != first.row and twin_copy == copy:
                yield Example(f"{first.row} = {twin}", first.place, first.text)

    def findings(self) -> Iterator[Finding]:
        """Yield the judgement."""
        found = self._rows
        yield found.finding(
            "identical-rows",
            grade(found.share, *self._limits),
            found.share,
            self._limits[0],
            f"{found.hits} of {found.total} rows equal another row of the sample",
            "the same text is trained on again and again: put dedupe into the pipeline, or look at its threshold",
        )


class Monotone:
    """Rows in which almost every token equals the one a few places before.

    Args:
        limits: shares of rows at which they are a warning and a failure.
    """

    def __init__(self, limits: tuple[float, float]) -> None:
        self._limits = limits
        self._rows = Tally()

    def see(self, block: Block) -> None:
        """Take in a block."""
        hits = np.flatnonzero(periodic(block.tokens, block.text) >= SAME)
        self._rows.add(hits.size, block.rows.size, block.row_examples(hits))

    def findings(self) -> Iterator[Finding]:
        """Yield the judgement."""
        found = self._rows
        yield found.finding(
            "monotone-rows",
            grade(found.share, *self._limits),
            found.share,
            self._limits[0],
            f"{found.hits} of {found.total} rows repeat one token or phrase of up to {PERIODS} tokens",
            "a model learns to repeat itself: look where they come from, and let the filter stage drop such text",
        )


def periodic(tokens: I32, text: Mask) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return how periodic each row is, float64[n]: the largest share of tokens equal to the one p before, p to 32.

    Rows with under 32 tokens of text count as 0.
    """
    held = text.sum(axis=1)
    best = np.zeros(len(tokens))
    for period in range(1, min(PERIODS, tokens.shape[1] - 1) + 1):
        same = (tokens[:, period:] == tokens[:, :-period]) & text[:, period:] & text[:, :-period]
        best = np.maximum(best, same.sum(axis=1) / np.maximum(1, held - period))
    return np.where(held >= _LEAST, best, 0.0)
