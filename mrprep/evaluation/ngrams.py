"""The n-grams of evaluation files, and which of a batch of n-grams are among them.

An n-gram is a 64-bit hash of `ngram` units (see minhash/units.py: words, or characters of scripts without spaces,
case, width and punctuation folded away). Asking costs about 1 ns an n-gram while few are known ones: a table of one
bit of the hash each sorts out most.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mrprep.evaluation.items import texts_of
from mrprep.minhash.documents import Documents
from mrprep.order import I64, U64

_SPREAD = 16
"""Places in the table for each n-gram, at least."""


class Known(NamedTuple):
    """The n-grams of evaluation files."""

    hashes: U64
    """Sorted, unique."""
    texts: npt.NDArray[np.int32]
    """Which text each is of, the first that has it."""
    places: list[str]
    """``file:line`` of each text."""
    table: npt.NDArray[np.bool_]

    def among(self, hashes: U64) -> npt.NDArray[np.bool_]:
        """Mark those that are known."""
        found: npt.NDArray[np.bool_] = self.table[hashes & np.uint64(self.table.size - 1)]
        maybe = np.flatnonzero(found)
        found[maybe] = self.hashes[self._at(hashes[maybe])] == hashes[maybe]
        return found

    def where(self, ngram: np.uint64) -> str:
        """Return ``file:line`` of a known n-gram."""
        return self.places[int(self.texts[self._at(np.array([ngram]))[0]])]

    def _at(self, hashes: U64) -> I64:
        return np.minimum(np.searchsorted(self.hashes, hashes), self.hashes.size - 1)


def write_ngrams(files: Sequence[Path], ngram: int, out: Path) -> None:
    """Write ``hashes.npy``, ``texts.npy`` and ``index.json`` (``places``; ``short``: texts without an n-gram).

    Raises:
        MrprepError: a file cannot be read.
    """
    named = [(f"{path.name}:{line}", text.encode()) for path in files for line, text in texts_of(path)]
    hashes, counts = _ngrams([text for _, text in named], ngram)
    unique, first = np.unique(hashes, return_index=True)
    np.save(out / "hashes.npy", unique)
    np.save(out / "texts.npy", np.repeat(np.arange(len(named), dtype=np.int32), counts)[first])
    index = {"places": [place for place, _ in named], "short": int(np.count_nonzero(counts == 0))}
    (out / "index.json").write_text(json.dumps(index))


def _ngrams(texts: Sequence[bytes], ngram: int) -> tuple[U64, I64]:
    """Return the n-grams of all texts, and how many each has: none if it is shorter than one."""
    documents = Documents(b"".join(texts), np.cumsum([0, *map(len, texts)]), np.arange(len(texts)))
    hashes, counts = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for _, batch in documents.batches():
        found, made, units = _of_long(batch, ngram) if batch.long else batch.shingles(ngram)
        whole = np.repeat(units >= ngram, made)
        hashes.append(found[whole])
        counts.append(np.where(units >= ngram, made, 0))
    return np.concatenate(hashes), np.concatenate(counts)


def _of_long(text: Documents, ngram: int) -> tuple[U64, I64, I64]:
    windows = list(text.windows(ngram))
    found = np.concatenate([hashes for hashes, _ in windows])
    return found, np.array([found.size]), np.array([sum(units for _, units in windows)])


@lru_cache(maxsize=1)
def load_known(path: Path) -> Known:
    """Return what `write_ngrams` wrote, once a process."""
    hashes, texts = np.load(path / "hashes.npy", mmap_mode="r"), np.load(path / "texts.npy", mmap_mode="r")
    table = np.zeros(1 << max(10, (hashes.size * _SPREAD - 1).bit_length()), bool)
    table[hashes & np.uint64(table.size - 1)] = True
    return Known(hashes, texts, json.loads((path / "index.json").read_text())["places"], table)
