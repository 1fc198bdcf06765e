"""Documents -> their sets of shingles, sorted and without repeats, for exact comparison."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from mrprep.minhash.documents import Documents
from mrprep.order import I64, U64


def shingle_sets(documents: Documents, ngram: int) -> Iterator[tuple[U64, I64]]:
    """Yield the sets of some documents at a time, in order, and the size of each; ``ngram`` units a shingle."""
    for _, batch in documents.batches():
        if batch.long:
            hashes = _together(batch, ngram)
            yield _unique(hashes, np.array([hashes.size]))
        else:
            hashes, counts, _ = batch.shingles(ngram)
            yield _unique(hashes, counts)


def _together(document: Documents, ngram: int) -> U64:
    """Return the shingles of a long document; pages of the array that are never written cost no memory."""
    hashes = np.empty(int(document.offsets[-1] - document.offsets[0]), np.uint64)
    size = 0
    for window, _ in document.windows(ngram):
        hashes[size : size + window.size] = window
        size += window.size
    return hashes[:size]


def _unique(hashes: U64, counts: I64) -> tuple[U64, I64]:
    """Sort each run of that many hashes in place, and leave out repeats."""
    bounds = np.concatenate([[0], np.cumsum(counts)])
    for start, stop in pairwise(bounds.tolist()):
        hashes[start:stop].sort()
    new = np.ones(hashes.size, bool)
    np.not_equal(hashes[1:], hashes[:-1], out=new[1:])
    new[bounds[:-1][counts > 0]] = True
    before = np.concatenate([[0], np.cumsum(new)])
    return hashes[new], np.diff(before[bounds])
