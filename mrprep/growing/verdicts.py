"""What dedupe says of an addition, in the numbers of the build that it is added to.

Dedupe has compared the new documents with those of the build as with an earlier build, the first of those held. Here
these become documents of one build: rows are numbered on, and who resembles a document that the build itself has
removed goes for the one that was kept in its place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from mrprep.builddir.mapped import let_go, mapped, zeros
from mrprep.builddir.tables import CLUSTERS
from mrprep.duplicates.removals import KINDS
from mrprep.duplicates.report import LARGEST
from mrprep.duplicates.verdicts import FIRST_BUILD, KEPT
from mrprep.order import I64

Objects = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]

OURS = "this build"
"""Name of the build among those that dedupe compares with."""
_STRETCH = 1 << 20
"""Rows of which the verdicts are in memory at a time."""
REMOVED_ON_REQUEST = np.iinfo(np.int64).min
"""Verdict of a row that `mrprep remove` has emptied."""


@dataclass(frozen=True, slots=True)
class JoinUnit:
    """Verdicts of a build, and of what is added."""

    verdict: Path | None
    clusters: Path | None
    report: Path | None
    base: int
    """Rows of the build."""
    dedupe: Path | None
    """Directory of what dedupe has written of the addition, if it is a stage."""
    rows: int
    """Of the addition."""
    earlier: tuple[str, ...]
    """Names of the earlier builds that the build was compared with."""


def join_unit(unit: JoinUnit, out: Path) -> None:
    """Write ``verdict.npy``, and where dedupe is a stage ``clusters.parquet``, ``report.json``, ``counts.json``.

    ``counts.json`` is of the addition alone; memory is some 250 bytes a duplicate that left, and a stretch of rows.
    """
    verdict = zeros(out / "verdict.npy", np.int64, unit.base + unit.rows)
    old, new = verdict[: unit.base], verdict[unit.base :]
    _fill(old, unit.verdict)
    _fill(new, unit.dedupe / "verdict.npy" if unit.dedupe else None)
    if unit.dedupe is None:
        (out / "counts.json").write_bytes(b"{}")
        return
    assert unit.clusters is not None
    assert unit.report is not None
    before = pq.read_table(unit.clusters, use_threads=False)
    removed = _renumbered(pq.read_table(unit.dedupe / "clusters.parquet", use_threads=False), before, old)
    goes_for = _values(removed, unit.earlier)
    for stretch in _stretches(new):
        gone = np.flatnonzero(new[stretch] != KEPT) + stretch.start
        new[gone] = goes_for[np.searchsorted(removed.doc, gone + unit.base, "right") - 1]
        let_go(verdict)
    table = removed.table().filter(pa.array(goes_for != KEPT))
    pq.write_table(pa.concat_tables([before, table]), out / "clusters.parquet", compression="zstd", compression_level=1)
    was = orjson.loads((unit.dedupe / "counts.json").read_bytes())
    kinds = table["kind"].to_pylist()
    held = len(kinds) - table["against"].null_count
    counts = {**{kind: kinds.count(kind) for kind in KINDS}, "held": held, "overflow": was["overflow"]}
    (out / "counts.json").write_bytes(orjson.dumps(counts))
    reports = [orjson.loads(path.read_bytes()) for path in (unit.report, unit.dedupe / "report.json")]
    (out / "report.json").write_bytes(orjson.dumps(_added(*reports), option=orjson.OPT_INDENT_2))


def _fill(verdict: I64, path: Path | None) -> None:
    """Copy verdicts from a file; without one all rows are kept."""
    held = mapped(path) if path else None
    for stretch in _stretches(verdict):
        verdict[stretch] = KEPT if held is None else held[stretch]
        let_go(*(each for each in (held, verdict.base) if isinstance(each, np.ndarray)))


def _stretches(rows: I64) -> Iterator[slice]:
    return (slice(start, start + _STRETCH) for start in range(0, rows.size, _STRETCH))


@dataclass(slots=True)
class _Removed:
    """Removed documents as columns, in order of ``doc``; see CLUSTERS."""

    doc: I64
    survivor: I64
    against: Objects
    cluster: I64
    kind: Objects
    jaccard: F64
    share: F64

    @classmethod
    def of(cls, table: pa.Table) -> "_Removed":
        numbers = (table[name].to_numpy().astype(np.int64) for name in ("doc", "survivor", "cluster"))
        names = (np.array(table[name].to_pylist(), object) for name in ("against", "kind"))
        shares = (np.array(table[name].to_pylist(), np.float64) for name in ("jaccard", "share"))
        (doc, survivor, cluster), (against, kind), (jaccard, share) = numbers, names, shares
        return cls(doc, survivor, against, cluster, kind, jaccard, share)

    def take(self, at: I64) -> "_Removed":
        return _Removed(*(getattr(self, name)[at] for name in self.__slots__))

    def table(self) -> pa.Table:
        columns = {name: getattr(self, name) for name in self.__slots__}
        columns |= {name: pa.array(columns[name].tolist(), pa.string()) for name in ("against", "kind")}
        columns |= {name: pa.array(columns[name], mask=np.isnan(columns[name])) for name in ("jaccard", "share")}
        return pa.table({name: columns[name] for name in CLUSTERS.names}, CLUSTERS)


def _renumbered(found: pa.Table, before: pa.Table, old: I64) -> _Removed:
    """Return the removed documents of an addition in the numbers of the whole, each with who stays in the end."""
    new, known = _Removed.of(found), _Removed.of(before)
    new.doc += old.size
    new.cluster += old.size
    new.survivor[_none(new.against)] += old.size
    ours = np.flatnonzero(new.against == OURS)
    new.against[ours] = None
    verdict = old[new.survivor[ours]]
    onward = ours[(verdict != KEPT) & (verdict != REMOVED_ON_REQUEST)]
    rows = known.take(np.searchsorted(known.doc, new.survivor[onward]))
    exact = (new.kind[onward] == "exact") & (rows.kind == "exact")
    new.survivor[onward], new.against[onward] = rows.survivor, rows.against
    new.kind[onward] = np.where(exact, "exact", "chain")
    new.jaccard[onward], new.share[onward] = np.where(exact, new.jaccard[onward], np.nan), np.nan
    new.survivor[ours[verdict == REMOVED_ON_REQUEST]] = REMOVED_ON_REQUEST
    here = ours[_none(new.against[ours])]
    new.cluster[here] = _labels(known, new.survivor[here])
    return new


def _labels(known: _Removed, survivors: I64) -> I64:
    """Return the cluster of each document that stays, which is the document itself where it had none."""
    mine = known.take(np.flatnonzero(_none(known.against)))
    if not mine.doc.size:
        return survivors
    stays, first = np.unique(mine.survivor, return_index=True)
    at = np.minimum(np.searchsorted(stays, survivors), stays.size - 1)
    labels: I64 = np.where(stays[at] == survivors, mine.cluster[first[at]], survivors)
    return labels


def _none(objects: Objects) -> Mask:
    return np.array([each is None for each in objects.tolist()], bool)


def _values(removed: _Removed, earlier: Sequence[str]) -> I64:
    """Return the verdict of each removed document; who resembles an emptied row alone is kept."""
    numbers = {name: FIRST_BUILD - number for number, name in enumerate(earlier)}
    held = np.array([numbers.get(name, KEPT) for name in removed.against], np.int64)
    found: I64 = np.where(held == KEPT, removed.survivor, held)
    found[removed.survivor == REMOVED_ON_REQUEST] = KEPT
    return found


def _added(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the reports of a build and of an addition as one; see `duplicates.report`."""
    totals = {name: old[name] + new[name] for name in ("documents", "units", "removed", "removed_units")}
    largest = sorted([*old["largest"], *new["largest"]], key=lambda each: (-each["removed"], -each["removed_units"]))
    ours = [{**each, "against": None if each["against"] == OURS else each["against"]} for each in largest[:LARGEST]]
    return {**totals, "sources": {**old["sources"], **new["sources"]}, "largest": ours}
