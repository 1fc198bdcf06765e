"""Which texts are prose: those with the small words of English or Chinese."""

from mrprep.filtering.batch import Batch
from mrprep.filtering.han import ideographs_of
from mrprep.filtering.tally import Mask
from mrprep.filtering.words import words_of

_PROSE, _PROSE_WIDE = 0.26, 0.15
"""Shares of small words from which on there is prose."""


def is_prose(batch: Batch) -> Mask:
    """Mark the texts in which small words of English or Chinese are as frequent as in running text."""
    words = words_of(batch)
    latin = (words.count > 0) & (words.small >= _PROSE * words.count)
    return latin | (ideographs_of(batch).small >= _PROSE_WIDE)
