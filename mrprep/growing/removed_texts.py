"""Texts that were removed on request: a build keeps their hashes, and an addition goes without them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import xxhash

from mrprep.builddir.digest import digest
from mrprep.builddir.tables import TextPart, numbered
from mrprep.builddir.textpart import TextPartWriter, documents
from mrprep.document import Dropped
from mrprep.duplicates.layout import Records
from mrprep.duplicates.texts import flat
from mrprep.engine.phase import RunPhase
from mrprep.order import U64, document_id
from mrprep.stages import dedupe

VERSION = 1
STAGE = "remove"
"""What the books call it, as a stage that drops documents."""
REASON = "on-request"


@dataclass(frozen=True, slots=True)
class FindUnit:
    """A part of an addition, and the hashes of the texts that it must not have."""

    part: Path
    removed: Path


@dataclass(frozen=True, slots=True)
class LeaveOutUnit:
    """A part of an addition, and where ``find_part`` has written which of its documents go."""

    part: Path
    found: Path
    dedupe: dedupe.Options | None
    """How to sketch what stays; None if no dedupe follows."""


def leave_out(
    run_phase: RunPhase, parts: Sequence[TextPart], removed: Path, following: dedupe.Options | None
) -> list[TextPart]:
    """Drop the documents of an addition whose text was removed from its build; parts without such stay as they are.

    Args:
        run_phase: runs the phases.
        parts: of the last phase that writes texts.
        removed: hashes of the removed texts, uint64[n, 2].
        following: options of dedupe, if it is a stage.

    Returns:
        As many parts in the same order.
    """
    settings = {"version": VERSION, "removed": digest(removed)["sha256"]}
    units = [FindUnit(part.path, removed.resolve()) for part in parts]
    sizes = [part.text_bytes for part in parts]
    found = run_phase("removed.found", units, find_part, settings=settings, weights=sizes)
    paths = [part.path for part in parts]
    mine = [number for number, path in enumerate(found) if np.load(path / "found.npy", mmap_mode="r").size]
    if following:
        settings["dedupe"] = dedupe.sketch_settings(following)
    rewritten = [LeaveOutUnit(paths[number], found[number], following) for number in mine]
    sizes = [sizes[number] for number in mine]
    done = run_phase("removed.texts", rewritten, leave_out_part, settings=settings, weights=sizes) if mine else []
    for number, path in zip(mine, done, strict=True):
        paths[number] = path
    return numbered(paths)


def find_part(unit: FindUnit, out: Path) -> None:
    """Write ``found.npy``: uint64[n], the ids of the documents whose text was removed."""
    ids, hashes = text_hashes(unit.part / "text.parquet")
    np.save(out / "found.npy", ids[_among(hashes, np.load(unit.removed))])


def leave_out_part(unit: LeaveOutUnit, out: Path) -> None:
    """Write what `read_unit` writes of a part, without the documents that go; of their texts nothing is quoted."""
    gone = frozenset(np.load(unit.found / "found.npy").tolist())
    sketches = dedupe.sketches(unit.dedupe)
    writer = TextPartWriter(out, sketches.add)
    writer.follow(unit.part)
    for document in documents(unit.part):
        place = document.place
        if document_id(place.source, place.path, place.offset) in gone:
            writer.drop(Dropped(replace(document, text=""), REASON, "its text was removed from this build"), STAGE)
        else:
            writer.keep(document)
    writer.close()
    sketches.save(out)


def text_hashes(path: Path) -> tuple[U64, Records]:
    """Return the id and the XXH3-128 of the text of each document of a part: uint64[d], uint64[d, 2].

    Memory is a row group, and what is returned.
    """
    ids, digests = [], []
    for identity, rows in groupby(_rows(path), key=itemgetter(0)):
        hasher = xxhash.xxh3_128()
        for _, text in rows:
            hasher.update(text)
        ids.append(identity)
        digests.append(hasher.digest())
    return np.array(ids, np.uint64), np.frombuffer(b"".join(digests), ">u8").reshape(-1, 2).astype("<u8")


def _rows(path: Path) -> Iterator[tuple[int, memoryview]]:
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, ["id", "text"], use_threads=False)
            data, offsets = flat(table["text"])
            for at, identity in enumerate(table["id"].to_pylist()):
                yield identity, data[offsets[at] : offsets[at + 1]]


def _among(hashes: Records, known: Records) -> npt.NDArray[np.int64]:
    """Return which of some hashes are known."""
    likely = np.flatnonzero(np.isin(hashes[:, 0], known[:, 0]))
    wanted = set(map(tuple, known[np.isin(known[:, 0], hashes[likely, 0])].tolist()))
    there = np.array([tuple(row) in wanted for row in hashes[likely].tolist()], bool)
    found: npt.NDArray[np.int64] = likely[there]
    return found
