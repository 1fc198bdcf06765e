"""What each stage did with one document, in words."""

from collections.abc import Iterator
from itertools import takewhile

from mrprep.builddir.manifest import Build
from mrprep.printable import printable
from mrprep.provenance import tables
from mrprep.provenance.name import find_document
from mrprep.provenance.tables import Found
from mrprep.provenance.twins import twins

_ROWS_LISTED = 12
_CUTS = {
    "decontaminate": ("stretch cut out", "stretches cut out"),
    "boilerplate": ("line taken out", "lines taken out"),
    "paragraphs": ("repeat taken out", "repeats taken out"),
}
"""Stages that take text out of documents, and what their edits count: one, and several."""


def explain(build: Build, name: str) -> str:
    """Return the story of a document, a line for each stage.

    Raises:
        MrprepError: see find_document.
    """
    pieces = find_document(build, name)
    lines = [f"document  {pieces[0].id:016x}  {printable(pieces[0].source)}  {pieces[0].place}"]
    if url := build.manifest["inputs"].get("urls", {}).get(pieces[0].source):
        lines.append(f"read of   {printable(url)}/{pieces[0].place}")
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
    before = takewhile(lambda stage: stage not in (found.stage, "dedupe", "tokenize"), stages)
    yield from (f"{stage:<9} passed" for stage in before)
    detail = f" ({printable(found.detail)})" if found.detail else ""
    yield f"{found.stage:<9} dropped: {found.reason}{detail}"
    if found.excerpt:
        yield f"          {printable(found.excerpt, 100)}"


def _kept(build: Build, doc: int, first: Found) -> Iterator[str]:
    _, text, edits = tables.by_ordinal(build, doc)
    stages = build.manifest["pipeline"]["stages"]
    done = [edit for edit in edits.split(", ") if edit]
    cuts = dict(edit.split(" ") for edit in done if edit.split(" ")[0] in _CUTS)
    if "clean" in stages:
        yield f"clean     {', '.join(edit for edit in done if edit.split(' ')[0] not in _CUTS) or 'nothing to do'}"
    if "filter" in stages:
        yield "filter    passed"
    yield from (f"{stage} {_counted(cuts.get(stage, 'no'), what)}" for stage, what in _CUTS.items() if stage in stages)
    if "dedupe" in stages:
        yield from twins(build, doc, doc if first.doc is None else first.doc, text)
        if tables.verdict(build, doc) != -1:
            return
    yield from _rows(build, doc) if build.manifest["splits"] else _written(build, doc)


def _counted(count: str, what: tuple[str, str]) -> str:
    return f"{count} {what[count != '1']}"


def _written(build: Build, doc: int) -> Iterator[str]:
    file, line = tables.written(build, doc)
    yield f"written   {file}, {'line' if file.endswith('.jsonl') else 'row'} {line}"


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
