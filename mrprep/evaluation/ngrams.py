"""The n-grams of evaluation files, the texts among them that are too short for one, and how to ask for both.

An n-gram is a 64-bit hash of `ngram` units (see minhash/units.py: words, or characters of scripts without spaces,
case, width and punctuation folded away).
"""

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mrprep.evaluation.hash_set import HashSet
from mrprep.evaluation.items import texts_of
from mrprep.evaluation.whole import Whole, load_whole, write_whole
from mrprep.evaluation.words import TOLERANCE, words_of
from mrprep.minhash.documents import Documents
from mrprep.minhash.shingles import shingle_hashes
from mrprep.minhash.units import unit_hashes
from mrprep.order import I64, U64


class Known(NamedTuple):
    """What evaluation files hold."""

    ngrams: HashSet
    """Unique."""
    texts: npt.NDArray[np.int32]
    """Which text each n-gram is of, the first that has it."""
    places: list[str]
    """``file:line`` of each text."""
    whole: Whole
    """Short texts that are looked for."""

    def where(self, ngram: np.uint64) -> str:
        """Return ``file:line`` of a known n-gram."""
        return self.places[int(self.texts[self.ngrams.places(np.array([ngram]))[0]])]


class Texts(NamedTuple):
    """Evaluation texts of a block, or one that is longer."""

    ngrams: U64
    made: I64
    """How many n-grams each has."""
    units: U64
    counts: I64
    """How many units each has; of a longer text none are given."""


def write_ngrams(files: Sequence[Path], ngram: int, whole: int | None, out: Path) -> None:
    """Write what `load_known` reads, with ``index.json``: ``places``, and what `index_counts` returns.

    Args:
        files: evaluation files.
        ngram: units an n-gram; texts worth fewer words are short.
        whole: short texts of so many words at least are looked for whole; None for none of them.
        out: directory.

    Raises:
        MrprepError: a file cannot be read.
    """
    by_file = [[(f"{path.name}:{line}", text.encode()) for line, text in texts_of(path)] for path in files]
    named = [each for texts in by_file for each in texts]
    nothing, none = np.empty(0, np.uint64), np.empty(0, np.int64)
    every = [Texts(nothing, none, nothing, none), *_texts([text for _, text in named], ngram)]
    hashes, made, units, counts = (np.concatenate(columns) for columns in zip(*every, strict=True))
    unique, first = np.unique(hashes, return_index=True)
    np.save(out / "hashes.npy", unique)
    np.save(out / "texts.npy", np.repeat(np.arange(len(named), dtype=np.int32), made)[first])
    words = words_of(units, counts)
    short = (words < ngram - TOLERANCE) & ((counts > 0) | (made == 0))
    looked = short & (words >= (np.inf if whole is None else whole - TOLERANCE))
    write_whole(units[np.repeat(looked, counts)], counts[looked], np.flatnonzero(looked), whole or ngram, out)
    told = {"texts": len(named), "short": int(short.sum()), "whole": int(looked.sum()), "empty": by_file.count([])}
    index = {"places": [place for place, _ in named], "length": whole or ngram, "counts": told}
    (out / "index.json").write_text(json.dumps(index))


def _texts(texts: Sequence[bytes], ngram: int) -> Iterator[Texts]:
    documents = Documents(b"".join(texts), np.cumsum([0, *map(len, texts)]), np.arange(len(texts)))
    for low, batch in documents.batches():
        if batch.long:
            hashes = np.concatenate([hashes for hashes, _ in batch.windows(ngram)])
            yield Texts(hashes, np.array([hashes.size]), np.empty(0, np.uint64), np.zeros(1, np.int64))
            continue
        units, counts = unit_hashes(b"".join(texts[low : low + batch.first.size]), batch.offsets - batch.offsets[0])
        hashes, made = shingle_hashes(units, counts, ngram)
        long_enough = counts >= ngram
        yield Texts(hashes[np.repeat(long_enough, made)], np.where(long_enough, made, 0), units, counts)


def index_counts(path: Path) -> dict[str, int]:
    """Return how many ``texts`` there are, ``short`` ones, of these looked for ``whole``, and ``empty`` files."""
    counts: dict[str, int] = json.loads((path / "index.json").read_text())["counts"]
    return counts


@lru_cache(maxsize=1)
def load_known(path: Path) -> Known:
    """Return what `write_ngrams` wrote, once a process."""
    index = json.loads((path / "index.json").read_text())
    hashes, texts = np.load(path / "hashes.npy", mmap_mode="r"), np.load(path / "texts.npy", mmap_mode="r")
    return Known(HashSet.of(hashes), texts, index["places"], load_whole(path, index["length"]))
