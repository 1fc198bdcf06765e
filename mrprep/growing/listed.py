"""From a list of names to the documents that go: those named, copies of their text, what was left out for them."""

import codecs
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mrprep.builddir.layout import CLUSTERS, SKETCH
from mrprep.builddir.manifest import Build
from mrprep.duplicates.layout import Records
from mrprep.errors import MrprepError
from mrprep.order import I64, U64
from mrprep.printable import printable
from mrprep.provenance import tables
from mrprep.provenance.called import ID, lines_of, name_hashes, removed_names, shown
from mrprep.provenance.meaning import Meaning, meanings
from mrprep.provenance.name import described, line_within, several, unread, unread_files
from mrprep.runs import runs

SHOWN = 20
"""Documents of a list that are told one by one."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list of names comes to."""

    rows: I64
    """Ordinals of the rows in text/ that go, rising."""
    ids: U64
    """Of all documents that go, those among them that a map stage had left out; rising."""
    named: int
    """Documents that the list names."""
    copies: int
    """Documents that go with them, as they have the same text."""
    followers: int
    """Near duplicates that go with them, as dedupe had left them out in their favour."""
    resembling: tuple[str, ...]
    """Documents that stay though one that goes is a near duplicate of them: id and place."""
    documents: tuple[str, ...]
    """The first SHOWN documents that the list names: id and ``source/path:line``."""
    already: int
    """Names of documents that were removed before."""
    others: tuple[str, ...]
    """Those of these names that another document has now, which stays."""
    missing: tuple[str, ...]
    """Names that no document goes by, or with what is wrong: the file was not read, or holds several documents."""


def read_list(path: Path) -> list[str]:
    """Return the names in a file, one a line, each once; only blank lines are passed over.

    A line ends at LF, and loses the blanks, tabs and CR before that; all other bytes are of the name, as files may be
    called anything. A UTF-8 byte order mark at the start is none of a name.

    Raises:
        MrprepError: it cannot be read, is UTF-16, or holds no name.
    """
    where = printable(str(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MrprepError(f"{where} cannot be read: {(error.strerror or str(error)).lower()}") from None
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data:
        raise MrprepError(f"{where} is UTF-16 or binary, and a list is UTF-8: save it as UTF-8 text")
    lines = (line.rstrip(b" \t\r") for line in data.removeprefix(codecs.BOM_UTF8).split(b"\n"))
    found = list(dict.fromkeys(os.fsdecode(line) for line in lines if line.strip()))
    if not found:
        raise MrprepError(f"{where} names no document: write an id or path:line on each line")
    return found


@dataclass(frozen=True, slots=True)
class _Resolved:
    """What names mean; the strings as in `Listed`."""

    ids: U64
    """Rising."""
    documents: tuple[str, ...]
    already: int
    others: tuple[str, ...]
    missing: tuple[str, ...]


def documents_of(build: Build, names: Sequence[str]) -> Listed:
    """Return the documents that names mean (`provenance.meaning`), and those that go with them.

    A name of a document that was removed before means none, and not the one that has that name now, unless it is
    that one's own, with its source.
    Without dedupe nothing is known of copies: only what is named goes.
    """
    read = _resolved(build, names)
    wanted = read.ids
    named, _ = _rows(build, wanted)
    going = named
    copies = followers = 0
    resembling: tuple[str, ...] = ()
    if build.holds(CLUSTERS):
        every, copies, followers = _closed(build, named)
        resembling = tuple(_resembling(build, named, every.firsts))
        going = np.union1d(named, runs(every.firsts, every.rows))
    _, ids = _rows(build, np.zeros(0, np.uint64), going)
    every_id = np.union1d(wanted, ids)
    return Listed(
        going,
        every_id,
        wanted.size,
        copies,
        followers,
        resembling,
        read.documents,
        read.already,
        read.others,
        read.missing,
    )


def _resolved(build: Build, names: Sequence[str]) -> _Resolved:
    encoded = [os.fsencode(name) for name in names]
    meant = meanings(build, encoded)
    gone = _gone(build, encoded, meant)
    good: dict[int, None] = {}
    already, others, bad = 0, [], []
    for at, meaning in enumerate(meant):
        if gone[at]:
            already += 1
            others += [(names[at], meaning.ids[0])] if meaning.count else []
        elif meaning.count == 1:
            good[meaning.ids[0]] = None
        else:
            bad.append((at, meaning))
    ids = np.array(sorted(good), np.uint64)
    some = list(good)[:SHOWN]
    of = described(build, {*some, *(other for _, other in others), *(each for _, m in bad for each in m.ids)})
    reasons = unread_files(build)
    return _Resolved(
        ids,
        tuple(_told(of[identity]) for identity in some),
        already,
        tuple(f"{printable(name)!r} was removed; {_told(of[other])} has that name now" for name, other in others),
        tuple(
            several(names[at], meaning, of) if meaning.count else _unknown(reasons, names[at], encoded[at], meaning)
            for at, meaning in bad
        ),
    )


def _told(found: tables.Found) -> str:
    return f"{found.id:016x}  {shown(found.source, found.path, found.line)}"


def _gone(build: Build, names: Sequence[bytes], meant: Sequence[Meaning]) -> list[bool]:
    """Return of each name whether it was one of a document that was removed, and is not another's own full name."""
    gone: list[bool] = np.isin(name_hashes(names), removed_names(build)).tolist()
    there = {at: meant[at].ids[0] for at, was in enumerate(gone) if was and meant[at].count == 1}
    of = described(build, set(there.values()))
    for at, identity in there.items():
        gone[at] = names[at] not in lines_of(of[identity].source, of[identity].path, of[identity].line)
    return gone


def _unknown(reasons: Mapping[str, str], name: str, encoded: bytes, meaning: Meaning) -> str:
    """Say what is wrong with a name that means nothing."""
    if (line := line_within(encoded, meaning)) is not None:
        return f"{printable(name)!r} (no document begins on that line; the last one before it does on line {line:,})"
    return unread(reasons, name) or (name if ID.fullmatch(encoded) else repr(printable(name)))


def _rows(build: Build, ids: U64, rows: I64 | None = None) -> tuple[I64, U64]:
    """Return the rows of text/ that have one of some ids, or the ids of some rows."""
    ordinals, found = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    for base, table in tables.documents(build):
        if base is None:
            continue
        of_part = np.asarray(table["id"])
        if rows is None:
            ordinals.append(base + np.flatnonzero(np.isin(of_part, ids)))
        else:
            mine = rows[slice(*np.searchsorted(rows, (base, base + of_part.size)))] - base
            found.append(of_part[mine])
    return np.concatenate(ordinals), np.unique(np.concatenate(found))


@dataclass(frozen=True, slots=True)
class _Documents:
    """Some documents of a build, in its order."""

    firsts: I64
    """Ordinal of the first row of each."""
    rows: I64
    """Rows of each."""
    hashes: Records
    """XXH3-128 of the text of each, uint64[n, 2]."""


def _documents(build: Build, firsts: I64, hashes: Records) -> _Documents:
    """Return the documents that begin at some rows, or have the text of one that has one of some hashes.

    Memory: a part of the sketch, and what is found.
    """
    wanted = {row.tobytes() for row in hashes}
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 2), "<u8"))]
    for number, part in enumerate(build.manifest["text"]["parts"]):
        documents = np.load(build.file(SKETCH.format(number, "documents")))
        rows = documents["rows"].astype(np.int64)
        begins = part["base"] + np.cumsum(rows) - rows
        mine = np.isin(begins, firsts)
        for place in np.flatnonzero(np.isin(documents["exact"][:, 0], hashes[:, 0])).tolist():
            mine[place] |= documents["exact"][place].tobytes() in wanted
        found.append((begins[mine], rows[mine], documents["exact"][mine]))
    return _Documents(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _closed(build: Build, named: I64) -> tuple[_Documents, int, int]:
    """Return the documents that go with some, those among them; how many as copies, and how many as followers.

    Memory: 16 bytes a duplicate that the build has left out, and what goes.
    """
    clusters = tables.table_of(build.file(CLUSTERS), columns=["doc", "survivor", "against"])
    clusters = clusters.filter(pa.compute.is_null(clusters["against"]))
    doc, survivor = (clusters[name].to_numpy() for name in ("doc", "survivor"))
    none = np.zeros((0, 2), "<u8")
    every, copies, followers = _documents(build, named, none), 0, 0
    while True:
        same = _documents(build, every.firsts, every.hashes)
        following = np.setdiff1d(doc[np.isin(survivor, same.firsts)], same.firsts)
        copies, followers = copies + same.firsts.size - every.firsts.size, followers + following.size
        if not following.size:
            return same, copies, followers
        every = _documents(build, np.union1d(same.firsts, following), none)


def _resembling(build: Build, named: I64, going: I64) -> Iterator[str]:
    rows = tables.table_of(build.file(CLUSTERS), filters=pc.field("doc").isin(pa.array(named))).to_pylist()
    stays = np.setdiff1d([row["survivor"] for row in rows if row["against"] is None], going).astype(np.int64)
    found = {each.doc: each for each in _found(build, stays)}
    for row in rows:
        if row["against"] is not None:
            yield f"document {row['survivor']} of the earlier build {printable(row['against'])} ({row['kind']})"
        elif each := found.get(row["survivor"]):
            yield f"{_told(each)} ({row['kind']})"


def _found(build: Build, rows: I64) -> Iterator[tables.Found]:
    """Yield what is known of some rows of text/; a part without its texts is in memory."""
    for base, table in tables.documents(build) if rows.size else ():
        if base is not None:
            mine = np.zeros(table.num_rows, bool)
            mine[rows[slice(*np.searchsorted(rows, (base, base + table.num_rows)))] - base] = True
            yield from tables.found_rows(base, table, mine)


def shards_with(build: Build, rows: I64) -> list[tuple[str, int]]:
    """Return (split, place among its shards) of each shard that holds a token of one of some rows of text/."""
    found = []
    for split, facts in build.manifest["splits"].items():
        for number, shard in enumerate(facts["shards"]):
            with pq.ParquetFile(build.file(shard["provenance"])) as file:
                groups = (file.read_row_group(group, ["doc"])["doc"] for group in range(file.num_row_groups))
                if any(np.isin(docs.to_numpy(), rows).any() for docs in groups):
                    found.append((split, number))
    return found
