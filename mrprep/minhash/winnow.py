"""Shingles -> prints: some of a text's shingles, chosen so that texts with a common stretch have a print in common.

Winnowing (Schleimer, Wilkerson, Aiken 2003): of every `WINDOW` shingles in a row the least is a print. A stretch of
as many shingles in two texts gives both the same print, wherever it stands, and two in 65 shingles are prints. MinHash
does not find a page inside a much longer one, for their Jaccard similarity is low; prints do.
"""

import numpy as np

from mrprep.order import I64, U64

WINDOW = 64
"""A power of two."""


def prints(hashes: U64, counts: I64) -> tuple[U64, I64]:
    """Return the prints of texts, repeats that follow each other once, and which text each is of.

    Args:
        hashes: uint64[s], shingles in order of texts.
        counts: int64[t], how many each text has; one of fewer than `WINDOW` has no print.
    """
    least = hashes
    span = 1
    while span < WINDOW:
        least = np.minimum(least[:-span], least[span:])
        span *= 2
    text = np.repeat(np.arange(counts.size), counts)
    first, last = text[: least.size], text[hashes.size - least.size :]
    whole = first == last
    least, first = least[whole], first[whole]
    new = np.ones(least.size, bool)
    new[1:] = (least[1:] != least[:-1]) | (first[1:] != first[:-1])
    return least[new], first[new]
