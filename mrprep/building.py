"""From text to shards: the phases in order. The only file that knows every stage."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import orjson
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mrprep.books import Exported, Results, Shard, Texts, document_facts, facts
from mrprep.builddir.layout import work_of
from mrprep.builddir.lock import locked
from mrprep.builddir.manifest import Build
from mrprep.builddir.publish import place
from mrprep.builddir.tables import TextPart, numbered
from mrprep.config import Pipeline
from mrprep.engine.executor import Pool
from mrprep.engine.ledger import added
from mrprep.engine.work import Work
from mrprep.errors import MrprepError
from mrprep.finish import finish
from mrprep.places import document_places, shard_places
from mrprep.plan import Plan, listed, plan
from mrprep.printable import printable
from mrprep.request import Request, RunOptions, clear, refuse_changed, settle, settle_work
from mrprep.sources.spans import Span, to_count, with_first_lines
from mrprep.stages import (
    against,
    boilerplate,
    clean,
    decontaminate,
    dedupe,
    export,
    imported,
    pack,
    paragraphs,
    read,
    shard,
    tokenize,
)
from mrprep.stages import filter as filtering

Say = Callable[[str], None]
Make = Callable[[Request, Plan, Path, RunOptions, Work], Build]
_NOT_KNOWN = "the documents came out of shards: what file and line each was before is not known"


@dataclass(frozen=True, slots=True)
class ImportedRows:
    """How rows of others are to be read."""

    joined: bool
    """A row goes on where the one before it ends; else its end closes a document."""


def build(pipeline: Pipeline, out: Path, options: RunOptions, say: Say) -> Build:
    """Build ``out`` from the sources of a pipeline, going on with work that an earlier attempt left.

    Raises:
        MrprepError: the inputs, the options or what stands at ``out`` do not allow it.
        BugError: the ledger does not add up; nothing is published.
    """
    return _made(pipeline, out, options, say, "shards", _build)


def deduplicate(pipeline: Pipeline, out: Path, form: export.Form, options: RunOptions, say: Say) -> Build:
    """Write the documents that the map stages and dedupe of a pipeline leave, as jsonl or Parquet.

    Raises:
        MrprepError: the inputs, the options or what stands at ``out`` do not allow it.
        BugError: the ledger does not add up; nothing is published.
    """
    return _made(pipeline, out, options, say, form, _export)


def _made(pipeline: Pipeline, out: Path, options: RunOptions, say: Say, form: str, make: Make) -> Build:
    against.refuse_as_output(pipeline.against, out)
    found = plan(pipeline.source, out, strict=options.strict)
    return _made_of(found, pipeline, out, options, say, form, make)


def _made_of(found: Plan, pipeline: Pipeline, out: Path, options: RunOptions, say: Say, form: str, make: Make) -> Build:
    request = Request.of(pipeline, found, hashed=options.hash_inputs, form=form)
    home = work_of(out)
    with locked(home):
        finished = settle(request, out, overwrite=options.overwrite, say=say)
        if finished is None:
            with _working(request, home, options, say) as work:
                finished = make(request, found, out, options, work)
        elif options.strict:
            read.refuse_unread([finished.path])
        if not options.keep_work:
            clear(home)
    return finished


def import_rows(pipeline: Pipeline, found: Plan, out: Path, rows: ImportedRows, options: RunOptions, say: Say) -> Build:
    """Build ``out`` from MindRecord files of others: their ids, packed and sharded as the pipeline says.

    Args:
        pipeline: stages are dedupe, if it is wanted, and tokenize, pack, shard; the tokenizer is a given one.
        found: the files, listed.
        out: directory to make.
        rows: how the rows are to be read.
        options: how the build is run.
        say: is given lines for the user.

    Raises:
        MrprepError: the files, the options or what stands at ``out`` do not allow it.
    """
    return _made_of(found, pipeline, out, options, say, f"imported {rows}", partial(_import, rows))


def train_tokenizer(pipeline: Pipeline, out: Path, options: RunOptions, say: Say) -> None:
    """Train a vocabulary on the sources of a pipeline, as a build would, and write it to the file ``out``.

    Raises:
        MrprepError: the inputs or the options do not allow it.
    """
    found = plan(pipeline.source, out, strict=options.strict)
    request = Request.of(pipeline, found, hashed=options.hash_inputs)
    home = work_of(out)
    with locked(home):
        settle_work(request, home, overwrite=options.overwrite, say=say)
        with _working(request, home, options, say) as work:
            texts = _texts(work, request, found, options)
            vocabulary = _vocabulary(work, pipeline, texts.parts, texts.verdict)
            place(vocabulary / tokenize.MODEL, out, copy=options.keep_work)
        if not options.keep_work:
            clear(home)


def duplicate_share(pipeline: Pipeline, options: RunOptions, say: Say) -> float:
    """Return the share of the documents that pass the map stages which dedupe takes out; all input is read.

    The work is done, and thrown away, in a temporary directory.

    Raises:
        MrprepError: the inputs do not allow it.
    """
    found = plan(pipeline.source, None, strict=options.strict)
    request = Request.of(pipeline, found, hashed=False)
    with TemporaryDirectory(prefix="mrprep-scan-") as folder, _working(request, Path(folder), options, say) as work:
        verdict = _texts(work, request, found, options).verdict
        return float((np.load(verdict) != -1).mean()) if verdict else 0.0


@contextmanager
def _working(request: Request, home: Path, options: RunOptions, say: Say) -> Iterator[Work]:
    pool = Pool(options.jobs)
    try:
        yield Work(home / "phases", pool, say, request.root)
    finally:
        pool.close()


def _build(request: Request, found: Plan, out: Path, options: RunOptions, work: Work) -> Build:
    pipeline = request.pipeline
    texts = _texts(work, request, found, options)
    vocabulary = _vocabulary(work, pipeline, texts.parts, texts.verdict)
    tokens = _tokenize(work, pipeline, texts.parts, texts.verdict, vocabulary)
    split, shards = _shards(work, pipeline, tokens, vocabulary)
    results = Results(texts, vocabulary, tokens, split, shards)
    said, places = facts(request, found, results), dict(shard_places(results))
    return finish(request, said, places, work, out, options)


def _import(rows: ImportedRows, request: Request, found: Plan, out: Path, options: RunOptions, work: Work) -> Build:
    pipeline = request.pipeline
    vocabulary = _vocabulary(work, pipeline, (), None)
    parts = _imported_parts(work, pipeline, found, rows, vocabulary)
    _some_left(parts)
    names = [source.name for source in pipeline.source]
    removed = dedupe.run(work, parts, pipeline.dedupe, names) if "dedupe" in pipeline.stages else None
    texts = Texts(parts, removed, {})
    tokens = _tokenize(work, pipeline, parts, texts.verdict, vocabulary, stored=True)
    split, shards = _shards(work, pipeline, tokens, vocabulary)
    results = Results(texts, vocabulary, tokens, {**split, "notes": [*split["notes"], _NOT_KNOWN]}, shards)
    said, places = facts(request, found, results), dict(shard_places(results))
    return finish(request, said, places, work, out, options)


def _imported_parts(
    work: Work, pipeline: Pipeline, found: Plan, rows: ImportedRows, vocabulary: Path
) -> list[TextPart]:
    sketched = pipeline.dedupe if "dedupe" in pipeline.stages else None
    files = [(listing, file) for listing in found.listings for file in listing.files]
    units = [
        imported.ImportUnit(
            file=Path(os.fsdecode(listing.root), os.fsdecode(file.path)),
            source=listing.source.name,
            name=file.path,
            model=vocabulary / tokenize.MODEL,
            eod=pipeline.tokenize.eod,
            bos=pipeline.tokenize.add_bos,
            joined=rows.joined,
            sketched=sketched,
        )
        for listing, file in files
    ]
    settings = {
        "version": imported.VERSION,
        "joined": rows.joined,
        "bos": pipeline.tokenize.add_bos,
        "dedupe": dedupe.sketch_settings(pipeline.dedupe) if sketched else None,
    }
    sizes = [file.size for _, file in files]
    return numbered(work("import", units, imported.import_unit, settings=settings, weights=sizes))


def _export(request: Request, found: Plan, out: Path, options: RunOptions, work: Work) -> Build:
    form: export.Form = "parquet" if request.form == "parquet" else "jsonl"
    texts = _texts(work, request, found, options)
    assert texts.verdict is not None
    units = [export.ExportUnit(part, texts.verdict, form) for part in texts.parts]
    settings = {"version": export.VERSION, "form": form}
    written = work("export", units, export.export_unit, settings=settings, weights=_sizes(texts.parts))
    exported = Exported(texts, written, form)
    said, places = document_facts(request, found, exported), dict(document_places(exported))
    return finish(request, said, places, work, out, options)


def _texts(work: Work, request: Request, found: Plan, options: RunOptions) -> Texts:
    """Run the phases up to dedupe."""
    pipeline = request.pipeline
    names = [source.name for source in pipeline.source]
    evaluation, told = _evaluation(work, pipeline)
    parts = _read(work, pipeline, found, evaluation, strict=options.strict)
    refuse_changed(request, listed(pipeline.source), work.path.parent, hashed=options.hash_inputs)
    _some_left(parts)
    parts = _rewritten(work, pipeline, parts, names)
    if "dedupe" not in pipeline.stages:
        return Texts(parts, None, told)
    held = against.hold(work, request.earlier, pipeline.dedupe) if request.earlier else []
    return Texts(parts, dedupe.run(work, parts, pipeline.dedupe, names, held), told)


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
    if paragraphs.STAGE in pipeline.stages:
        parts = paragraphs.run(work, parts, pipeline.paragraphs, following(paragraphs.STAGE))
    return parts


def _some_left(parts: Sequence[TextPart]) -> None:
    """Stop when the map stages have left nothing to build from.

    Raises:
        MrprepError: so it is; what became of the records is said.
    """
    if sum(part.rows for part in parts):
        return
    counts = added([orjson.loads((part.path / "counts.json").read_bytes()) for part in parts])
    reasons = {why: n for of_stage in counts["left_out"].values() for why, n in of_stage.items()}
    said = ", ".join(f"{why} {n}" for why, n in sorted(reasons.items())) or "none"
    raise MrprepError(
        f"no document is left to build from: {counts['records']} records were read; left out: {said}{_unread(parts)}; "
        "give other inputs, or a --pipeline that keeps them, such as raw"
    )


def _unread(parts: Sequence[TextPart]) -> str:
    """Return a clause that names the first files that could not be read, empty if all could."""
    tables = (pq.read_table(part.path / "files.parquet", filters=pc.field("problem") != "") for part in parts)
    problems = [
        f"{printable(row['path'])}: {printable(row['problem'])}" for table in tables for row in table.to_pylist()
    ]
    more = f", and {len(problems) - 3} more files" if len(problems) > 3 else ""
    return f"; not read: {', '.join(problems[:3])}{more}" if problems else ""


def _read(work: Work, pipeline: Pipeline, found: Plan, evaluation: Path | None, *, strict: bool) -> list[TextPart]:
    settings = {
        "version": read.VERSION,
        "sources": [source.model_dump(mode="json", exclude={"path", "weight"}) for source in pipeline.source],
        "stages": pipeline.stages,
        "clean": {"version": clean.VERSION, **pipeline.clean.model_dump(mode="json")},
        "filter": {"version": filtering.VERSION, **pipeline.filter.model_dump(mode="json")},
        "dedupe": dedupe.sketch_settings(pipeline.dedupe),
        "decontaminate": decontaminate.settings(pipeline.decontaminate),
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
            strict=strict,
        )
        for spans in _with_lines(work, found)
    ]
    weights = [sum(span.size for span in unit.spans) for unit in units]
    paths = work.in_parts("read", units, read.read_unit, settings=settings, weights=weights)
    if strict:
        read.refuse_unread(paths)
    return numbered(paths)


def _with_lines(work: Work, found: Plan) -> Sequence[tuple[Span, ...]]:
    """Return the units with line numbers that count from the start of each file."""
    spans = to_count(found.units)
    if not spans:
        return found.units
    weights = [span.size for span in spans]
    done = work("lines", spans, read.count_unit, settings={"version": read.VERSION}, weights=weights)
    return with_first_lines(found.units, [int((path / "lines").read_text()) for path in done])


def _vocabulary(work: Work, pipeline: Pipeline, parts: Sequence[TextPart], verdict: Path | None) -> Path:
    unit = tokenize.VocabularyUnit(tuple(parts), verdict, pipeline.tokenize, pipeline.seed)
    settings = {"seed": pipeline.seed, **tokenize.settings(pipeline.tokenize)}
    return work("vocabulary", [unit], tokenize.train_vocabulary, settings=settings)[0]


def _tokenize(
    work: Work,
    pipeline: Pipeline,
    parts: Sequence[TextPart],
    verdict: Path | None,
    vocabulary: Path,
    *,
    stored: bool = False,
) -> list[Path]:
    weights = tuple((source.name, source.weight) for source in pipeline.source)
    units = [
        tokenize.TokenizeUnit(
            part=part,
            verdict=verdict,
            model=vocabulary / tokenize.MODEL,
            seed=pipeline.seed,
            weights=weights,
            add_bos=pipeline.tokenize.add_bos,
            eod=pipeline.tokenize.eod,
            stored=stored,
        )
        for part in parts
    ]
    settings = {"version": tokenize.VERSION, "seed": pipeline.seed, "weights": weights}
    return work("tokenize", units, tokenize.tokenize_unit, settings=settings, weights=_sizes(parts))


def _sizes(parts: Sequence[TextPart]) -> list[int]:
    return [(part.path / "text.parquet").stat().st_size for part in parts]


def _shards(
    work: Work, pipeline: Pipeline, tokens: Sequence[Path], vocabulary: Path
) -> tuple[dict[str, Any], list[Shard]]:
    packing, options = pipeline.pack, pipeline.shard.model_copy(update={"seed": pipeline.seed})
    settings = {
        "pack": {"version": pack.VERSION, **packing.model_dump(mode="json")},
        "shard": {"version": shard.VERSION, **options.model_dump(mode="json")},
    }
    split = work("split", [shard.SplitUnit(tuple(tokens), packing, options)], shard.split_unit, settings=settings)[0]
    facts = orjson.loads((vocabulary / tokenize.FACTS).read_bytes())
    units = shard.shard_units(
        split,
        tokens,
        packing,
        options,
        pad_id=facts["pad_id"],
        eod_id=facts["eod_id"],
        bos=pipeline.tokenize.add_bos,
    )
    sizes = [unit.bound.tokens for unit in units]
    done = work("shard", units, shard.shard_unit, settings=settings, weights=sizes)
    shards = [Shard(unit.split, unit.number, path) for unit, path in zip(units, done, strict=True)]
    return orjson.loads((split / "split.json").read_bytes()), shards
