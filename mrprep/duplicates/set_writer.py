"""Shingle sets of documents, written one after the other into a file, in memory that no document's length changes."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import numpy as np

from mrprep.duplicates.texts import Batch
from mrprep.minhash.documents import Documents
from mrprep.minhash.sets import shingle_sets
from mrprep.order import I64, U64

LONG = 4 << 20
"""Bytes of text from which a document's shingles are sorted by way of the disk."""
_RANGES = 64
_SHIFT = np.uint64(64 - 6)


class SetWriter:
    """Appends sets, each sorted and without repeats, to a file.

    Args:
        file: to write to.
        ngram: units a shingle.
        scratch: a directory in which files of long documents may lie for a while.
    """

    def __init__(self, file: BinaryIO, ngram: int, scratch: Path) -> None:
        self._file, self._ngram, self._scratch = file, ngram, scratch
        self._sizes = [np.empty(0, np.int64)]
        self._long: _LongSet | None = None

    @property
    def sizes(self) -> I64:
        """How many shingles each set so far has."""
        return np.concatenate(self._sizes)

    def add(self, batch: Batch) -> None:
        """Write the sets of these documents, but for one that goes on; that one when it ends."""
        for documents, is_first, is_last in _stretches(batch):
            goes_on = is_last and batch.goes_on
            alone = documents.first.size == 1
            if alone and (goes_on or (is_first and batch.continues) or _size(documents) > LONG):
                self._grow(documents, ends=not goes_on)
            else:
                self._write(documents)

    def _grow(self, document: Documents, *, ends: bool) -> None:
        self._long = self._long or _LongSet(self._scratch)
        for window, _ in document.windows(self._ngram):
            self._long.add(window)
        if ends:
            self._sizes.append(np.array([self._long.write(self._file)]))
            self._long = None

    def _write(self, documents: Documents) -> None:
        for shingles, counts in shingle_sets(documents, self._ngram):
            shingles.tofile(self._file)
            self._sizes.append(counts)


def _size(documents: Documents) -> int:
    return int(documents.offsets[-1] - documents.offsets[0])


def _stretches(batch: Batch) -> Iterator[tuple[Documents, bool, bool]]:
    """Yield documents, whether the first and whether the last is among them: alone what is long or not whole."""
    documents = batch.documents
    bounds = np.append(documents.first, documents.offsets.size - 1)
    alone = np.diff(documents.offsets[bounds]) > LONG
    alone[0] |= batch.continues
    alone[-1] |= batch.goes_on
    cuts = np.flatnonzero(np.concatenate([[True], alone[1:] | alone[:-1], [True]]))
    for low, high in pairwise(cuts.tolist()):
        offsets = documents.offsets[bounds[low] : bounds[high] + 1]
        own = Documents(documents.data, offsets, documents.first[low:high] - documents.first[low])
        yield own, low == 0, high == documents.first.size


class _LongSet:
    """The shingles of one document, kept in files by range, so that a range at a time is sorted."""

    def __init__(self, scratch: Path) -> None:
        self._folder = TemporaryDirectory(dir=scratch)
        self._files = [Path(self._folder.name, str(number)) for number in range(_RANGES)]

    def add(self, shingles: U64) -> None:
        ordered = np.sort(shingles)
        cuts = np.searchsorted(ordered >> _SHIFT, np.arange(1, _RANGES, dtype=np.uint64))
        for path, own in zip(self._files, np.split(ordered, cuts), strict=True):
            with path.open("ab") as file:
                own.tofile(file)

    def write(self, out: BinaryIO) -> int:
        """Append the set to a file and return its size; the shingles are gone then."""
        size = 0
        for path in self._files:
            own = np.unique(np.fromfile(path, np.uint64)) if path.exists() else np.empty(0, np.uint64)
            own.tofile(out)
            size += own.size
        self._folder.cleanup()
        return size
