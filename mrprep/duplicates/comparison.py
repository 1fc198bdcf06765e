"""Candidates -> near duplicates: exact Jaccard within buckets, clusters, and which document of each stays."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mrprep.builddir.mapped import mapped
from mrprep.duplicates.candidates import buckets_of
from mrprep.duplicates.layout import HELD, REMOVED, Found, Group, Records
from mrprep.duplicates.shingle_files import ShingleFiles
from mrprep.minhash.clusters import best, components, stars
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
    found = verify(
        documents.size,
        buckets_of(unit.found.buckets, group),
        lambda pairs: shingles.jaccard(pairs, unit.threshold),
        unit.threshold,
        every_pair=unit.cluster == "star",
    )
    survivors = _survivors(unit, documents, found)
    np.save(out / "removed.npy", _removed(survivors, documents, shingles))
    (out / "overflow.json").write_text(json.dumps(found.overflow))


def _survivors(unit: GroupUnit, documents: I64, found: Verified) -> I64:
    """Return for each candidate of the group the one that is kept in its place, or itself."""
    ranked = mapped(unit.found.ranked / "ranked.npy")[documents]
    held = ranked["priority"] == HELD
    worth = _worth(ranked["priority"], ranked["units"] if unit.keep != "first" else np.zeros(documents.size))
    both_held = held[found.pairs].all(axis=1)
    if unit.cluster == "star":
        survivors = stars(worth, found.pairs[~both_held])
    else:
        survivors = best(components(documents.size, found.pairs), worth)
        _point_to_held(survivors, held, found)
    survivors[held] = np.flatnonzero(held)
    return survivors


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
