"""What duplicates cost a corpus: their share within and between sources, and the largest clusters."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from mrprep.builddir.mapped import Array, let_go, zeros
from mrprep.builddir.tables import TextPart
from mrprep.duplicates.layout import Corpus, Records, documents_in
from mrprep.duplicates.ranks import stretches
from mrprep.duplicates.texts import sources_of
from mrprep.printable import printable

LARGEST = 20
_EXCERPT = 80


class Tally:
    """Counts what is removed, a stretch of documents at a time; 14 bytes a document lie on disk meanwhile.

    Args:
        corpus: what was deduplicated.
        ranked: RANKED[documents].
        scratch: directory for files.
    """

    def __init__(self, corpus: Corpus, ranked: Records, scratch: Path) -> None:
        self._corpus, self._ranked = corpus, ranked
        self._source = zeros(scratch / "source.npy", np.int16, ranked.size)
        self._names = _write_sources(corpus, ranked, self._source)
        self._gone = zeros(scratch / "gone.npy", np.int32, ranked.size)
        """Of each survivor, how many documents went for it."""
        self._gone_units = zeros(scratch / "gone_units.npy", np.int64, ranked.size)
        self._sums = np.zeros((2, len(self._names)), np.int64)
        """Documents and units of each source."""
        self._removed = np.zeros_like(self._sums)
        self._between = np.zeros((len(self._names), len(self._names)), np.int64)
        """Documents of a source that went for one of another."""

    def add(self, begin: int, end: int, table: Records) -> None:
        """Count documents of this build, and the removed among them, with ``doc`` and ``survivor``."""
        n, units = len(self._names), np.asarray(self._ranked["units"][begin:end])
        source = np.asarray(self._source[begin:end])
        gone = table["doc"] - begin
        for row, size in enumerate((np.ones_like(units), units)):
            self._sums[row] += np.bincount(source, size, n).astype(np.int64)
            self._removed[row] += np.bincount(source[gone], size[gone], n).astype(np.int64)
        survivor = table["survivor"]
        pairs = source[gone].astype(np.int64) * n + self._source[survivor]
        self._between += np.bincount(pairs, minlength=n * n).reshape(n, n)
        np.add.at(self._gone, survivor, 1)
        np.add.at(self._gone_units, survivor, units[gone])
        let_go(self._source, self._gone, self._gone_units)

    def report(self) -> dict[str, Any]:
        """Return plain values: ``sources``, ``largest``, and the totals of all sources.

        A source has its documents and units (words, or characters of scripts without spaces), how many of them were
        removed, and for documents of which source or earlier build: within itself, ``between`` and ``held``. Of the
        largest clusters each has how many were removed, of how many units, and the document that stays.
        """
        held, names = len(self._corpus.held), self._names
        sources = {
            name: {
                "documents": int(self._sums[0, number]),
                "units": int(self._sums[1, number]),
                "removed": int(self._removed[0, number]),
                "removed_units": int(self._removed[1, number]),
                "within": int(self._between[number, number]),
                "between": self._went(number, range(held, len(names))),
                "held": self._went(number, range(held)),
            }
            for number, name in enumerate(names)
            if number >= held
        }
        totals = np.concatenate([self._sums[:, held:].sum(axis=1), self._removed[:, held:].sum(axis=1)]).tolist()
        counted = ("documents", "units", "removed", "removed_units")
        return {**dict(zip(counted, totals, strict=True)), "sources": sources, "largest": self._largest()}

    def _went(self, of: int, to: range) -> dict[str, int]:
        return {self._names[n]: int(self._between[of, n]) for n in to if n != of and self._between[of, n]}

    def _largest(self) -> list[dict[str, Any]]:
        best: list[tuple[int, int, int]] = []
        for begin, end in stretches(self._gone.size):
            gone, units = np.asarray(self._gone[begin:end]), np.asarray(self._gone_units[begin:end])
            order = np.lexsort((-units, -gone))[:LARGEST]
            order = order[gone[order] > 0]
            found = zip((-gone[order]).tolist(), (-units[order]).tolist(), (begin + order).tolist(), strict=True)
            best = sorted([*best, *found])[:LARGEST]
            let_go(self._gone, self._gone_units)
        places = _places(self._corpus, [int(self._ranked["ordinal"][survivor]) for _, _, survivor in best])
        return [
            {"removed": -gone, "removed_units": -units, **place}
            for (gone, units, _), place in zip(best, places, strict=True)
        ]


def _write_sources(corpus: Corpus, ranked: Records, source: Array) -> list[str]:
    """Write of which earlier build or source each document is; return their names, of earlier builds first."""
    names = {(True, name): number for number, (name, _) in enumerate(corpus.held)}
    builds = [number for number, (_, parts) in enumerate(corpus.held) for _ in range(parts)]
    base = 0
    for number, (part, documents) in enumerate(zip(corpus.parts, documents_in(corpus.parts), strict=True)):
        if number < len(builds):
            source[base : base + documents] = builds[number]
        else:
            own, codes = sources_of(part)
            of_rows = np.array([names.setdefault((False, name), len(names)) for name in own], np.int64)[codes]
            first = ranked["ordinal"][base : base + documents] - (ranked["ordinal"][base] if documents else 0)
            source[base : base + documents] = of_rows[first]
        base += documents
        let_go(source, ranked)
    return [name for _, name in names]


def _places(corpus: Corpus, rows: Sequence[int]) -> list[dict[str, Any]]:
    """Return where rows come from and how they begin."""
    builds: Sequence[str] = [name for name, parts in corpus.held for _ in range(parts)]
    places: dict[int, dict[str, Any]] = {}
    for number, part in enumerate(corpus.parts):
        wanted = sorted({row - part.base for row in rows if 0 <= row - part.base < part.rows})
        for row, found in _records(part, wanted):
            places[part.base + row] = {
                "against": builds[number] if number < len(builds) else None,
                "source": found["source"],
                "path": printable(found["path"], 4096),
                "line": found["line"],
                "text": printable(found["text"][:_EXCERPT]),
            }
    return [places[row] for row in rows]


def _records(part: TextPart, wanted: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield these rows of a part, in order; a row group is read once."""
    if not wanted:
        return
    begin = 0
    with pq.ParquetFile(part.path / "text.parquet") as file:
        for group in range(file.num_row_groups):
            end = begin + file.metadata.row_group(group).num_rows
            if here := [row for row in wanted if begin <= row < end]:
                table = file.read_row_group(group, ["source", "path", "line", "text"], use_threads=False)
                yield from zip(here, table.take([row - begin for row in here]).to_pylist(), strict=True)
            begin = end
