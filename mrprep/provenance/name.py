"""From what a user calls a document to the document."""

import os
import re

import numpy as np
import pyarrow as pa

from mrprep.builddir.manifest import Build
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.provenance.tables import Found, Mask, documents, found_rows

ID = re.compile(r"[0-9a-f]{16}")
"""How a document's id is written."""
_RECORDS = re.compile(rb"\.(jsonl|json|parquet|arrow)(\.(gz|zst|bz2|xz))?$", re.IGNORECASE)
ADVICE = "name a file as the build read it, file:line, or an id"
"""What to do about a name that means no document."""
_LISTED = 10


def find_document(build: Build, name: str) -> list[Found]:
    """Return the pieces of the document that ``name`` means: an id, a file with one document, or file:line.

    A file is named by its path within the source, or by any longer path that ends in it, such as ``source/path``.

    Raises:
        MrprepError: nothing, or more than one document, goes by that name; the message lists some.
    """
    found = named(build, name)
    if not found:
        raise MrprepError(
            unread(build, name) or f"no document of this build goes by {printable(name)!r}{on_request(build)}: {ADVICE}"
        )
    return found


def named(build: Build, name: str) -> list[Found]:
    """Return the pieces of the document that ``name`` means, none if it means nothing; else as `find_document`."""
    if ID.fullmatch(name):
        return _pieces(_matching_id(build, int(name, 16)), name)
    matches = _matching_path(build, os.fsencode(name))
    path, _, line = name.rpartition(":")
    if not matches and line.isdigit():
        matches = _at_line(_matching_path(build, os.fsencode(path)), int(line))
    return _pieces(matches, name)


def unread(build: Build, name: str) -> str:
    """Say that the file of a name was not read, and why; empty if the build tells nothing of the kind."""
    inputs = build.manifest["inputs"]
    reasons = {item["path"]: item["reason"] for item in inputs["skipped"]}
    reasons |= {item["path"]: item["problem"] for item in inputs["problems"]}
    shown = printable(name)
    found = (path for path in reasons if shown == path or shown.endswith(f"/{path}"))
    return next((f"{path} was not read: {reasons[path]}" for path in found), "")


def on_request(build: Build) -> str:
    """Return the clause that says how many documents were removed on request; empty if none was."""
    count = build.manifest["ledger"]["documents"].get("removed_on_request", 0)
    return f" ({count:,} removed on request, and their names not kept)" if count else ""


def _matching_id(build: Build, wanted: int) -> list[Found]:
    return [
        found
        for base, table in documents(build)
        for found in found_rows(base, table, np.asarray(table["id"]) == np.uint64(wanted))
    ]


def _matching_path(build: Build, wanted: bytes) -> list[Found]:
    """Return the rows whose path ends ``wanted``; only those of the source that it names, if it names one."""
    wanted = os.path.normpath(wanted)
    found = [
        each for base, table in documents(build) for each in found_rows(base, table, _has_path(table["path"], wanted))
    ]
    return [f for f in found if (b"/" + wanted).endswith(b"/%s/%s" % (os.fsencode(f.source), f.path))] or found


def _has_path(column: pa.ChunkedArray, wanted: bytes) -> Mask:
    """Return a mask of the rows whose path is ``wanted`` or the end of it."""
    encoded = column.combine_chunks().dictionary_encode() if column.num_chunks else pa.chunked_array([], column.type)
    if not len(encoded):
        return np.zeros(0, bool)
    hits = [wanted == path or wanted.endswith(b"/" + path) for path in encoded.dictionary.to_pylist()]
    mask: Mask = np.asarray(hits, bool)[encoded.indices.to_numpy()]
    return mask


def _at_line(found: list[Found], line: int) -> list[Found]:
    """Return the document that a line is in: the last to begin at or before it; a record is on one line alone."""
    exact = [f for f in found if f.line == line]
    if exact or any(_RECORDS.search(f.path) for f in found):
        return exact
    before = max((f.line for f in found if f.line <= line), default=None)
    return [f for f in found if f.line == before]


def _pieces(found: list[Found], name: str) -> list[Found]:
    firsts = sorted({f.id: f for f in reversed(found)}.values(), key=lambda f: (f.path, f.line, f.source))
    if len(firsts) > 1:
        above = len({f.source for f in firsts}) > 1
        some = ", ".join(f"{f.id:016x} {f'{printable(f.source)}/' if above else ''}{f.place}" for f in firsts[:_LISTED])
        more = ", …" if len(firsts) > _LISTED else ""
        raise MrprepError(f"{printable(name)!r} holds {len(firsts)} documents: name one of them ({some}{more})")
    return sorted(found, key=lambda f: f.piece)
