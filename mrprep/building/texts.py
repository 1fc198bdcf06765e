"""From the sources to the texts that are kept: the phases up to dedupe."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mrprep.books import Texts
from mrprep.builddir.tables import TextPart, numbered
from mrprep.config import Pipeline
from mrprep.engine.ledger import added
from mrprep.engine.work import Work
from mrprep.errors import MrprepError
from mrprep.growing.removed_texts import leave_out
from mrprep.plan import Plan, listed_again
from mrprep.printable import file_name, printable
from mrprep.request import ADDITION, Request, RunOptions, changed, clear, refuse_changed
from mrprep.sources.spans import Span, ranges, to_count, with_first_lines
from mrprep.stages import against, boilerplate, clean, decontaminate, dedupe, own, paragraphs, read
from mrprep.stages import filter as filtering

_COUNTED = 64 << 20
"""Bytes of which a unit counts the lines, about: 40 ms, beside 8 that it takes to publish one."""


def read_texts(work: Work, request: Request, found: Plan, options: RunOptions, removed: Path | None = None) -> Texts:
    """Run the phases up to dedupe; while that is at work, the inputs are listed again: none may have changed.

    Args:
        work: runs the phases.
        request: what is asked for.
        found: the inputs.
        options: how it is run.
        removed: hashes of texts that are left out, if there are such (`growing.removed_texts`).
    """
    pipeline = request.pipeline
    evaluation, told = _evaluation(work, pipeline)
    parts = _read(work, request, found, evaluation, strict=options.strict)
    with ThreadPoolExecutor(1) as beside:
        look = beside.submit(lambda: changed(request, listed_again(found), hashed=options.hash_inputs))
        try:
            if request.form != ADDITION or _unread(parts):  # an addition of nothing is no failure
                refuse_none_left(parts, work.path.parent, keep=options.keep_work and request.form != ADDITION)
            return _kept(work, request, parts, told, removed)
        finally:
            refuse_changed(look.result(), work.path.parent)


def _kept(work: Work, request: Request, parts: list[TextPart], told: Mapping[str, int], removed: Path | None) -> Texts:
    """Run the phases from the texts that were read to those that are kept."""
    pipeline = request.pipeline
    names = [source.name for source in pipeline.source]
    parts = _rewritten(work, pipeline, parts, names)
    if removed is not None:
        parts = leave_out(work, parts, removed, pipeline.dedupe if "dedupe" in pipeline.stages else None)
    if "dedupe" not in pipeline.stages:
        return Texts(parts, None, told)
    held = against.hold(work, request.earlier, pipeline.dedupe) if request.earlier else []
    duplicates = dedupe.run(work, parts, pipeline.dedupe, names, held)
    for phase in dedupe.PHASES:
        work.spare(phase, dedupe.SPARE, dedupe.PHASES)
    return Texts(parts, duplicates, told)


def _evaluation(work: Work, pipeline: Pipeline) -> tuple[Path | None, dict[str, int]]:
    """Return the directory of the index of evaluation sets, if they are looked for, and what to tell of it."""
    if decontaminate.STAGE not in pipeline.stages:
        return None, {}
    index = decontaminate.index(work, pipeline.decontaminate)
    return index, decontaminate.told(index, pipeline.decontaminate)


def _rewritten(work: Work, pipeline: Pipeline, parts: list[TextPart], names: Sequence[str]) -> list[TextPart]:
    """Run the stages that change texts after all documents are seen; what dedupe comes after makes its sketch."""

    def following(stage: str) -> dedupe.Options | None:
        stages = pipeline.stages
        return pipeline.dedupe if stages[stages.index(stage) + 1] == "dedupe" else None

    if boilerplate.STAGE in pipeline.stages:
        parts = boilerplate.run(work, parts, pipeline.boilerplate, names, following(boilerplate.STAGE))
        work.spare("read", ["text.parquet"], boilerplate.READERS)
    if paragraphs.STAGE in pipeline.stages:
        before = boilerplate.TEXTS if boilerplate.STAGE in pipeline.stages else "read"
        parts = paragraphs.run(work, parts, pipeline.paragraphs, following(paragraphs.STAGE))
        work.spare(before, ["text.parquet"], paragraphs.READERS)
    return parts


def refuse_none_left(parts: Sequence[TextPart], home: Path, *, keep: bool) -> None:
    """Stop when the map stages have left nothing to build from; what is in ``home`` is of no use, and goes unless kept.

    Raises:
        MrprepError: so it is; what became of the records is said.
    """
    if sum(part.rows for part in parts):
        return
    counts = added([orjson.loads((part.path / "counts.json").read_bytes()) for part in parts])
    reasons = {why: n for of_stage in counts["left_out"].values() for why, n in of_stage.items()}
    said = ", ".join(f"{why} {n}" for why, n in sorted(reasons.items())) or "none"
    unread = _unread(parts)
    if not keep:
        clear(home)
    raise MrprepError(
        f"no document is left to build from: {counts['records']} records were read; left out: {said}{unread}; "
        "give other inputs, or a --pipeline that keeps them, such as raw"
    )


def _unread(parts: Sequence[TextPart]) -> str:
    """Return a clause that names the first files that could not be read, empty if all could."""
    tables = (pq.read_table(part.path / "files.parquet", filters=pc.field("problem") != "") for part in parts)
    problems = [
        f"{file_name(row['source'], row['path'])}: {printable(row['problem'])}"
        for table in tables
        for row in table.to_pylist()
    ]
    more = f", and {len(problems) - 3} more files" if len(problems) > 3 else ""
    return f"; not read: {', '.join(problems[:3])}{more}" if problems else ""


def _read(work: Work, request: Request, found: Plan, evaluation: Path | None, *, strict: bool) -> list[TextPart]:
    pipeline = request.pipeline
    settings = {
        "version": read.VERSION,
        "sources": [source.model_dump(mode="json", exclude={"path", "url", "weight"}) for source in pipeline.source],
        "stages": pipeline.stages,
        "clean": {"version": clean.VERSION, **pipeline.clean.model_dump(mode="json")},
        "filter": {"version": filtering.VERSION, **pipeline.filter.model_dump(mode="json")},
        "dedupe": dedupe.sketch_settings(pipeline.dedupe),
        "decontaminate": decontaminate.settings(pipeline.decontaminate),
        **own.settings(request.own),
    }
    units = [
        read.ReadUnit(
            spans,
            found.unit,
            pipeline.stages,
            pipeline.clean,
            pipeline.filter,
            pipeline.dedupe,
            pipeline.decontaminate,
            evaluation,
            request.own,
            strict=strict,
        )
        for spans in _with_lines(work, found)
    ]
    units = _with_pieces(work, units, settings)
    paths = work.in_parts("read", units, read.read_unit, settings=settings, weights=[_size(unit) for unit in units])
    work.spare(read.PIECES, ["text.parquet"], ["read"])
    if strict:
        read.refuse_unread(paths)
    return numbered(paths)


def _with_pieces(work: Work, units: Sequence[read.ReadUnit], settings: Mapping[str, Any]) -> list[read.ReadUnit]:
    """Read the pieces of long documents, several workers to one; return the units with what these have written."""
    cut = {at: ranges(unit.spans[0], unit.part_characters) for at, unit in enumerate(units)}
    pieces = [replace(units[at], spans=(span,)) for at, spans in cut.items() for span in spans]
    if not pieces:
        return list(units)
    weights = [_size(unit) for unit in pieces]
    done = iter(work(read.PIECES, pieces, read.read_pieces, settings=settings, weights=weights))
    return [replace(unit, pieces=tuple(islice(done, len(cut[at])))) for at, unit in enumerate(units)]


def _size(unit: read.ReadUnit) -> int:
    return sum(span.size for span in unit.spans)


def _with_lines(work: Work, found: Plan) -> Sequence[tuple[Span, ...]]:
    """Return the units with line numbers that count from the start of each file."""
    spans = to_count(found.units)
    if not spans:
        return found.units
    some = max(1, _COUNTED // found.unit)
    units = [spans[first : first + some] for first in range(0, len(spans), some)]
    settings = {"version": read.VERSION, "spans": some}
    weights = [sum(span.size for span in unit) for unit in units]
    done = work("lines", units, read.count_unit, settings=settings, weights=weights)
    counts = chain.from_iterable(orjson.loads((path / "lines.json").read_bytes()) for path in done)
    return with_first_lines(found.units, list(counts))
