"""What each stage did with one document, in words."""

import difflib
import re
from collections.abc import Iterator

from mrprep.builddir.manifest import Build
from mrprep.printable import printable
from mrprep.provenance import tables
from mrprep.provenance.name import find_document
from mrprep.provenance.tables import Found

_DIFF_LINES = 12
_DIFF_CHARACTERS = 20_000
_ROWS_LISTED = 12


def explain(build: Build, name: str) -> str:
    """Return the story of a document, a line for each stage.

    Raises:
        MrprepError: see find_document.
    """
    pieces = find_document(build, name)
    lines = [f"document  {pieces[0].id:016x}  {printable(pieces[0].source)}  {pieces[0].place}"]
    for piece in pieces:
        if len(pieces) > 1:
            lines.append(f"piece {piece.piece} of {len(pieces)}")
        lines += _left_out(build, piece) if piece.doc is None else _kept(build, piece.doc, pieces[0])
    return "\n".join(lines)


def _left_out(build: Build, found: Found) -> Iterator[str]:
    if found.stage == "read":
        yield f"read      not a document: {found.reason} ({printable(found.detail)})"
        return
    stages = build.manifest["pipeline"]["stages"]
    yield from (f"{stage:<9} passed" for stage in stages[: stages.index(found.stage)])
    detail = f" ({printable(found.detail)})" if found.detail else ""
    yield f"{found.stage:<9} dropped: {found.reason}{detail}"
    if found.excerpt:
        yield f"          {printable(found.excerpt, 100)}"


def _kept(build: Build, doc: int, first: Found) -> Iterator[str]:
    _, text, edits = tables.by_ordinal(build, doc)
    stages = build.manifest["pipeline"]["stages"]
    done = [edit for edit in edits.split(", ") if edit]
    lines = [edit for edit in done if edit.startswith("boilerplate ")]
    if "clean" in stages:
        yield f"clean     {', '.join(edit for edit in done if edit not in lines) or 'nothing to do'}"
    if "filter" in stages:
        yield "filter    passed"
    if "boilerplate" in stages:
        yield f"boilerplate {lines[0].removeprefix('boilerplate ') if lines else 'no'} lines taken out"
    twin = tables.survivor(build, doc)
    if twin >= 0:
        yield from _duplicate(build, doc if first.doc is None else first.doc, twin, text)
        return
    if "dedupe" in stages:
        yield "dedupe    kept"
    yield from _rows(build, doc) if build.manifest["splits"] else _written(build, doc)


def _written(build: Build, doc: int) -> Iterator[str]:
    file, line = tables.written(build, doc)
    yield f"written   {file}, {'line' if file.endswith('.jsonl') else 'row'} {line}"


def _duplicate(build: Build, doc: int, twin: int, text: str) -> Iterator[str]:
    kept, other, _ = tables.by_ordinal(build, twin)
    row = tables.cluster_row(build, doc)
    how = f"{row['kind']}, Jaccard {row['jaccard']:.4f}" if row else "same verdict as its first piece"
    yield f"dedupe    duplicate ({how}) of {kept.id:016x}  {printable(kept.source)}  {kept.place}, which is kept"
    yield from (f"          {line}" for line in _difference(other, text))


def _difference(kept: str, removed: str) -> list[str]:
    """Return a short diff by sentence, kept first; long texts are compared by their beginnings."""
    if kept == removed:
        return ["the texts are equal"]
    old, new = (_sentences(text[:_DIFF_CHARACTERS]) for text in (kept, removed))
    changed = [line for line in difflib.unified_diff(old, new, n=0, lineterm="") if line[:2] not in {"--", "++", "@@"}]
    shown = [f"{line[0]} {printable(line[1:], 160)}" for line in changed[:_DIFF_LINES]]
    return shown + ([f"… {len(changed) - _DIFF_LINES} more lines"] if len(changed) > _DIFF_LINES else [])


def _sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?。！？；\n])", text) if part.strip()]


def _rows(build: Build, doc: int) -> Iterator[str]:
    found = list(tables.stretches(build, doc))
    if not found:
        yield "tokenize  no token of it was written (sampled out by its source's weight, or it gave no tokens)"
        return
    copies = {row["copy"] for _, row in found}
    tokens = max(row["token"] + row["length"] for _, row in found)
    yield f"tokenize  {tokens:,} tokens" + (f", {len(copies)} copies" if len(copies) > 1 else "")
    for shard, row in found[:_ROWS_LISTED]:
        last = row["at"] + row["length"] - 1
        yield f"shard     {shard}:{row['row']}  positions {row['at']}-{last}"
    if len(found) > _ROWS_LISTED:
        yield f"          … {len(found) - _ROWS_LISTED} more rows"
