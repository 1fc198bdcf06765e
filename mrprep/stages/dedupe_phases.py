"""The phases of `dedupe`: candidates -> their shingles -> verified pairs -> clusters and verdicts.

Within them a document is its number among all documents in order of rows, a candidate its number among
candidates in order of (component, document).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mrprep.builddir.tables import CLUSTERS, TextPart
from mrprep.minhash.buckets import Buckets, merged, same_key
from mrprep.minhash.clusters import best, components, stars
from mrprep.minhash.jaccard import jaccard_of_pairs
from mrprep.minhash.sketch import shingle_set
from mrprep.minhash.verify import verify
from mrprep.order import I64, U64

RANKED = np.dtype([("ordinal", "<i8"), ("rows", "<i4"), ("units", "<i8"), ("copy_of", "<i8")])
"""Of each document: its first row, how many rows, how long, and the first document with its very text."""
REMOVED = np.dtype([("doc", "<i8"), ("survivor", "<i8"), ("cluster", "<i8"), ("jaccard", "<f8")])
"""Of each near duplicate, by document numbers."""
UNITS_A_GROUP = 4 << 20
"""Units of candidates compared by one unit of work, about as many shingles of 8 bytes."""
TEXT_A_SPAN = 32 << 20
"""Bytes of compressed text from which one unit of work takes its candidates."""


class Group(NamedTuple):
    """A range of candidates that is made of whole components, and of the buckets they are in."""

    first: int
    last: int
    first_bucket: int
    last_bucket: int
    shingles: int
    """About how many there are to compare."""


class Span(NamedTuple):
    """Parts whose candidates are read by one unit of work."""

    parts: tuple[TextPart, ...]
    base: int
    """Number of their first document."""
    weight: int


@dataclass(frozen=True)
class CandidateUnit:
    """All parts, and how many bands their sketches have."""

    parts: tuple[TextPart, ...]
    bands: int


@dataclass(frozen=True)
class ShingleUnit:
    """Parts of which the candidates' shingles are wanted."""

    found: Path
    parts: tuple[TextPart, ...]
    base: int
    ngram: int


@dataclass(frozen=True)
class VerifyUnit:
    """Candidates to compare."""

    found: Path
    shingles: tuple[Path, ...]
    group: Group
    threshold: float
    keep: str
    cluster: str


@dataclass(frozen=True)
class ClusterUnit:
    """What the verdicts are made of."""

    parts: tuple[TextPart, ...]
    found: Path
    verified: tuple[Path, ...]
    threshold: float


def find_candidates(unit: CandidateUnit, out: Path) -> None:
    """Collapse exact copies, put the rest into buckets, and group these by component."""
    ranked, banded = _ranked(unit.parts)
    single = ranked["copy_of"][banded] == banded
    buckets = []
    for band in range(unit.bands):
        keys = np.concatenate([np.load(part.path / "bands.npy", mmap_mode="r")[band] for part in unit.parts])
        here = same_key(keys[single])
        buckets.append(Buckets(banded[single][here.members], here.starts))
    candidates, grouped, plan = _grouped(merged(buckets), ranked["units"])
    np.save(out / "ranked.npy", ranked)
    np.save(out / "candidates.npy", candidates)
    np.save(out / "members.npy", grouped.members)
    np.save(out / "starts.npy", grouped.starts)
    (out / "plan.json").write_text(json.dumps(plan))


def read_plan(found: Path) -> list[Group]:
    """Return the groups of candidates to verify."""
    return [Group(*group) for group in json.loads((found / "plan.json").read_text())]


def spans(parts: Sequence[TextPart], found: Path) -> list[Span]:
    """Cut the parts into spans for reading candidates; those without any are left out."""
    candidates = np.sort(np.load(found / "candidates.npy"))
    cut: list[Span] = []
    open_: list[TextPart] = []
    base = number = weight = 0
    for part in parts:
        open_.append(part)
        number += len(np.load(part.path / "documents.npy", mmap_mode="r"))
        weight += (part.path / "text.parquet").stat().st_size
        if weight >= TEXT_A_SPAN or part is parts[-1]:
            low, high = np.searchsorted(candidates, [base, number])
            if low < high:
                cut.append(Span(tuple(open_), base, weight))
            open_, base, weight = [], number, 0
    return cut


def shingle_candidates(unit: ShingleUnit, out: Path) -> None:
    """Write the shingle sets of the candidates of some parts, in order of documents."""
    ranked = np.load(unit.found / "ranked.npy", mmap_mode="r")
    candidates = np.sort(np.load(unit.found / "candidates.npy"))
    wanted, sizes = [np.empty(0, np.int64)], []
    base = unit.base
    with (out / "shingles.u64").open("wb") as file:
        for part in unit.parts:
            stop = base + len(np.load(part.path / "documents.npy", mmap_mode="r"))
            mine = candidates[np.searchsorted(candidates, base) : np.searchsorted(candidates, stop)]
            rows = ranked["ordinal"][mine] - part.base
            for data, offsets in _texts(part.path, rows, ranked["rows"][mine]):
                shingles = shingle_set(data, offsets, unit.ngram)
                shingles.tofile(file)
                sizes.append(shingles.size)
            wanted.append(mine)
            base = stop
    np.save(out / "documents.npy", np.concatenate(wanted))
    np.save(out / "sizes.npy", np.array(sizes, np.int64))


def verify_group(unit: VerifyUnit, out: Path) -> None:
    """Compare the candidates of a group, and write which of them are to go, and for which."""
    group = unit.group
    documents = np.load(unit.found / "candidates.npy", mmap_mode="r")[group.first : group.last]
    starts = np.load(unit.found / "starts.npy", mmap_mode="r")
    bounds = np.append(starts, len(np.load(unit.found / "members.npy", mmap_mode="r")))
    low, high = int(bounds[group.first_bucket]), int(bounds[group.last_bucket])
    members = np.load(unit.found / "members.npy", mmap_mode="r")[low:high] - group.first
    buckets = Buckets(members, np.asarray(starts[group.first_bucket : group.last_bucket]) - low)
    store = _Shingles(unit.shingles, documents)
    found = verify(
        documents.size,
        buckets,
        lambda pairs: jaccard_of_pairs(pairs, store.get, store.sizes, unit.threshold),
        unit.threshold,
        every_pair=unit.cluster == "star",
    )
    lengths = np.load(unit.found / "ranked.npy", mmap_mode="r")["units"][documents]
    lengths = lengths if unit.keep == "longest" else np.zeros_like(lengths)
    if unit.cluster == "star":
        survivors = stars(lengths, found.pairs)
    else:
        survivors = best(components(documents.size, found.pairs), lengths)
    gone = np.flatnonzero(survivors != np.arange(documents.size))
    removed = np.zeros(gone.size, REMOVED)
    removed["doc"], removed["survivor"] = documents[gone], documents[survivors[gone]]
    least = np.arange(documents.size)
    np.minimum.at(least, survivors[gone], gone)
    removed["cluster"] = documents[least[survivors[gone]]]
    removed["jaccard"] = jaccard_of_pairs(np.column_stack([gone, survivors[gone]]), store.get, store.sizes)
    np.save(out / "removed.npy", removed)
    (out / "overflow.json").write_text(json.dumps(found.overflow))


def write_clusters(unit: ClusterUnit, out: Path) -> None:
    """Write the verdict of every row, the table of removed documents and their counts."""
    ranked = np.load(unit.found / "ranked.npy")
    removed = np.concatenate(
        [np.empty(0, REMOVED), *(np.load(path / "removed.npy") for path in unit.verified)]
    )
    overflow = sum(json.loads((path / "overflow.json").read_text()) for path in unit.verified)
    table = _removals(ranked["copy_of"], removed, unit.threshold)
    verdict = np.full(ranked.size, -1, np.int64)
    verdict[table["doc"]] = ranked["ordinal"][table["survivor"]]
    np.save(out / "verdict.npy", np.repeat(verdict, ranked["rows"]))
    kinds = np.array(["exact", "near", "chain"])
    counts = {kind: int(np.count_nonzero(table["kind"] == number)) for number, kind in enumerate(kinds)}
    (out / "counts.json").write_text(json.dumps({**counts, "overflow": overflow}))
    _write_table(table, ranked["ordinal"], kinds, out / "clusters.parquet")


def _ranked(parts: Sequence[TextPart]) -> tuple[npt.NDArray[Any], I64]:
    """Return RANKED of all documents, and the numbers of those with band keys."""
    documents = np.concatenate([np.load(part.path / "documents.npy") for part in parts])
    ranked = np.zeros(documents.size, RANKED)
    ranked["rows"], ranked["units"] = documents["rows"], documents["units"]
    ranked["ordinal"] = np.cumsum(documents["rows"], dtype=np.int64) - documents["rows"]
    ranked["copy_of"] = _first_copies(documents["exact"])
    return ranked, np.flatnonzero(documents["banded"])


def _first_copies(exact: U64) -> I64:
    """Return for each document the first one with the same 128-bit hash."""
    order = np.argsort(exact[:, 0], kind="stable")
    ranked = exact[order]
    new = np.concatenate([[True], (ranked[1:] != ranked[:-1]).any(axis=1)])[: order.size]
    starts = np.flatnonzero(new)
    first = np.empty(order.size, np.int64)
    first[order] = np.repeat(order[starts], np.diff(starts, append=order.size))
    return first


def _grouped(buckets: Buckets, lengths: I64) -> tuple[I64, Buckets, list[Group]]:
    """Number the candidates by component, order the buckets alike, and cut both into groups."""
    documents = np.unique(buckets.members)
    local = np.searchsorted(documents, buckets.members)
    stars_ = np.column_stack([np.repeat(local[buckets.starts], buckets.sizes), local])
    labels = components(documents.size, stars_)
    order = np.argsort(labels, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    renamed = Buckets(number[local], buckets.starts)
    renamed = renamed.take(np.argsort(renamed.members[renamed.starts], kind="stable"))
    plan = _plan(labels[order], lengths[documents[order]], renamed.members[renamed.starts])
    return documents[order], renamed, plan


def _plan(labels: I64, lengths: I64, first_members: I64) -> list[Group]:
    """Cut candidates, ordered by component, into groups of whole components of about equal work."""
    begins = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]])[: labels.size])
    filled = np.concatenate([[0], np.cumsum(lengths)])
    plan: list[Group] = []
    at = 0
    bounds = np.append(begins, labels.size)
    while at < begins.size:
        end = max(
            at + 1, int(np.searchsorted(filled[bounds], filled[bounds[at]] + UNITS_A_GROUP, "right")) - 1
        )
        first, last = int(bounds[at]), int(bounds[end])
        low, high = np.searchsorted(first_members, [first, last])
        plan.append(Group(first, last, int(low), int(high), int(filled[last] - filled[first])))
        at = end
    return plan


def _texts(path: Path, rows: I64, pieces: npt.NDArray[np.int32]) -> Iterator[tuple[bytes, I64]]:
    """Yield the texts of documents that begin at ascending ``rows``, reading only the row groups needed."""
    import pyarrow.parquet as pq

    if not rows.size:
        return
    with pq.ParquetFile(path / "text.parquet") as file:
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        begins = np.cumsum([0, *sizes])

        @lru_cache(maxsize=1)
        def texts(group: int) -> Any:
            return file.read_row_group(group, columns=["text"]).column("text")

        for row, count in zip(rows.tolist(), pieces.tolist(), strict=True):
            found = []
            for at in range(row, row + count):
                group = int(np.searchsorted(begins, at, "right")) - 1
                found.append(texts(group)[at - int(begins[group])].as_buffer().to_pybytes())
            yield b"".join(found), np.cumsum([0, *map(len, found)])


class _Shingles:
    """Shingle sets of candidates, mapped from the files of the shingle phase."""

    def __init__(self, paths: Sequence[Path], documents: I64) -> None:
        known = [np.load(path / "documents.npy") for path in paths]
        sizes = [np.load(path / "sizes.npy") for path in paths]
        which = np.searchsorted(np.concatenate(known), documents)
        self.sizes = np.concatenate(sizes)[which]
        self._file = np.repeat(np.arange(len(paths)), [len(one) for one in known])[which]
        self._at = np.concatenate([np.cumsum(one) - one for one in sizes])[which]
        self._maps = [np.memmap(path / "shingles.u64", np.uint64, "r") for path in paths]

    def get(self, number: int) -> U64:
        """Return the shingles of a candidate."""
        at = self._at[number]
        shingles: U64 = self._maps[self._file[number]][at : at + self.sizes[number]]
        return shingles


def _removals(copy_of: I64, near: npt.NDArray[Any], threshold: float) -> npt.NDArray[Any]:
    """Return all removed documents, copies included, in their order; kind 0 exact, 1 near, 2 chain."""
    size = copy_of.size
    survivor, cluster, jaccard = np.arange(size), np.arange(size), np.ones(size)
    survivor[near["doc"]] = near["survivor"]
    cluster[near["doc"]] = near["cluster"]
    cluster[near["survivor"]] = near["cluster"]
    jaccard[near["doc"]] = near["jaccard"]
    gone = np.flatnonzero(survivor[copy_of] != np.arange(size))
    first = copy_of[gone]
    table = np.zeros(gone.size, [*REMOVED.descr, ("kind", "<i4")])
    table["doc"], table["survivor"], table["cluster"] = gone, survivor[first], cluster[first]
    table["jaccard"] = jaccard[first]
    same = survivor[first] == first
    table["kind"] = np.where(same, 0, np.where(table["jaccard"] >= threshold, 1, 2))
    return table


def _write_table(table: npt.NDArray[Any], ordinal: I64, kinds: npt.NDArray[np.str_], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [ordinal[table[name]] for name in ("doc", "survivor", "cluster")]
    rows = pa.table([*columns, pa.array(kinds[table["kind"]]), table["jaccard"]], schema=CLUSTERS)
    pq.write_table(rows, path, compression="zstd", compression_level=1)
