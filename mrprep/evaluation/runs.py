"""Stretches of a text that evaluation sets hold too.

Neighbouring known n-grams make a run. A run counts when it is as long as `ngram` words: a word counts 1, a Han
character 0.6 (a Chinese word has about 1.65), a character of kana, Hangul, Thai and the like 0.3. So 13 English words
count, and 22 Chinese characters, but not 13, which any fixed phrase or title has.
"""

from typing import NamedTuple

import numpy as np

from mrprep.evaluation.ngrams import Known
from mrprep.minhash.shingles import shingle_hashes
from mrprep.minhash.units import kinds, located_units
from mrprep.order import I64

HAN, ALONE = 0.6, 0.3
"""Words that a character counts for."""


class Run(NamedTuple):
    """A stretch of characters of a text."""

    start: int
    end: int
    place: str
    """``file:line`` of the evaluation text."""


def runs(text: str, known: Known, ngram: int) -> list[Run]:
    """Return the runs in a text that count, in order."""
    units, starts = located_units(text.encode())
    if units.size < ngram:
        return []
    hashes, _ = shingle_hashes(units, np.array([units.size]), ngram)
    first, last = _stretches(np.flatnonzero(known.among(hashes)))
    kind = kinds(units)
    words = np.concatenate([[0.0], np.cumsum(np.select([kind == "w", kind == "h"], [1.0, HAN], ALONE))])
    ends = np.append(starts[1:], len(text))
    return [
        Run(
            int(starts[a]), int(starts[a]) + len(text[starts[a] : ends[b + ngram - 1]].rstrip()), known.where(hashes[a])
        )
        for a, b in zip(first.tolist(), last.tolist(), strict=True)
        if words[b + ngram] - words[a] >= ngram - 1e-6
    ]


def _stretches(at: I64) -> tuple[I64, I64]:
    """Return the first and the last of each stretch of numbers that follow each other."""
    breaks = np.flatnonzero(np.diff(at) > 1)
    return at[np.concatenate([[0], breaks + 1])] if at.size else at, at[np.append(breaks, -1)] if at.size else at
