"""Sketches -> candidates: exact copies collapse, the rest falls into buckets, components of buckets into groups.

In one phase while the band keys of all documents fit into a unit of work, else in three: exact, bands, candidates.
Memory follows the number of documents: about 60 bytes for each, 32 in a unit of bands.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.builddir.tables import TextPart
from mrprep.duplicates.layout import HELD, RANKED, Corpus, Found, Group, documents_in
from mrprep.duplicates.texts import scores_of, sources_of
from mrprep.engine.phase import RunPhase
from mrprep.minhash.buckets import Buckets, merged, same_key
from mrprep.minhash.clusters import components
from mrprep.order import I64, U64

Priorities = npt.NDArray[np.int32]

KEYS_A_UNIT = 4 << 20
UNITS_A_GROUP = 4 << 20
"""Units of text that one unit of work compares; their shingles take 8 bytes each."""


@dataclass(frozen=True)
class BandUnit:
    """A range of bands of the documents of all parts."""

    corpus: Corpus
    ranked: Path
    first: int
    last: int


@dataclass(frozen=True)
class JoinUnit:
    """Buckets of all bands."""

    ranked: Path
    buckets: tuple[Path, ...]


def find_candidates(run_phase: RunPhase, corpus: Corpus, bands: int, settings: Mapping[str, Any]) -> Found:
    """Run the phases that find candidates in the sketches of all parts."""
    banded = sum(np.load(part.path / "bands.npy", mmap_mode="r").shape[1] for part in corpus.parts)
    at_once = max(1, KEYS_A_UNIT // max(1, banded))
    if at_once >= bands:
        unit = BandUnit(corpus, Path(), 0, bands)
        (out,) = run_phase("dedupe.candidates", [unit], in_one, settings=settings)
        return Found(out, out)
    (ranked,) = run_phase("dedupe.exact", [corpus], rank, settings=settings)
    units = [BandUnit(corpus, ranked, first, min(first + at_once, bands)) for first in range(0, bands, at_once)]
    buckets = run_phase("dedupe.bands", units, band, settings=settings)
    (out,) = run_phase("dedupe.candidates", [JoinUnit(ranked, tuple(buckets))], join, settings=settings)
    return Found(ranked, out)


def in_one(unit: BandUnit, out: Path) -> None:
    """Do the work of all three phases."""
    rank(unit.corpus, out)
    band(BandUnit(unit.corpus, out, unit.first, unit.last), out)
    join(JoinUnit(out, (out,)), out)


def rank(corpus: Corpus, out: Path) -> None:
    """Write what every document is, and which have band keys and are no copy of an earlier one."""
    documents = np.concatenate([np.load(part.path / "documents.npy") for part in corpus.parts])
    ranked = np.zeros(documents.size, RANKED)
    ranked["rows"], ranked["units"] = documents["rows"], documents["units"]
    ranked["ordinal"] = np.cumsum(documents["rows"], dtype=np.int64) - documents["rows"]
    ranked["priority"] = _priorities(corpus, documents["rows"])
    ranked["copy_of"] = first_copies(documents["exact"], ranked["priority"])
    np.save(out / "ranked.npy", ranked)
    np.save(out / "banded.npy", documents["banded"])


def band(unit: BandUnit, out: Path) -> None:
    """Write the buckets of some bands."""
    banded = np.flatnonzero(np.load(unit.ranked / "banded.npy"))
    single = np.load(unit.ranked / "ranked.npy", mmap_mode="r")["copy_of"][banded] == banded
    held = sum(documents_in(unit.corpus.parts[: unit.corpus.held_parts]))
    buckets = []
    for number in range(unit.first, unit.last):
        keys = np.concatenate([np.load(part.path / "bands.npy", mmap_mode="r")[number] for part in unit.corpus.parts])
        here = same_key(keys[single])
        here = Buckets(banded[single][here.members], here.starts)
        last = here.members[here.starts + here.sizes - 1]
        buckets.append(here.take(np.flatnonzero(last >= held)))
    _save(merged(buckets), out, "bucket")


def join(unit: JoinUnit, out: Path) -> None:
    """Write the candidates by component, their buckets alike, and how they fall into groups."""
    every = merged([load_buckets(path, "bucket") for path in unit.buckets])
    lengths = np.load(unit.ranked / "ranked.npy", mmap_mode="r")["units"]
    candidates, buckets, plan = grouped(every, lengths)
    np.save(out / "candidates.npy", candidates)
    _save(buckets, out, "candidate")
    (out / "plan.json").write_text(json.dumps(plan))


def _priorities(corpus: Corpus, rows: npt.NDArray[np.int32]) -> Priorities:
    """Return the priority of each document of so many rows."""
    ranks = {name: rank for rank, name in enumerate(corpus.sources)}
    of_rows = [np.full(part.rows, HELD, np.int32) for part in corpus.parts[: corpus.held_parts]]
    own = corpus.parts[corpus.held_parts :]
    of_rows += [_score_ranks(own)] if corpus.best else [_source_ranks(part, ranks) for part in own]
    first = np.cumsum(rows, dtype=np.int64) - rows
    found: Priorities = np.concatenate([np.empty(0, np.int32), *of_rows]).take(first)
    return found


def _source_ranks(part: TextPart, ranks: Mapping[str, int]) -> Priorities:
    """Return the place of each row's source in the order of sources; zeros where there is no order."""
    if not ranks:
        return np.zeros(part.rows, np.int32)
    names, of_rows = sources_of(part)
    found: Priorities = np.array([ranks[name] for name in names], np.int32).take(of_rows)
    return found


def _score_ranks(parts: Sequence[TextPart]) -> Priorities:
    """Return the place of each row's score among all, 0 the highest; no score is the last."""
    scores = np.concatenate([np.empty(0), *map(scores_of, parts)])
    _, ranks = np.unique(np.where(np.isnan(scores), np.inf, -scores), return_inverse=True)
    found: Priorities = ranks.astype(np.int32)
    return found


def first_copies(exact: U64, priority: Priorities) -> I64:
    """Return for each document the first of lowest priority number of those with its hash, uint64[d, 2]."""
    order = np.lexsort((priority, exact[:, 0]))
    sorted_ = exact[order]
    new = np.ones(order.size, bool)
    np.any(sorted_[1:] != sorted_[:-1], axis=1, out=new[1:])
    starts = np.flatnonzero(new)
    first = np.empty(order.size, np.int64)
    first[order] = np.repeat(order[starts], np.diff(starts, append=order.size))
    return first


def grouped(buckets: Buckets, lengths: I64) -> tuple[I64, Buckets, list[Group]]:
    """Number the documents in buckets by component, and cut them into groups.

    Args:
        buckets: of documents.
        lengths: int64[documents], units of each document.

    Returns:
        The document of each candidate; the buckets as candidates, in order of component; the groups.
    """
    documents = np.unique(buckets.members)
    local = np.searchsorted(documents, buckets.members)
    links = np.column_stack([np.repeat(local[buckets.starts], buckets.sizes), local])
    labels = components(documents.size, links)
    order = np.argsort(labels, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    renamed = Buckets(number[local], buckets.starts)
    renamed = renamed.take(np.argsort(renamed.members[renamed.starts], kind="stable"))
    plan = _plan(labels[order], lengths[documents[order]], renamed.members[renamed.starts])
    return documents[order], renamed, plan


def _plan(labels: I64, lengths: I64, bucket_firsts: I64) -> list[Group]:
    """Cut candidates, ordered by component, into groups of whole components of about equal work."""
    new = np.ones(labels.size, bool)
    new[1:] = labels[1:] != labels[:-1]
    bounds = np.append(np.flatnonzero(new), labels.size)
    filled = np.concatenate([[0], np.cumsum(lengths)])[bounds]
    plan: list[Group] = []
    at = 0
    while at < bounds.size - 1:
        end = max(at + 1, int(np.searchsorted(filled, filled[at] + UNITS_A_GROUP, "right")) - 1)
        first, last = int(bounds[at]), int(bounds[end])
        low, high = (int(bucket) for bucket in np.searchsorted(bucket_firsts, [first, last]))
        plan.append(Group(first, last, low, high, int(filled[end] - filled[at])))
        at = end
    return plan


def read_plan(found: Found) -> list[Group]:
    """Return the groups of candidates."""
    return [Group(*group) for group in json.loads((found.candidates / "plan.json").read_text())]


def load_buckets(path: Path, kind: str) -> Buckets:
    """Return the ``bucket`` (of documents) or ``candidate`` buckets of a directory."""
    return Buckets(
        np.load(path / f"{kind}_members.npy", mmap_mode="r"), np.load(path / f"{kind}_starts.npy", mmap_mode="r")
    )


def _save(buckets: Buckets, out: Path, kind: str) -> None:
    np.save(out / f"{kind}_members.npy", buckets.members)
    np.save(out / f"{kind}_starts.npy", buckets.starts)
