"""What every document is, and which stand for the texts of others: files with an entry a document.

Parts are gone through one after the other, hashes a range of them at a time: memory is one part, or one range.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mrprep.builddir.mapped import Array, let_go, mapped, zeros
from mrprep.builddir.tables import TextPart
from mrprep.duplicates.layout import HELD, RANKED, Corpus, documents_in
from mrprep.duplicates.texts import scores_of, sources_of
from mrprep.minhash.buckets import same_key
from mrprep.order import I64, U64

Priorities = npt.NDArray[np.float64]

RANKED_FILE, COPIES = "ranked.npy", "copy_of.npy"
DOCUMENTS_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class ExactUnit:
    """A range of the hashes of all documents."""

    corpus: Corpus
    ranked: Path
    number: int
    ranges: int


@dataclass(frozen=True)
class CopiesUnit:
    """The copies found in all ranges of hashes."""

    ranked: Path
    exact: tuple[Path, ...]


def rank(corpus: Corpus, out: Path) -> None:
    """Write ``ranked.npy``, RANKED[documents]."""
    every = zeros(out / RANKED_FILE, RANKED, sum(documents_in(corpus.parts)))
    base = ordinal = 0
    for part, priorities in zip(corpus.parts, _priorities(corpus), strict=True):
        documents = np.load(part.path / "documents.npy")
        ranked = every[base : base + documents.size]
        ranked["rows"], ranked["units"] = documents["rows"], documents["units"]
        first = np.cumsum(documents["rows"], dtype=np.int64) - documents["rows"]
        ranked["ordinal"], ranked["priority"] = ordinal + first, priorities.take(first)
        base, ordinal = base + documents.size, ordinal + part.rows
        let_go(every)


def find_exact(unit: ExactUnit, out: Path) -> None:
    """Write ``exact.npy``, int64[c, 2]: documents with a hash in this range, and the one that stands for the text."""
    ranked = mapped(unit.ranked / RANKED_FILE)
    hashes, numbers = [np.empty((0, 2), np.uint64)], [np.empty(0, np.int64)]
    base = 0
    for part in unit.corpus.parts:
        every = mapped(part.path / "documents.npy")["exact"]
        mine = np.flatnonzero(every[:, 0] % np.uint64(unit.ranges) == unit.number)
        hashes.append(np.asarray(every[mine]))
        numbers.append(base + mine)
        base += len(every)
    number = np.concatenate(numbers)
    priority = looked_up(ranked["priority"], number)
    first = number[first_copies(np.concatenate(hashes), priority)]
    copies = np.flatnonzero(first != number)
    np.save(out / "exact.npy", np.column_stack([number[copies], first[copies]]))


def write_copies(unit: CopiesUnit, out: Path) -> None:
    """Write ``copy_of.npy``, int64[documents]: which document stands for the text of each, itself if it is no copy."""
    copy_of = zeros(out / COPIES, np.int64, mapped(unit.ranked / RANKED_FILE).size)
    for first, last in stretches(copy_of.size):
        copy_of[first:last] = np.arange(first, last)
        let_go(copy_of)
    for path in unit.exact:
        copies = np.load(path / "exact.npy")
        copy_of[copies[:, 0]] = copies[:, 1]
        let_go(copy_of)


def stretches(documents: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of documents that are in memory at a time."""
    for first in range(0, documents, DOCUMENTS_AT_A_TIME):
        yield first, min(documents, first + DOCUMENTS_AT_A_TIME)


def looked_up(array: Array, documents: I64) -> Array:
    """Return the entries of a mapped array that these documents have, in their order, a stretch in memory at a time."""
    order = np.argsort(documents, kind="stable")
    found = np.empty(documents.size, array.dtype)
    for stretch in stretches(array.size):
        mine = order[slice(*np.searchsorted(documents, stretch, sorter=order))]
        found[mine] = array[documents[mine]]
        let_go(array)
    return found


def first_copies(exact: U64, priority: Priorities) -> I64:
    """Return for each document the first of lowest priority number of those with its hash, uint64[d, 2]."""
    first = np.arange(len(exact))
    some = np.sort(same_key(exact[:, 0]).members)  # the others are alone
    order = some[np.lexsort((priority[some], exact[some, 1], exact[some, 0]))]
    sorted_ = exact[order]
    new = np.ones(order.size, bool)
    np.any(sorted_[1:] != sorted_[:-1], axis=1, out=new[1:])
    starts = np.flatnonzero(new)
    first[order] = np.repeat(order[starts], np.diff(starts, append=order.size))
    return first


def held_documents(corpus: Corpus) -> int:
    """Return how many documents earlier builds hold; they are the first ones."""
    return sum(documents_in(corpus.parts[: corpus.held_parts]))


def _priorities(corpus: Corpus) -> Iterator[Priorities]:
    """Yield the priority of each row of each part."""
    ranks = {name: rank for rank, name in enumerate(corpus.sources)}
    for number, part in enumerate(corpus.parts):
        if number < corpus.held_parts:
            yield np.full(part.rows, HELD)
        elif corpus.best:
            yield _by_score(part)
        else:
            yield _by_source(part, ranks)


def _by_source(part: TextPart, ranks: Mapping[str, int]) -> Priorities:
    """Return the place of each row's source in the order of sources; zeros where there is no order."""
    if not ranks:
        return np.zeros(part.rows)
    names, of_rows = sources_of(part)
    found: Priorities = np.array([ranks[name] for name in names], float).take(of_rows)
    return found


def _by_score(part: TextPart) -> Priorities:
    """Return the lower a number the higher the score; no score is the last."""
    scores = scores_of(part)
    return np.where(np.isnan(scores), np.inf, -scores)
