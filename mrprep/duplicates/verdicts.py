"""Exact copies and near duplicates -> a verdict for every row, and the table of removed documents.

A stretch of documents at a time, twice; some 50 bytes a document lie on disk meanwhile.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mrprep.builddir.mapped import Array, let_go, mapped, zeros
from mrprep.builddir.npystream import NpyStream
from mrprep.builddir.tables import CLUSTERS
from mrprep.duplicates.layout import Corpus, Found, Records
from mrprep.duplicates.ranks import RANKED_FILE, held_documents, stretches
from mrprep.duplicates.removals import KINDS, Removals
from mrprep.duplicates.report import Tally
from mrprep.order import I64

KEPT = -1
FIRST_BUILD = -2
"""Verdict of what the first of the earlier builds holds; the next one's is -3, and so on."""


@dataclass(frozen=True)
class VerdictUnit:
    """What all groups of candidates gave."""

    corpus: Corpus
    found: Found
    compared: tuple[Path, ...]
    contained: Path | None
    """Directory of ``contained.npy``, if that was asked for."""
    threshold: float


def write_verdicts(unit: VerdictUnit, out: Path) -> None:
    """Write ``verdict.npy``, ``clusters.parquet``, ``counts.json`` and ``report.json`` (see `Tally`)."""
    with TemporaryDirectory(dir=out) as scratch:
        writer = _Writer(unit, Path(scratch))
        writer.verdicts(out / "verdict.npy")
        writer.clusters(out / "clusters.parquet")
        overflow = sum(json.loads((path / "overflow.json").read_text()) for path in unit.compared)
        counts = {name: writer.counts[name] for name in (*KINDS, "held")}
        (out / "counts.json").write_text(json.dumps({**counts, "overflow": overflow}))
        (out / "report.json").write_text(json.dumps(writer.tally.report(), indent=1, ensure_ascii=False))


class _Writer:
    """Goes over the documents of this build."""

    def __init__(self, unit: VerdictUnit, scratch: Path) -> None:
        self._ranked = mapped(unit.found.ranked / RANKED_FILE)
        self._removals = Removals(unit.found, unit.compared, unit.contained, unit.threshold, scratch)
        self._firsts, self._names = _builds(unit.corpus)
        self._held = held_documents(unit.corpus)
        self._smallest = zeros(scratch / "smallest.npy", np.int64, self._ranked.size)
        """Of each survivor one more than the first of this build's that stands or goes with it; 0 of others."""
        self.tally = Tally(unit.corpus, self._ranked, scratch)
        self.counts = Counter[str]()

    def verdicts(self, path: Path) -> None:
        """Write the verdict of each row, and count."""
        with NpyStream(path, np.int64) as stream:
            for begin, end in self._stretches():
                table = self._removals.of(begin, end)
                build, survivor = self._survivors(table)
                held = build < len(self._names)
                verdict = np.full(end - begin, KEPT, np.int64)
                verdict[table["doc"] - begin] = np.where(held, FIRST_BUILD - build, survivor)
                stream.write(np.repeat(verdict, self._ranked["rows"][begin:end]))
                self.counts.update({name: int(np.sum(table["kind"] == kind)) for kind, name in enumerate(KINDS)})
                self.counts["held"] += int(held.sum())
                self._note_smallest(table)
                self.tally.add(begin, end, table)
                let_go(self._ranked)

    def clusters(self, path: Path) -> None:
        """Write the table of removed documents."""
        with pq.ParquetWriter(path, CLUSTERS, compression="zstd", compression_level=1) as writer:
            for begin, end in self._stretches():
                writer.write_table(self._clusters(self._removals.of(begin, end)))
                let_go(self._ranked, self._smallest)

    def _clusters(self, table: Records) -> pa.Table:
        build, survivor = self._survivors(table)
        held = build < len(self._names)
        smallest = self._smallest[table["survivor"]] - 1
        columns = {
            "doc": self._ordinals(table["doc"]) - self._firsts[-1],
            "survivor": survivor,
            "against": pa.array(np.array([*self._names, ""], object)[build], pa.string(), mask=~held),
            "cluster": self._ordinals(smallest) - self._firsts[-1],
            "kind": pa.array(np.array(KINDS, object)[table["kind"]], pa.string()),
            "jaccard": pa.array(table["jaccard"], mask=np.isnan(table["jaccard"])),
            "share": pa.array(table["share"], mask=table["kind"] != KINDS.index("contained")),
        }
        return pa.table(columns, CLUSTERS)

    def _stretches(self) -> list[tuple[int, int]]:
        """Return the ranges of documents of this build."""
        size = int(self._ranked.size)
        return [(max(begin, self._held), end) for begin, end in stretches(size) if end > self._held]

    def _survivors(self, table: Records) -> tuple[I64, I64]:
        """Return of which build the survivors are, the last being this one, and their rows there."""
        ordinal = self._ordinals(table["survivor"])
        build = np.searchsorted(self._firsts, ordinal, "right") - 1
        return build, ordinal - self._firsts[build]

    def _ordinals(self, documents: I64) -> I64:
        found: I64 = self._ranked["ordinal"][documents]
        return found

    def _note_smallest(self, table: Records) -> None:
        """Note the removed of a stretch; stretches come in order, so what is noted before is smaller."""
        survivor, at = np.unique(table["survivor"], return_index=True)
        own = np.where(survivor >= self._held, survivor, np.iinfo(np.int64).max - 1)
        known: Array = self._smallest[survivor]
        self._smallest[survivor] = np.where(known > 0, known, 1 + np.minimum(own, table["doc"][at]))
        let_go(self._smallest)


def _builds(corpus: Corpus) -> tuple[I64, list[str]]:
    """Return the first row of each earlier build and then that of this one, and the names of the earlier ones."""
    rows = np.cumsum([0, *(part.rows for part in corpus.parts[: corpus.held_parts])])
    return rows[np.cumsum([0, *(parts for _, parts in corpus.held)])], [name for name, _ in corpus.held]
