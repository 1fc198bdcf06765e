"""`mrprep import`: MindRecord files of others, through the phases after reading, to shards of ours."""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mrprep.books import Results, Texts, facts
from mrprep.builddir.manifest import Build
from mrprep.builddir.tables import TextPart, numbered
from mrprep.building.attempt import Say, made_of
from mrprep.building.texts import refuse_none_left
from mrprep.building.tokens import sharded, tokenized, vocabulary_of
from mrprep.config import Pipeline
from mrprep.engine.work import Work
from mrprep.finish import finish
from mrprep.places import shard_places
from mrprep.plan import Plan
from mrprep.request import Request, RunOptions
from mrprep.stages import dedupe, imported
from mrprep.tokenizers.family import copy_in

_NOT_KNOWN = "the documents came out of shards: what file and line each was before is not known"


@dataclass(frozen=True, slots=True)
class ImportedRows:
    """How rows of others are to be read."""

    joined: bool
    """A row goes on where the one before it ends; else its end closes a document."""


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
    return made_of(found, pipeline, out, options, say, f"imported {rows}", partial(_import, rows))


def _import(rows: ImportedRows, request: Request, found: Plan, out: Path, options: RunOptions, work: Work) -> Build:
    pipeline = request.pipeline
    vocabulary = vocabulary_of(work, pipeline, (), None)
    parts = _imported_parts(work, pipeline, found, rows, vocabulary)
    refuse_none_left(parts, work.path.parent, keep=options.keep_work)
    names = [source.name for source in pipeline.source]
    removed = dedupe.run(work, parts, pipeline.dedupe, names) if "dedupe" in pipeline.stages else None
    texts = Texts(parts, removed, {})
    tokens = tokenized(work, pipeline, parts, texts.verdict, vocabulary, stored=True)
    split, shards = sharded(work, pipeline, tokens, vocabulary)
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
            model=copy_in(vocabulary),
            choices=pipeline.tokenize.choices,
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
