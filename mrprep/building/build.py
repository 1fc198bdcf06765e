"""A build: the sources of a pipeline, through all its phases, to shards."""

from pathlib import Path

from mrprep.books import Results, facts
from mrprep.builddir.manifest import Build
from mrprep.building.attempt import Say, made
from mrprep.building.texts import read_texts
from mrprep.building.tokens import sharded, tokenized, vocabulary_of
from mrprep.config import Pipeline
from mrprep.engine.work import Work
from mrprep.finish import finish
from mrprep.places import shard_places
from mrprep.plan import Plan
from mrprep.request import Request, RunOptions


def build(pipeline: Pipeline, out: Path, options: RunOptions, say: Say) -> Build:
    """Build ``out`` from the sources of a pipeline, going on with work that an earlier attempt left.

    Raises:
        MrprepError: the inputs, the options or what stands at ``out`` do not allow it.
        BugError: the ledger does not add up; nothing is published.
    """
    return made(pipeline, out, options, say, "shards", _build)


def _build(request: Request, found: Plan, out: Path, options: RunOptions, work: Work) -> Build:
    pipeline = request.pipeline
    texts = read_texts(work, request, found, options)
    vocabulary = vocabulary_of(work, pipeline, texts.parts, texts.verdict)
    tokens = tokenized(work, pipeline, texts.parts, texts.verdict, vocabulary)
    split, shards = sharded(work, pipeline, tokens, vocabulary)
    results = Results(texts, vocabulary, tokens, split, shards)
    said, places = facts(request, found, results), dict(shard_places(results))
    return finish(request, said, places, work, out, options)
