"""Which documents a list of names means: one pass over the tables of a build, whatever the length of the list."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mrprep.builddir.manifest import Build
from mrprep.order import I64, U64
from mrprep.provenance.called import AT_LINE, ID, paths, whole_paths
from mrprep.provenance.tables import documents

LISTED = 10
"""Documents of one name that are told apart; more are only counted."""
_LINE_BITS = 36
_MATCHES = np.dtype([("name", np.int64), ("id", np.uint64)])
_Matches = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one name means."""

    ids: tuple[int, ...]
    """Of the documents that go by it, the first LISTED."""
    count: int
    """Documents that go by it; of a good name one."""
    before: int | None
    """Of ``file:line``: the last line up to it on which a document of the file begins, if one does."""


def meanings(build: Build, names: Sequence[bytes]) -> list[Meaning]:
    """Return what each of some names means, exactly.

    A name is an id; ``source/path:line`` or ``path:line``, by the line on which the document begins; or either without
    a line, of a file. One that begins with the name of a source and a slash means that source alone.

    Memory: a part of the text tables, and what the list comes to.
    """
    wanted = _Wanted(names, _sources(build))
    for _, table in documents(build, ["id", "source", "path", "line", "piece"]):
        wanted.search(table)
    return wanted.found()


def heads(build: Build, name: bytes) -> bool:
    """Return whether a name begins with that of a source of the build, and a slash."""
    return bool(_heads(name, _sources(build)))


def _heads(name: bytes, sources: Mapping[bytes, str]) -> set[str]:
    ends = [at for at, byte in enumerate(name) if byte == ord("/")]
    return {sources[name[:end]] for end in ends if name[:end] in sources}


def _sources(build: Build) -> dict[bytes, str]:
    names = [str(source["name"]) for source in build.manifest["pipeline"].get("source", ())]
    return {form: name for name in names for form in paths(os.fsencode(name))}


class _Wanted:
    """Names, as arrays that the rows of tables are looked up in, and what was found of them so far."""

    def __init__(self, names: Sequence[bytes], sources: dict[bytes, str]) -> None:
        self._names, self._sources = len(names), sources
        self._files: dict[bytes, int] = {}
        ids, whole, lines = [], [], []
        for at, name in enumerate(names):
            if ID.fullmatch(name):
                ids.append((int(name, 16), at))
                continue
            whole.append((self._number(name), at))
            if match := AT_LINE.fullmatch(name):
                lines.append((self._number(match[1]) << _LINE_BITS | int(match[2]), at))
        self._ids, self._id_names = _rising(ids, np.uint64)
        self._places, self._place_names = _rising(lines, np.int64)
        self._file_names = np.full(len(self._files), -1, np.int64)
        self._file_names[[number for number, _ in whole]] = [at for _, at in whole]
        self._before = np.full(self._places.size, -1, np.int64)
        self._counts = np.zeros(self._names, np.int64)
        self._matches: list[_Matches] = []

    def search(self, table: pa.Table) -> None:
        """Look the rows of a table of documents up."""
        ids, lines = np.asarray(table["id"]), np.asarray(table["line"])
        begins = (ids != 0) & (np.asarray(table["piece"]) == 0)
        mine = np.flatnonzero(begins & np.isin(ids, self._ids))
        self._add(self._id_names[np.searchsorted(self._ids, ids[mine])], ids[mine])
        for numbers in self._numbers(table):
            rows = np.flatnonzero(begins & (numbers >= 0))
            self._add_files(numbers[rows], ids[rows])
            self._add_lines(numbers[rows] << _LINE_BITS | lines[rows], ids[rows])

    def found(self) -> list[Meaning]:
        """Return what each name means."""
        ids: defaultdict[int, dict[int, None]] = defaultdict(dict)
        for matches in self._matches:
            for name, identity in matches.tolist():
                ids[name][identity] = None
        before = np.maximum.accumulate(self._before)
        before[before >> _LINE_BITS != self._places >> _LINE_BITS] = -1
        lines = dict(zip(self._place_names.tolist(), before.tolist(), strict=True))
        return [
            _meaning(tuple(ids.get(at, ())), count, lines.get(at, -1)) for at, count in enumerate(self._counts.tolist())
        ]

    def _number(self, file: bytes) -> int:
        return self._files.setdefault(file, len(self._files))

    def _add(self, names: I64, ids: U64) -> None:
        """Note documents by their names; of those that many go by, the first."""
        self._counts += np.bincount(names, minlength=self._names)
        order = np.argsort(names, kind="stable")
        names, ids = names[order], ids[order]
        among = np.arange(names.size) - np.searchsorted(names, names)
        first = among <= LISTED
        matches = np.empty(int(first.sum()), _MATCHES)
        matches["name"], matches["id"] = names[first], ids[first]
        if matches.size:
            self._matches.append(matches)

    def _add_files(self, numbers: I64, ids: U64) -> None:
        names = self._file_names[numbers]
        self._add(names[names >= 0], ids[names >= 0])

    def _add_lines(self, places: I64, ids: U64) -> None:
        at = np.searchsorted(self._places, places)
        rows = np.flatnonzero(at < self._places.size)
        at, places, ids = at[rows], places[rows], ids[rows]
        np.maximum.at(self._before, at, places)
        exact = self._places[at] == places
        self._add(self._place_names[at[exact]], ids[exact])

    def _numbers(self, table: pa.Table) -> Iterator[I64]:
        """Yield arrays of int64[rows]: the number of a wanted file that a row is of, by one of its names, else -1."""
        if not table.num_rows:
            return
        source, path = (table[name].combine_chunks().dictionary_encode() for name in ("source", "path"))
        sources, files = source.dictionary.to_pylist(), path.dictionary.to_pylist()
        pairs = source.indices.to_numpy().astype(np.int64) * len(files) + path.indices.to_numpy()
        encoded = pc.dictionary_encode(pa.array(pairs))
        distinct = encoded.dictionary.to_pylist()
        numbers = np.full((4, len(distinct)), -1, np.int64)
        for at, pair in enumerate(distinct):
            mine = self._numbers_of(sources[pair // len(files)], files[pair % len(files)])
            numbers[: len(mine), at] = mine
        rows = encoded.indices.to_numpy()
        yield from (column[rows] for column in numbers if (column >= 0).any())

    def _numbers_of(self, source: str, path: bytes) -> list[int]:
        """Return the numbers of the wanted files that are this one; at most four, each once."""
        own = {self._files.get(name, -1) for name in whole_paths(source, path)}
        own |= {self._files[name] for name in paths(path) if name in self._files and self._may_mean(name, source)}
        return sorted(own - {-1})

    def _may_mean(self, name: bytes, source: str) -> bool:
        """Return whether a path may be one of a source: so it may unless it begins with other sources' names."""
        named = _heads(name, self._sources)
        return not named or source in named


def _rising(found: Sequence[tuple[int, int]], dtype: type) -> tuple[npt.NDArray[Any], I64]:
    """Return keys, rising, and the places of their names in the list."""
    found = sorted(found)
    return np.array([key for key, _ in found], dtype), np.array([at for _, at in found], np.int64)


def _meaning(ids: tuple[int, ...], count: int, before: int) -> Meaning:
    line = before & ((1 << _LINE_BITS) - 1) if before >= 0 else None
    return Meaning(ids[:LISTED], count if len(ids) > LISTED else len(ids), line)
