"""From what a user calls a document to the document, and what to say where that leads nowhere."""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from mrprep.builddir.manifest import Build
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.provenance.called import AT_LINE, name_hashes, removed_names, shown
from mrprep.provenance.meaning import LISTED, Meaning, heads, meanings
from mrprep.provenance.tables import Found, documents, found_rows

_RECORDS = re.compile(rb"\.(jsonl|ndjson|json|parquet|arrow)(\.(gz|zst|bz2|xz))?$", re.IGNORECASE)
ADVICE = "name source/path:line or path:line as the build read it, the line on which the document begins, or an id"
"""What to do about a name that means no document."""


def find_document(build: Build, name: str) -> list[Found]:
    """Return the pieces of the document that a name means, as people type names: also by a line that it is on.

    Beside what `meaning.meanings` takes, a file may be named by a longer path that ends in its own, unless that has the
    name of another source in it.

    Raises:
        MrprepError: nothing, or more than one document, goes by that name; the message lists some.
    """
    ways = _ways(build, os.fsencode(name))
    gone = np.isin(name_hashes(ways), removed_names(build)).tolist()
    for way, meaning, removed in zip(ways, meanings(build, ways), gone, strict=True):
        found = meaning
        if removed and not meaning.count:
            raise MrprepError(f"no document of this build goes by {printable(name)!r}: it was removed on request")
        if not meaning.count and (line := line_within(way, meaning)) is not None:
            (found,) = meanings(build, [b"%s:%d" % (_file(way), line)])
        if found.count > 1:
            raise MrprepError(several(name, found, described(build, found.ids)))
        if found.count:
            return [each for each in _rows(build, found.ids) if each.id == found.ids[0]]
    raise MrprepError(
        unread(unread_files(build), name)
        or f"no document of this build goes by {printable(name)!r}{on_request(build)}: {ADVICE}"
    )


def described(build: Build, ids: Collection[int]) -> dict[int, Found]:
    """Return the first piece of each of some documents."""
    return {each.id: each for each in reversed(_rows(build, ids))}


def several(name: str, meaning: Meaning, found: Mapping[int, Found]) -> str:
    """Say which documents go by one name; ``found``: `described` of them."""
    of = sorted((found[identity] for identity in meaning.ids), key=lambda f: (f.path, f.line, f.source))
    some = ", ".join(f"{f.id:016x} {shown(f.source, f.path, f.line)}" for f in of)
    more = ", …" if meaning.count > LISTED else ""
    return f"{printable(name)!r} holds {meaning.count:,} documents: name one of them ({some}{more})"


def line_within(name: bytes, meaning: Meaning) -> int | None:
    """Return the line before that of a name on which a document of its file begins; None of a file of records."""
    return None if _RECORDS.search(_file(name)) else meaning.before


def unread_files(build: Build) -> dict[str, str]:
    """Return the files that were not read, as they are printed, and why."""
    inputs: Mapping[str, Sequence[Mapping[str, Any]]] = build.manifest["inputs"]
    reasons = {item["path"]: item["reason"] for item in inputs["skipped"]}
    return reasons | {item["path"]: item["problem"] for item in inputs["problems"]}


def unread(reasons: Mapping[str, str], name: str) -> str:
    """Say that the file of a name was not read, and why; empty if `unread_files` tells nothing of the kind."""
    parts = printable(name, 4096).split("/")
    paths = ("/".join(parts[at:]) for at in range(len(parts)))
    return next((f"{path} was not read: {reasons[path]}" for path in paths if path in reasons), "")


def on_request(build: Build) -> str:
    """Return the clause that says how many documents were removed whose names are not remembered; empty if none was."""
    count = build.manifest["ledger"]["documents"].get("removed_on_request", 0)
    return (
        f" ({count:,} removed on request, and their names not kept)" if count and not removed_names(build).size else ""
    )


def _file(name: bytes) -> bytes:
    match = AT_LINE.fullmatch(name)
    return match[1] if match else name


def _ways(build: Build, name: bytes) -> list[bytes]:
    """Return a name, and the ends of it that may be meant: none that leaves out the source that it names."""
    parts = os.path.normpath(name).split(b"/")
    ends = [b"/".join(parts[at:]) for at in range(len(parts))]
    named = [at for at, end in enumerate(ends) if heads(build, end)]
    return list(dict.fromkeys([name, *ends[: named[-1] + 1 if named else None]]))


def _rows(build: Build, ids: Collection[int]) -> list[Found]:
    """Return all pieces of some documents, each document's in order."""
    wanted = np.array(sorted(ids), np.uint64)
    found = [
        each
        for base, table in documents(build)
        for each in found_rows(base, table, np.isin(np.asarray(table["id"]), wanted))
    ]
    return sorted(found, key=lambda f: f.piece)
