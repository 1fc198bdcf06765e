"""Shingle sets of candidates: written part by part while their texts are read, then mapped for comparison."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mrprep.builddir.mapped import let_go, mapped, mapped_raw
from mrprep.builddir.tables import TextPart
from mrprep.duplicates.layout import Found, documents_in
from mrprep.duplicates.set_writer import SetWriter
from mrprep.duplicates.texts import read_documents
from mrprep.minhash.bands import F64
from mrprep.minhash.jaccard import jaccard_of_chunks, jaccard_of_pairs
from mrprep.order import I64, U64

CHUNK = 1 << 19
"""Shingles of a longer set that are in memory at a time."""
SETS = 1 << 10
"""Sets that are read before pages are given back: of each one the system takes in 64 KiB of the file."""
PAIRS = 1 << 18
"""Pairs that are compared at a time."""
TEXT_A_UNIT = 8 << 20
"""Bytes of text.parquet out of which a unit of work reads its candidates."""


@dataclass(frozen=True)
class ShingleUnit:
    """Parts that follow each other."""

    found: Found
    parts: tuple[TextPart, ...]
    base: int
    """Number of their first document."""
    weight: int
    """Bytes of their text.parquet."""
    ngram: int


def shingle_units(found: Found, parts: Sequence[TextPart], ngram: int) -> list[ShingleUnit]:
    """Cut the parts into units of work; those without candidates are left out."""
    candidates = mapped(found.candidates / "ascending.npy")
    if not candidates.size:
        return []
    ends = np.cumsum(documents_in(parts)).tolist()
    units: list[ShingleUnit] = []
    base = start = weight = 0
    for at, part in enumerate(parts, 1):
        weight += (part.path / "text.parquet").stat().st_size
        if weight >= TEXT_A_UNIT or at == len(parts):
            low, high = np.searchsorted(candidates, [base, ends[at - 1]])
            if low < high:
                units.append(ShingleUnit(found, tuple(parts[start:at]), base, weight, ngram))
            base, start, weight = ends[at - 1], at, 0
    return units


def write_shingles(unit: ShingleUnit, out: Path) -> None:
    """Write the shingle sets of the candidates of some parts, in order of documents."""
    ranked = mapped(unit.found.ranked / "ranked.npy")
    candidates = mapped(unit.found.candidates / "ascending.npy")
    wanted = [np.empty(0, np.int64)]
    base = unit.base
    with (out / "shingles.u64").open("wb") as file:
        writer = SetWriter(file, unit.ngram, out)
        for part, documents in zip(unit.parts, documents_in(unit.parts), strict=True):
            mine = np.asarray(candidates[slice(*np.searchsorted(candidates, [base, base + documents]))])
            here = ranked[mine]
            for batch in read_documents(part.path, here["ordinal"] - part.base, here["rows"]):
                writer.add(batch)
            wanted.append(mine)
            base += documents
    np.save(out / "documents.npy", np.concatenate(wanted))
    np.save(out / "starts.npy", np.concatenate([[0], np.cumsum(writer.sizes)]))


class ShingleFiles:
    """Shingle sets of some documents."""

    def __init__(self, paths: Sequence[Path], documents: I64) -> None:
        order = np.argsort(documents, kind="stable")
        wanted = documents[order]
        self.sizes: I64 = np.zeros(documents.size, np.int64)
        """How many shingles each has."""
        self._file, self._at = np.zeros_like(self.sizes), np.zeros_like(self.sizes)
        self._paths = [path / "shingles.u64" for path in paths]
        self._maps: dict[int, U64] = {}
        for number, path in enumerate(paths):
            known = mapped(path / "documents.npy")
            mine = slice(*np.searchsorted(wanted, [known[0], known[-1] + 1]))
            if mine.start < mine.stop:
                which, starts = np.searchsorted(known, wanted[mine]), mapped(path / "starts.npy")
                at, self._maps[number] = order[mine], mapped_raw(self._paths[number], np.uint64)
                self._file[at], self._at[at], self.sizes[at] = number, starts[which], starts[which + 1] - starts[which]

    def jaccard(self, pairs: I64, least: float = 0.0) -> F64:
        """Return the Jaccard of each pair of documents; see `jaccard_of_pairs`."""
        out = np.zeros(len(pairs))
        for begin in range(0, len(pairs), PAIRS):
            some = slice(begin, begin + PAIRS)
            out[some] = self._jaccard(pairs[some], least)
        return out

    def _jaccard(self, pairs: I64, least: float) -> F64:
        long = (self.sizes[pairs] > CHUNK).any(axis=1)
        out = np.zeros(len(pairs))
        out[~long] = jaccard_of_pairs(pairs[~long], self._sets, self.sizes, least)
        for row in np.flatnonzero(long):
            sizes = np.sort(self.sizes[pairs[row]])
            if sizes[0] >= least * sizes[1]:
                out[row] = jaccard_of_chunks(*(self._chunks(int(number)) for number in pairs[row]))
        return out

    def _sets(self, which: I64) -> U64:
        """Return sets one after the other; what is mapped counts as memory until it is let go."""
        found = []
        for begin in range(0, which.size, SETS):
            some = which[begin : begin + SETS]
            places = zip(self._file[some].tolist(), self._at[some].tolist(), self.sizes[some].tolist(), strict=True)
            found.append(np.concatenate([self._maps[file][at : at + size] for file, at, size in places]))
            let_go(*self._maps.values())
        return np.concatenate(found)

    def _chunks(self, number: int) -> Iterator[U64]:
        at, left = int(self._at[number]), int(self.sizes[number])
        with self._paths[self._file[number]].open("rb") as file:
            file.seek(at * 8)
            while left:
                chunk: U64 = np.fromfile(file, np.uint64, min(left, CHUNK))
                left -= chunk.size
                yield chunk
