"""Candidates -> near duplicates: exact Jaccard within buckets, clusters, and which document of each stays."""

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mrprep.builddir.mapped import mapped
from mrprep.duplicates.candidates import buckets_of
from mrprep.duplicates.layout import HELD, REMOVED, Found, Group, Records
from mrprep.duplicates.ranks import RANKED_FILE, looked_up
from mrprep.duplicates.shingle_files import ShingleFiles
from mrprep.minhash.bands import F64
from mrprep.minhash.buckets import Buckets
from mrprep.minhash.clusters import best
from mrprep.minhash.stars import stars
from mrprep.minhash.verify import Verified, verify
from mrprep.order import I64

Keep = Literal["longest", "first", "source", "best"]
Cluster = Literal["connected", "star"]


@dataclass(frozen=True)
class GroupUnit:
    """A group of candidates to compare, and how."""

    found: Found
    shingles: tuple[Path, ...]
    group: Group
    threshold: float
    keep: Keep
    cluster: Cluster


def compare_group(unit: GroupUnit, out: Path) -> None:
    """Write which documents of a group are near duplicates of which."""
    group = unit.group
    documents = mapped(unit.found.candidates / "candidates.npy")[group.first : group.last]
    shingles = ShingleFiles(unit.shingles, documents)
    with TemporaryDirectory(dir=out) as scratch:
        buckets = buckets_of(unit.found.buckets, group, Path(scratch, "members.npy"))
        survivors, overflow = _survivors(unit, documents, buckets, shingles)
    np.save(out / "removed.npy", _removed(survivors, documents, shingles))
    (out / "overflow.json").write_text(json.dumps(overflow))


def _survivors(unit: GroupUnit, documents: I64, buckets: Buckets, shingles: ShingleFiles) -> tuple[I64, int]:
    """Return for each candidate of the group the one that is kept in its place, or itself; and the overflow."""
    ranked = mapped(unit.found.ranked / RANKED_FILE)
    priority = looked_up(ranked["priority"], documents)
    lengths = looked_up(ranked["units"], documents) if unit.keep != "first" else np.zeros(documents.size)
    held, worth = priority == HELD, _worth(priority, lengths)
    del priority, lengths

    def similarity(pairs: I64) -> F64:
        return shingles.jaccard(pairs, unit.threshold)

    found = verify(documents.size, buckets, similarity, unit.threshold, held)
    if unit.cluster == "star":
        survivors = stars(worth, found.labels, buckets, similarity, unit.threshold, held)
    else:
        survivors = best(found.labels, worth)
        _point_to_held(survivors, held, found)
    survivors[held] = np.flatnonzero(held)
    return survivors, found.overflow


def _worth(priority: npt.NDArray[np.float64], lengths: npt.NDArray[Any]) -> I64:
    """Return numbers that are the larger the sooner a document stays; all differ."""
    worth = np.empty(priority.size, np.int64)
    worth[np.lexsort((np.arange(priority.size), -lengths, priority))] = -np.arange(priority.size)
    return worth


def _point_to_held(survivors: I64, held: npt.NDArray[np.bool_], found: Verified) -> None:
    """Have what resembles a held document itself go for that one, the most similar, not for another of its cluster."""
    order = np.argsort(found.jaccard, kind="stable")
    for one, other in (found.pairs[order].T, found.pairs[order].T[::-1]):
        direct = held[one] & ~held[other]
        survivors[other[direct]] = one[direct]


def _removed(survivors: I64, documents: I64, shingles: ShingleFiles) -> Records:
    gone = np.flatnonzero(survivors != np.arange(survivors.size))
    removed = np.zeros(gone.size, REMOVED)
    removed["doc"], removed["survivor"] = documents[gone], documents[survivors[gone]]
    pairs = np.column_stack([gone, survivors[gone]])
    removed["jaccard"] = shingles.jaccard(pairs)
    return removed
