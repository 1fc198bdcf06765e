"""Sketches -> candidates: exact copies collapse, the rest falls into buckets, components of buckets into groups.

In one unit of work while the band keys of all documents fit into one, else in many: a unit takes a range of hashes, or
of the keys of one band, so memory does not follow the number of documents. What does is a byte for each document and
40 for each candidate, where components are found.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from mrprep.builddir.mapped import Array, let_go, mapped
from mrprep.builddir.npystream import NpyStream
from mrprep.duplicates.layout import Corpus, Found, Group, documents_in
from mrprep.duplicates.ranks import (
    COPIES,
    RANKED_FILE,
    CopiesUnit,
    ExactUnit,
    find_exact,
    held_documents,
    looked_up,
    rank,
    write_copies,
)
from mrprep.engine.phase import RunPhase
from mrprep.minhash.buckets import Buckets, merged, once, same_key, walk
from mrprep.minhash.clusters import connected
from mrprep.order import I64

KEYS_A_UNIT = 2 << 20
"""Band keys, or a quarter as many hashes, that a unit of work sorts; some 60 bytes each."""
UNITS_A_GROUP = 4 << 20
"""Units of text that one unit of work compares; their shingles take 8 bytes each."""


@dataclass(frozen=True)
class BandUnit:
    """A range of bands of the documents of all parts, or a range of the keys of one band."""

    corpus: Corpus
    copies: Path
    first: int
    last: int
    number: int = 0
    ranges: int = 1


@dataclass(frozen=True)
class ComponentUnit:
    """Buckets of all bands."""

    ranked: Path
    buckets: tuple[Path, ...]


@dataclass(frozen=True)
class BucketUnit:
    """Buckets of documents, and the numbers of these as candidates."""

    candidates: Path
    buckets: Path


def find_candidates(run_phase: RunPhase, corpus: Corpus, bands: int, settings: Mapping[str, Any]) -> Found:
    """Run the phases that find candidates in the sketches of all parts."""
    banded = sum(mapped(part.path / "bands.npy").shape[1] for part in corpus.parts)
    documents = sum(documents_in(corpus.parts))
    if max(banded * bands, documents) <= KEYS_A_UNIT:
        unit = BandUnit(corpus, Path(), 0, bands)
        (out,) = run_phase("dedupe.candidates", [unit], in_one, settings=settings)
        return Found(out, out, out, (out,))
    (ranked,) = run_phase("dedupe.ranks", [corpus], rank, settings=settings)
    ranges = max(1, -(-4 * documents // KEYS_A_UNIT))
    hashes = [ExactUnit(corpus, ranked, number, ranges) for number in range(ranges)]
    exact = run_phase("dedupe.exact", hashes, find_exact, settings=settings)
    (copies,) = run_phase("dedupe.copies", [CopiesUnit(ranked, tuple(exact))], write_copies, settings=settings)
    units = band_units(corpus, copies, bands, banded)
    buckets = tuple(run_phase("dedupe.bands", units, band, settings=settings))
    (out,) = run_phase("dedupe.candidates", [ComponentUnit(ranked, buckets)], find_components, settings=settings)
    renamed = run_phase("dedupe.buckets", [BucketUnit(out, path) for path in buckets], rename, settings=settings)
    return Found(ranked, copies, out, tuple(renamed))


def in_one(unit: BandUnit, out: Path) -> None:
    """Do the work of all phases."""
    rank(unit.corpus, out)
    find_exact(ExactUnit(unit.corpus, out, 0, 1), out)
    write_copies(CopiesUnit(out, (out,)), out)
    band(BandUnit(unit.corpus, out, unit.first, unit.last), out)
    find_components(ComponentUnit(out, (out,)), out)
    rename(BucketUnit(out, out), out)


def band_units(corpus: Corpus, copies: Path, bands: int, banded: int) -> list[BandUnit]:
    """Return units of about as many whole bands, or of ranges of the keys of one if that is more than a unit takes."""
    at_once = max(1, KEYS_A_UNIT // max(1, banded))
    ranges = max(1, -(-banded // KEYS_A_UNIT))
    groups = -(-bands // at_once)
    bounds = [bands * group // groups for group in range(groups + 1)]
    return [
        BandUnit(corpus, copies, first, last, number, ranges)
        for first, last in pairwise(bounds)
        for number in range(ranges)
    ]


def band(unit: BandUnit, out: Path) -> None:
    """Write the buckets of some bands: documents that are no copies, and not all held by earlier builds."""
    held = held_documents(unit.corpus)
    copy_of = mapped(unit.copies / COPIES)
    parts = [
        (mapped(part.path / "documents.npy")["banded"], mapped(part.path / "bands.npy")) for part in unit.corpus.parts
    ]
    buckets = []
    for number in range(unit.first, unit.last):
        keys, documents = _keys(unit, copy_of, [(banded, bands[number]) for banded, bands in parts])
        here = same_key(keys)
        here = Buckets(documents[here.members], here.starts)
        last = here.members[here.starts + here.sizes - 1]
        buckets.append(here.take(np.flatnonzero(last >= held)))
    _save(merged(buckets), out, "bucket")


def _keys(unit: BandUnit, copy_of: I64, parts: Iterable[tuple[Array, Array]]) -> tuple[Array, I64]:
    """Return the keys of one band that lie in the unit's range, and whose they are.

    Args:
        unit: of the band.
        copy_of: which document stands for the text of each.
        parts: of each part, which documents have a key, and their keys.
    """
    keys, owners = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    base = 0
    for banded, every in parts:
        documents = base + np.flatnonzero(banded)
        mine = copy_of[documents] == documents
        if unit.ranges > 1:
            mine &= every % np.uint64(unit.ranges) == unit.number
        keys.append(np.asarray(every[mine]))
        owners.append(documents[mine])
        base += len(banded)
        let_go(banded, every, copy_of)
    return np.concatenate(keys), np.concatenate(owners)


def find_components(unit: ComponentUnit, out: Path) -> None:
    """Number the documents in buckets by component, and cut them into groups.

    Writes ``candidates.npy``, ``ascending.npy``, ``number.npy`` (which candidate each of these is) and ``plan.json``.
    """
    ranked = mapped(unit.ranked / RANKED_FILE)
    inside = np.zeros(ranked.size, bool)
    for path in unit.buckets:
        members = load_buckets(path, "bucket").members
        inside[members] = True
        let_go(members)
    documents = np.flatnonzero(inside)
    del inside
    labels = np.arange(documents.size)
    for path in unit.buckets:
        buckets = load_buckets(path, "bucket")
        for which, within in walk(buckets, np.arange(buckets.starts.size)):
            start = buckets.starts[which]
            pairs = np.column_stack([buckets.members[start], buckets.members[start + within]])
            labels = connected(labels, np.searchsorted(documents, pairs))
    order = np.argsort(labels, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    np.save(out / "ascending.npy", documents)
    np.save(out / "number.npy", number)
    np.save(out / "candidates.npy", documents[order])
    del number
    lengths = looked_up(ranked["units"], documents[order])
    (out / "plan.json").write_text(json.dumps(_plan(labels[order], lengths)))


def rename(unit: BucketUnit, out: Path) -> None:
    """Write buckets as candidates, in order of their first, and ``firsts.npy``, that of each."""
    buckets = load_buckets(unit.buckets, "bucket")
    local = np.searchsorted(mapped(unit.candidates / "ascending.npy"), buckets.members)
    renamed = Buckets(mapped(unit.candidates / "number.npy")[local], buckets.starts)
    renamed = renamed.take(np.argsort(renamed.members[renamed.starts], kind="stable"))
    _save(renamed, out, "candidate")
    np.save(out / "firsts.npy", renamed.members[renamed.starts])


def _plan(labels: I64, lengths: I64) -> list[Group]:
    """Cut candidates, ordered by component, into groups of whole components of about equal work."""
    new = np.ones(labels.size, bool)
    new[1:] = labels[1:] != labels[:-1]
    bounds = np.append(np.flatnonzero(new), labels.size)
    filled = np.concatenate([[0], np.cumsum(lengths)])[bounds]
    plan: list[Group] = []
    at = 0
    while at < bounds.size - 1:
        end = max(at + 1, int(np.searchsorted(filled, filled[at] + UNITS_A_GROUP, "right")) - 1)
        plan.append(Group(int(bounds[at]), int(bounds[end]), int(filled[end] - filled[at])))
        at = end
    return plan


def read_plan(found: Found) -> list[Group]:
    """Return the groups of candidates."""
    return [Group(*group) for group in json.loads((found.candidates / "plan.json").read_text())]


def buckets_of(paths: Sequence[Path], group: Group, file: Path) -> Buckets:
    """Return the buckets of a group, each once, its first candidate being 0; members are written and mapped.

    Args:
        paths: directories of buckets of candidates.
        group: whose buckets are wanted.
        file: to write the members to, ``.npy``.
    """
    found = []
    for path in paths:
        every = load_buckets(path, "candidate")
        low, high = np.searchsorted(mapped(path / "firsts.npy"), [group.first, group.last]).tolist()
        if low < high:
            starts = every.starts[low:high]
            stop = int(every.starts[high]) if high < every.starts.size else every.members.size
            found.append(Buckets(every.members[starts[0] : stop], starts - starts[0]))
    sizes = [np.empty(0, np.int64)]
    with NpyStream(file, np.int64) as stream:
        for buckets, chosen in zip(found, once(found), strict=True):
            sizes.append(buckets.sizes[chosen])
            for which, within in walk(buckets, chosen):
                stream.write(buckets.members[buckets.starts[chosen[which]] + within] - group.first)
    every_size = np.concatenate(sizes)
    return Buckets(mapped(file), np.cumsum(every_size) - every_size)


def load_buckets(path: Path, kind: str) -> Buckets:
    """Return the ``bucket`` (of documents) or ``candidate`` buckets of a directory."""
    return Buckets(mapped(path / f"{kind}_members.npy"), mapped(path / f"{kind}_starts.npy"))


def _save(buckets: Buckets, out: Path, kind: str) -> None:
    np.save(out / f"{kind}_members.npy", buckets.members)
    np.save(out / f"{kind}_starts.npy", buckets.starts)
