"""Texts -> what near-duplicate search keeps of them: their lengths, and band keys.

A document may be of several texts, whose shingles are united.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mrprep.minhash.bands import Banding, band_keys
from mrprep.minhash.shingles import shingle_hashes, windows
from mrprep.minhash.signatures import Kernel, signatures, union
from mrprep.minhash.units import unit_hashes
from mrprep.order import I64, U64

Flags = npt.NDArray[np.bool_]

BATCH = 1 << 18
"""Bytes of text in work at a time, except for a longer document; four times as much halves the speed."""


class Sketch(NamedTuple):
    """Of ``d`` documents, of which ``k`` have two different shingles or more."""

    units: I64
    """int64[d], units in each."""
    banded: I64
    """int64[k], which documents have band keys."""
    keys: U64
    """uint64[bands, k], their keys."""


class Method(NamedTuple):
    """What decides the numbers."""

    banding: Banding
    ngram: int = 5
    seed: int = 1
    kernel: Kernel = "rensa"


def sketch(data: bytes | memoryview, offsets: I64, documents: I64, method: Method) -> Sketch:
    """Sketch documents.

    Args:
        data: texts in UTF-8, one after the other.
        offsets: int64[t + 1], where each text begins and the last one ends.
        documents: int64[d], the first text of each document, from 0 up.
        method: bands, units a shingle, seed, kernel.
    """
    units, banded, keys = [np.empty(0, np.int64)], [np.empty(0, np.int64)], []
    for first, last in _batches(offsets, documents):
        one = _sketch_batch(data, *_texts_of(offsets, documents, first, last), method)
        units.append(one.units)
        banded.append(one.banded + first)
        keys.append(one.keys)
    none = np.empty((method.banding.bands, 0), np.uint64)
    return Sketch(np.concatenate(units), np.concatenate(banded), np.concatenate([none, *keys], axis=1))


def shingle_sets(data: bytes | memoryview, offsets: I64, documents: I64, ngram: int) -> Iterator[tuple[U64, I64]]:
    """Yield the shingles of some documents at a time, sorted and unique within each, and how many each has.

    Args:
        data: texts in UTF-8, one after the other.
        offsets: int64[t + 1], where each text begins and the last one ends.
        documents: int64[d], the first text of each document, from 0 up.
        ngram: units a shingle.
    """
    for first, last in _batches(offsets, documents):
        texts, begins = _texts_of(offsets, documents, first, last)
        units, counts = unit_hashes(data, texts)
        hashes, made = shingle_hashes(units, counts, ngram)
        yield _unique(hashes, np.add.reduceat(made, begins))


def _unique(hashes: U64, counts: I64) -> tuple[U64, I64]:
    """Sort each run of that many hashes, and leave out repeats."""
    ends = np.cumsum(counts)
    for start, stop in zip((ends - counts).tolist(), ends.tolist(), strict=True):
        hashes[start:stop].sort()
    new = np.ones(hashes.size, bool)
    np.not_equal(hashes[1:], hashes[:-1], out=new[1:])
    new[(ends - counts)[counts > 0]] = True
    total = np.concatenate([[0], np.cumsum(new)])
    return hashes[new], total[ends] - total[ends - counts]


def _batches(offsets: I64, documents: I64) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents that are together no longer than a batch, or a single longer one."""
    bounds = offsets[np.append(documents, offsets.size - 1)]
    first = 0
    while first < documents.size:
        last = int(np.searchsorted(bounds, bounds[first] + BATCH, side="right")) - 1
        yield first, max(last, first + 1)
        first = max(last, first + 1)


def _texts_of(offsets: I64, documents: I64, first: int, last: int) -> tuple[I64, I64]:
    """Return the offsets of the texts of a range of documents, and which of these texts begins each."""
    stop = int(documents[last]) if last < documents.size else offsets.size - 1
    return offsets[documents[first] : stop + 1], documents[first:last] - documents[first]


def _sketch_batch(data: bytes | memoryview, offsets: I64, documents: I64, method: Method) -> Sketch:
    units, counts = unit_hashes(data, offsets)
    lengths = np.add.reduceat(counts, documents)
    if documents.size == 1:
        signs, varied = _one_document(units, counts, method)
    else:
        hashes, made = shingle_hashes(units, counts, method.ngram)
        totals = np.add.reduceat(made, documents)
        hashes, totals, varied = _of_several(hashes, totals)
        signs = signatures(hashes, totals, _permutations(method), method.seed, method.kernel)
    return Sketch(lengths, np.flatnonzero(varied), band_keys(signs, method.banding))


def _one_document(units: U64, counts: I64, method: Method) -> tuple[U64, Flags]:
    """Sketch a document that may be long, a window of it at a time."""
    signs, lowest, highest = [], [], []
    for text in np.split(units, np.cumsum(counts)[:-1]):
        for window in windows(text, method.ngram):
            hashes, made = shingle_hashes(window, np.array([window.size]), method.ngram)
            if hashes.size:
                signs.append(signatures(hashes, made, _permutations(method), method.seed, method.kernel))
                lowest.append(hashes.min())
                highest.append(hashes.max())
    varied = np.array([bool(signs) and min(lowest) != max(highest)])
    whole = np.concatenate([np.empty((0, _permutations(method)), np.uint64), *signs])
    return union(whole, np.zeros(1, np.int64)) if varied[0] else whole[:0], varied


def _of_several(hashes: U64, counts: I64) -> tuple[U64, I64, Flags]:
    """Leave out the documents that have fewer than two different shingles; mark those that stay."""
    varied = counts > 1
    hashes, counts = hashes[np.repeat(varied, counts)], counts[varied]
    starts = np.cumsum(counts) - counts
    if starts.size:
        differ = np.minimum.reduceat(hashes, starts) != np.maximum.reduceat(hashes, starts)
        hashes, counts = hashes[np.repeat(differ, counts)], counts[differ]
        varied[varied] = differ
    return hashes, counts, varied


def _permutations(method: Method) -> int:
    return method.banding.bands * method.banding.rows
