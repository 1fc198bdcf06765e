"""Documents that stand inside longer ones: candidates by prints, then the exact share of their shingles.

After near duplicates are found, prints are made of the documents that stay, by reading them again. A document is a
candidate with a longer one that has half of its prints; prints in more than `MOST_SHARERS` documents say nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mrprep.builddir.mapped import mapped
from mrprep.builddir.tables import TextPart
from mrprep.duplicates.layout import CONTAINED, HELD, Corpus, Found, documents_in
from mrprep.duplicates.shingle_files import ShingleFiles, shingle_units, write_shingles
from mrprep.duplicates.texts import read_documents
from mrprep.engine.phase import RunPhase
from mrprep.minhash.bands import F64
from mrprep.minhash.buckets import same_key
from mrprep.minhash.documents import Documents
from mrprep.minhash.winnow import prints
from mrprep.order import I64, U64

PRINTS_A_UNIT = 4 << 20
MOST_SHARERS = 64
LEAST_SHARED = 0.5
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


@dataclass(frozen=True)
class PrintUnit:
    """A part of which prints are to be made, and what near duplicates have left of it."""

    part: TextPart
    base: int
    """Number of its first document."""
    found: Found
    compared: tuple[Path, ...]
    ngram: int


@dataclass(frozen=True)
class ShareUnit:
    """A range of the prints of all parts."""

    printed: tuple[Path, ...]
    number: int
    ranges: int


@dataclass(frozen=True)
class PairUnit:
    """Pairs of documents that share prints."""

    shared: tuple[Path, ...]
    printed: tuple[Path, ...]
    found: Found


@dataclass(frozen=True)
class ContainUnit:
    """Candidates for containment to compare."""

    inside: Found
    shingles: tuple[Path, ...]
    least: float


def find_contained(
    run_phase: RunPhase,
    corpus: Corpus,
    found: Found,
    compared: Sequence[Path],
    ngram: int,
    least: float,
    settings: Mapping[str, Any],
) -> Path:
    """Run the phases; return the directory of ``contained.npy``, CONTAINED[documents that go]."""
    bases = np.cumsum([0, *documents_in(corpus.parts)]).tolist()
    units = [
        PrintUnit(part, base, found, tuple(compared), ngram) for part, base in zip(corpus.parts, bases, strict=False)
    ]
    printed = tuple(run_phase("dedupe.prints", units, write_prints, settings=settings))
    ranges = 1 + sum(len(np.load(path / "prints.npy", mmap_mode="r")) for path in printed) // PRINTS_A_UNIT
    shares = [ShareUnit(printed, number, ranges) for number in range(ranges)]
    shared = tuple(run_phase("dedupe.shared", shares, write_shared, settings=settings))
    (pairs,) = run_phase("dedupe.inside", [PairUnit(shared, printed, found)], write_pairs, settings=settings)
    inside = Found(found.ranked, found.copies, pairs)
    texts = shingle_units(inside, corpus.parts, ngram)
    shingles = tuple(run_phase("dedupe.inside.shingles", texts, write_shingles, settings=settings))
    return run_phase("dedupe.contained", [ContainUnit(inside, shingles, least)], write_contained, settings=settings)[0]


def write_prints(unit: PrintUnit, out: Path) -> None:
    """Write ``prints.npy`` and ``owners.npy``, the document of each, every pair once, in order of documents."""
    ranked, copy_of = mapped(unit.found.ranked / "ranked.npy"), mapped(unit.found.copies / "copy_of.npy")
    numbers = np.arange(unit.base, unit.base + documents_in([unit.part])[0])
    stays = copy_of[numbers] == numbers
    for path in unit.compared:
        gone = mapped(path / "removed.npy")["doc"] - unit.base
        stays[gone[(gone >= 0) & (gone < stays.size)]] = False
    numbers = numbers[stays]
    made, owners = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    at = 0
    rows = ranked[numbers]
    for batch in read_documents(unit.part.path, rows["ordinal"] - unit.part.base, rows["rows"]):
        at -= batch.continues
        for first, documents in batch.documents.batches():
            values, of = _prints(documents, unit.ngram)
            made.append(values)
            owners.append(numbers[at + first + of])
        at += batch.documents.first.size
    value, owner = np.concatenate(made), np.concatenate(owners)
    order = np.lexsort((value, owner))
    value, owner = value[order], owner[order]
    new = np.ones(order.size, bool)
    new[1:] = (value[1:] != value[:-1]) | (owner[1:] != owner[:-1])
    np.save(out / "prints.npy", value[new])
    np.save(out / "owners.npy", owner[new])


def _prints(documents: Documents, ngram: int) -> tuple[U64, I64]:
    if not documents.long:
        hashes, counts, _ = documents.shingles(ngram)
        return prints(hashes, counts)
    found = [prints(window, np.array([window.size]))[0] for window, _ in documents.windows(ngram)]
    values = np.concatenate(found)
    return values, np.zeros(values.size, np.int64)


def write_shared(unit: ShareUnit, out: Path) -> None:
    """Write ``pairs.npy``, int64[p, 3]: two documents and how many of these prints they share."""
    values, owners = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for path in unit.printed:
        own = np.load(path / "prints.npy")
        mine = own % np.uint64(unit.ranges) == unit.number
        values.append(own[mine])
        owners.append(np.load(path / "owners.npy")[mine])
    owner = np.concatenate(owners)
    buckets = same_key(np.concatenate(values))
    buckets = buckets.take(np.flatnonzero(buckets.sizes <= MOST_SHARERS))
    within = np.arange(buckets.members.size) - np.repeat(buckets.starts, buckets.sizes)
    pairs = [np.empty((0, 2), np.int64)]
    for distance in range(1, MOST_SHARERS):
        later = np.flatnonzero(within >= distance)
        pairs.append(owner[np.column_stack([buckets.members[later - distance], buckets.members[later]])])
    unique, counts = np.unique(np.concatenate(pairs), axis=0, return_counts=True)
    np.save(out / "pairs.npy", np.column_stack([unique, counts]))


def write_pairs(unit: PairUnit, out: Path) -> None:
    """Write ``candidates.npy``, documents, and ``pairs.npy``, int64[p, 2]: which may stand in which, as candidates."""
    ranked = mapped(unit.found.ranked / "ranked.npy")
    every = np.concatenate([np.load(path / "pairs.npy") for path in unit.shared])
    pairs, which = np.unique(every[:, :2], axis=0, return_inverse=True)
    shared = np.bincount(which.ravel(), every[:, 2], len(pairs))
    known, local = np.unique(pairs, return_inverse=True)
    local = local.reshape(-1, 2)
    made = np.zeros(known.size, np.int64)
    for path in unit.printed:
        made += np.diff([np.searchsorted(mapped(path / "owners.npy"), known, side) for side in _SIDES], axis=0)[0]
    units = ranked["units"][known]
    longer = units[local[:, 0]] >= units[local[:, 1]]
    local[longer] = local[longer][:, ::-1]
    likely = (shared >= LEAST_SHARED * made[local[:, 0]]) & (ranked["priority"][known][local[:, 0]] != HELD)
    candidates, inside = np.unique(known[local[likely]], return_inverse=True)
    np.save(out / "candidates.npy", candidates)
    np.save(out / "ascending.npy", candidates)
    np.save(out / "pairs.npy", inside.reshape(-1, 2))


def write_contained(unit: ContainUnit, out: Path) -> None:
    """Write ``contained.npy``: documents of which the least share of shingles is in a longer one that stays."""
    documents = np.load(unit.inside.candidates / "candidates.npy")
    pairs = np.load(unit.inside.candidates / "pairs.npy")
    if not pairs.size:
        np.save(out / "contained.npy", np.empty(0, CONTAINED))
        return
    shingles = ShingleFiles(unit.shingles, documents)
    parent = _parents(documents.size, pairs, _shares(pairs, shingles)[0], unit.least)
    gone = np.flatnonzero(parent != np.arange(documents.size))
    found = np.zeros(gone.size, CONTAINED)
    found["doc"], found["survivor"] = documents[gone], documents[parent[gone]]
    found["share"], found["jaccard"] = _shares(np.column_stack([gone, parent[gone]]), shingles)
    np.save(out / "contained.npy", found)


def _shares(pairs: I64, shingles: ShingleFiles) -> tuple[F64, F64]:
    """Return which share of the shingles of the first of each pair is in the second, and their Jaccard."""
    jaccard = shingles.jaccard(pairs)
    sizes = shingles.sizes[pairs]
    common = np.rint(jaccard * sizes.sum(axis=1) / (1 + jaccard))
    return common / np.maximum(1, sizes[:, 0]), jaccard


def _parents(size: int, pairs: I64, shares: F64, least: float) -> I64:
    """Return for each candidate the one in which it stands in the end, or itself; of several that of largest share."""
    parent = np.arange(size, dtype=np.int64)
    good = np.flatnonzero(shares >= least)
    order = good[np.argsort(shares[good], kind="stable")]
    parent[pairs[order, 0]] = pairs[order, 1]
    while (further := parent[parent]).tobytes() != parent.tobytes():
        parent = further
    return parent
