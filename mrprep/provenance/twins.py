"""What dedupe did with a document, in words: for whom it went, or whom it stands for."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from mrprep.builddir.digest import digest
from mrprep.builddir.layout import MANIFEST, RUN
from mrprep.builddir.manifest import Build, open_build
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.provenance import tables
from mrprep.provenance.difference import difference

_LISTED = 12


def twins(build: Build, doc: int, first: int, text: str) -> Iterator[str]:
    """Yield the lines of ``mrprep why`` on dedupe.

    Args:
        build: that has the stage dedupe.
        doc: ordinal of the row.
        first: ordinal of the first row of its document.
        text: of the row.
    """
    verdict = tables.verdict(build, doc)
    row = tables.cluster_row(build, first)
    if verdict == -1:
        yield from _stands_for(build, first)
    elif row is None or row["against"] is None:
        kept, other, _ = tables.by_ordinal(build, verdict)
        yield f"dedupe    duplicate ({_how(row)}) of {_named(kept)}, which is kept"
        yield from (f"          {line}" for line in difference(other, text))
    else:
        yield from _held(build, row, text)


def _how(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "same verdict as its first piece"
    if row["kind"] == "contained":
        return f"contained, {row['share']:.1%} of its shingles, Jaccard {row['jaccard']:.4f}"
    compared = f", Jaccard {row['jaccard']:.4f}" if row["jaccard"] is not None else ""
    return f"{row['kind']}{compared}"


def _named(found: tables.Found) -> str:
    return f"{found.id:016x}  {printable(found.source)}  {found.place}"


def _held(build: Build, row: Mapping[str, Any], text: str) -> Iterator[str]:
    name = printable(row["against"])
    earlier = _earlier(build, row["against"])
    if earlier is None:
        yield f"dedupe    duplicate ({_how(row)}) of document {row['survivor']} of the earlier build {name}"
        return
    found, other, _ = tables.by_ordinal(earlier, row["survivor"])
    yield f"dedupe    duplicate ({_how(row)}) of {_named(found)}, which the earlier build {name} holds"
    yield from (f"          {line}" for line in difference(other, text))


def _earlier(build: Build, name: str) -> Build | None:
    """Return the earlier build of that name, if it still stands where it was and is the one that was compared with."""
    run = orjson.loads(build.file(RUN).read_bytes()) if build.file(RUN).is_file() else {}
    path = Path(run.get("against", {}).get(name, ""))
    recorded = {each["name"]: each["manifest"] for each in build.manifest["pipeline"]["against"]}
    try:
        found = open_build(path)
    except MrprepError:
        return None
    return found if digest(path / MANIFEST)["sha256"] == recorded.get(name) else None


def _stands_for(build: Build, doc: int) -> Iterator[str]:
    rows = tables.stands_for(build, doc)
    yield "dedupe    kept" + (f", and stands for {len(rows)} more" if rows else "")
    for row in rows[:_LISTED]:
        yield f"          {_named(tables.by_ordinal(build, row['doc'])[0])} ({_how(row)})"
    if len(rows) > _LISTED:
        yield f"          … {len(rows) - _LISTED} more"
