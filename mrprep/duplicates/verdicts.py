"""Exact copies and near duplicates -> a verdict for every row, and the table of removed documents."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mrprep.builddir.tables import CLUSTERS
from mrprep.duplicates.layout import REMOVED, Found, Records
from mrprep.order import I64

KINDS = ("exact", "near", "chain")
_TABLE = np.dtype([*REMOVED.descr, ("kind", "<i4")])


@dataclass(frozen=True)
class VerdictUnit:
    """What all groups of candidates gave."""

    found: Found
    compared: tuple[Path, ...]
    threshold: float


def write_verdicts(unit: VerdictUnit, out: Path) -> None:
    """Write ``verdict.npy``, ``clusters.parquet`` and ``counts.json``."""
    ranked = np.load(unit.found.ranked / "ranked.npy")
    near = np.concatenate([np.empty(0, REMOVED), *(np.load(path / "removed.npy") for path in unit.compared)])
    table = removals(ranked["copy_of"], near, unit.threshold)
    verdict = np.full(ranked.size, -1, np.int64)
    verdict[table["doc"]] = ranked["ordinal"][table["survivor"]]
    np.save(out / "verdict.npy", np.repeat(verdict, ranked["rows"]))
    counts = {kind: int(np.count_nonzero(table["kind"] == number)) for number, kind in enumerate(KINDS)}
    counts["overflow"] = sum(json.loads((path / "overflow.json").read_text()) for path in unit.compared)
    (out / "counts.json").write_text(json.dumps(counts))
    _write_table(table, ranked["ordinal"], out / "clusters.parquet")


def removals(copy_of: I64, near: Records, threshold: float) -> Records:
    """Return the removed documents in their order, the copies of near duplicates among them.

    A copy goes where the first document with its text goes: it is ``exact`` when that one is kept, else
    ``near`` or ``chain`` (below the threshold, joined through others) as that one is.

    Args:
        copy_of: int64[d], the first document with the text of each.
        near: REMOVED[n], among documents that are no copies.
        threshold: at or above it a near duplicate is direct.
    """
    every = np.arange(copy_of.size)
    survivor, cluster, jaccard = every.copy(), every.copy(), np.ones(copy_of.size)
    survivor[near["doc"]] = near["survivor"]
    for role in ("doc", "survivor"):
        cluster[near[role]] = near["cluster"]
    jaccard[near["doc"]] = near["jaccard"]
    gone = np.flatnonzero(survivor[copy_of] != every)
    first = copy_of[gone]
    table = np.zeros(gone.size, _TABLE)
    table["doc"], table["survivor"], table["cluster"] = gone, survivor[first], cluster[first]
    table["jaccard"] = jaccard[first]
    direct = np.where(table["jaccard"] >= threshold, KINDS.index("near"), KINDS.index("chain"))
    table["kind"] = np.where(survivor[first] == first, KINDS.index("exact"), direct)
    return table


def _write_table(table: Records, ordinal: I64, path: Path) -> None:
    kinds = pa.DictionaryArray.from_arrays(pa.array(table["kind"]), pa.array(KINDS)).cast(pa.string())
    columns = [ordinal[table[name]] for name in ("doc", "survivor", "cluster")]
    rows = pa.table([*columns, kinds, table["jaccard"]], schema=CLUSTERS)
    pq.write_table(rows, path, compression="zstd", compression_level=1)
