"""Exact copies and near duplicates -> a verdict for every row, and the table of removed documents."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mrprep.builddir.tables import CLUSTERS
from mrprep.duplicates.layout import CONTAINED, HELD, REMOVED, Corpus, Found, Records
from mrprep.duplicates.report import report
from mrprep.order import I64

KINDS = ("exact", "near", "chain", "contained")
KEPT = -1
FIRST_BUILD = -2
"""Verdict of what the first of the earlier builds holds; the next one's is -3, and so on."""
_TABLE = np.dtype([*CONTAINED.descr, ("kind", "<i4")])


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
    """Write ``verdict.npy``, ``clusters.parquet``, ``counts.json`` and ``report.json`` (see `report`)."""
    ranked = np.load(unit.found.ranked / "ranked.npy")
    near = np.concatenate([np.empty(0, REMOVED), *(np.load(path / "removed.npy") for path in unit.compared)])
    inside = np.load(unit.contained / "contained.npy") if unit.contained else np.empty(0, CONTAINED)
    table = removals(ranked["copy_of"], near, inside, unit.threshold)
    own = ranked["priority"] != HELD
    table = table[own[table["doc"]]]
    firsts, names = _builds(unit.corpus)
    build = np.searchsorted(firsts, ranked["ordinal"][table["survivor"]], "right") - 1
    survivor = ranked["ordinal"][table["survivor"]] - firsts[build]
    held = build < len(names)
    verdict = np.full(ranked.size, KEPT, np.int64)
    verdict[table["doc"]] = np.where(held, FIRST_BUILD - build, survivor)
    np.save(out / "verdict.npy", np.repeat(verdict[own], ranked["rows"][own]))
    columns = {
        "doc": ranked["ordinal"][table["doc"]] - firsts[-1],
        "survivor": survivor,
        "against": pa.array(np.array([*names, ""], object)[build], pa.string(), mask=~held),
        "cluster": ranked["ordinal"][_smallest(table, own)] - firsts[-1],
        "kind": pa.array(np.array(KINDS, object)[table["kind"]], pa.string()),
        "jaccard": pa.array(table["jaccard"], mask=np.isnan(table["jaccard"])),
        "share": pa.array(table["share"], mask=table["kind"] != KINDS.index("contained")),
    }
    pq.write_table(pa.table(columns, CLUSTERS), out / "clusters.parquet", compression="zstd", compression_level=1)
    counts = {kind: int(np.count_nonzero(table["kind"] == number)) for number, kind in enumerate(KINDS)}
    overflow = sum(json.loads((path / "overflow.json").read_text()) for path in unit.compared)
    (out / "counts.json").write_text(json.dumps({**counts, "held": int(held.sum()), "overflow": overflow}))
    (out / "report.json").write_text(json.dumps(report(unit.corpus, ranked, table), indent=1, ensure_ascii=False))


def _builds(corpus: Corpus) -> tuple[I64, list[str]]:
    """Return the first row of each earlier build and then that of this one, and the names of the earlier ones."""
    rows = np.cumsum([0, *(part.rows for part in corpus.parts[: corpus.held_parts])])
    return rows[np.cumsum([0, *(parts for _, parts in corpus.held)])], [name for name, _ in corpus.held]


def _smallest(table: Records, own: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> I64:
    """Return for each removed document the first of this build's that stand or go with its survivor."""
    smallest = np.where(own, np.arange(own.size), own.size)
    np.minimum.at(smallest, table["survivor"], table["doc"])
    found: I64 = smallest[table["survivor"]]
    return found


def removals(copy_of: I64, near: Records, inside: Records, threshold: float) -> Records:
    """Return the removed documents in their order, the copies of near duplicates among them.

    A copy goes where the document that stands for its text goes: it is ``exact`` when that one is kept, else
    ``near``, ``contained`` or ``chain`` (below the threshold, joined through others) as that one is. Whoever went
    for a document that stands inside another goes for that other, through a chain; they are not compared.

    Args:
        copy_of: int64[d], which document stands for the text of each.
        near: REMOVED[n], among documents that stand for their own text.
        inside: CONTAINED[n], among those that near duplicates have left.
        threshold: at or above it a near duplicate is direct.
    """
    every = np.arange(copy_of.size)
    survivor, jaccard, share = every.copy(), np.ones(copy_of.size), np.zeros(copy_of.size)
    contained = np.zeros(copy_of.size, bool)
    survivor[near["doc"]], jaccard[near["doc"]] = near["survivor"], near["jaccard"]
    onward = every.copy()
    onward[inside["doc"]] = inside["survivor"]
    jaccard[onward[survivor] != survivor] = np.nan
    survivor = onward[survivor]
    jaccard[inside["doc"]], share[inside["doc"]], contained[inside["doc"]] = inside["jaccard"], inside["share"], True
    gone = np.flatnonzero(survivor[copy_of] != every)
    first = copy_of[gone]
    table = np.zeros(gone.size, _TABLE)
    table["doc"], table["survivor"], table["jaccard"] = gone, survivor[first], jaccard[first]
    table["share"] = share[first]
    exact, near_, chain, inside_ = range(len(KINDS))
    cases = [survivor[first] == first, contained[first], table["jaccard"] >= threshold]
    table["kind"] = np.select(cases, [exact, inside_, near_], chain)
    return table
