"""Stretches of a text that evaluation sets hold too.

Neighbouring known n-grams make a run. A run counts when it is worth `ngram` words (see words.py): 13 English words
count, and 22 Chinese characters, but not 13, which any fixed phrase or title has. A short text that is looked for
counts where it stands whole.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mrprep.evaluation.ngrams import Known
from mrprep.evaluation.words import TOLERANCE, running_words
from mrprep.minhash.shingles import shingle_hashes
from mrprep.minhash.units import located_units
from mrprep.order import I64, U64


class Run(NamedTuple):
    """A stretch of characters of a text."""

    start: int
    end: int
    place: str
    """``file:line`` of the evaluation text."""


def runs(text: str, known: Known, ngram: int) -> list[Run]:
    """Return the runs in a text that count, in order, and the short texts that are in none of them."""
    units, starts = located_units(text.encode())
    ends = np.append(starts[1:], len(text))

    def run(first: int, after: int, place: str) -> Run:
        start = int(starts[first])
        return Run(start, start + len(text[start : ends[after - 1]].rstrip()), place)

    long = [run(*found) for found in _of_ngrams(units, known, ngram)]
    short = [run(first, after, known.places[at]) for first, after, at in known.whole.within(units)]
    return sorted([*long, *_outside(short, long)])


def _of_ngrams(units: U64, known: Known, ngram: int) -> Iterator[tuple[int, int, str]]:
    """Yield (first unit, unit after the last, place) of each run that counts."""
    if units.size < ngram:
        return
    hashes, _ = shingle_hashes(units, np.array([units.size]), ngram)
    first, last = _stretches(np.flatnonzero(known.ngrams.among(hashes)))
    words = running_words(units) if first.size else np.empty(0)
    for a, b in zip(first.tolist(), last.tolist(), strict=True):
        if words[b + ngram] - words[a] >= ngram - TOLERANCE:
            yield a, b + ngram, known.where(hashes[a])


def _outside(short: Sequence[Run], long: Sequence[Run]) -> Iterator[Run]:
    """Yield those that are not within one of the long ones, which are in order and do not overlap."""
    starts = [run.start for run in long]
    for run in short:
        at = bisect_right(starts, run.start) - 1
        if at < 0 or run.end > long[at].end:
            yield run


def _stretches(at: I64) -> tuple[I64, I64]:
    """Return the first and the last of each stretch of numbers that follow each other."""
    breaks = np.flatnonzero(np.diff(at) > 1)
    return at[np.concatenate([[0], breaks + 1])] if at.size else at, at[np.append(breaks, -1)] if at.size else at
