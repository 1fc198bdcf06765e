"""`mrprep build --append`: new documents into a finished build, whose shards stay as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from mrprep.books import Results, Texts, facts
from mrprep.builddir import layout
from mrprep.builddir.change import settle
from mrprep.builddir.digest import digest
from mrprep.builddir.lock import locked
from mrprep.builddir.manifest import Build
from mrprep.building.attempt import Say, worked
from mrprep.building.change import changed, whole
from mrprep.building.texts import read_texts
from mrprep.building.tokens import sharded, tokenized, vocabulary_of
from mrprep.config import Pipeline
from mrprep.engine.fingerprint import fingerprint
from mrprep.engine.work import Work
from mrprep.growing.books import next_number, with_addition
from mrprep.growing.held import held
from mrprep.growing.options import new_sources
from mrprep.growing.verdicts import OURS, JoinUnit, join_unit
from mrprep.places import shard_places
from mrprep.plan import Plan, plan, without
from mrprep.printable import printable
from mrprep.request import ADDITION, Request, RunOptions, clear, settle_work, stored
from mrprep.sources.source import Source
from mrprep.sources.twice import told
from mrprep.stages.shard import Beside

JOIN_VERSION = 1


@dataclass(frozen=True, slots=True)
class Appended:
    """A build that has grown."""

    build: Build
    added: Build | None
    """The addition alone: its books, as if it were a build; None where the build held these inputs already."""
    held: int
    """Files that were not read, as the build holds them already."""


def append(pipeline: Pipeline, out: Path, options: RunOptions, say: Say) -> Appended:
    """Add the sources of a pipeline to the build at ``out``, going on with work that an earlier attempt left.

    The pipeline is that of the build (`growing.options.pipeline_of`). The build is the old one, whole, until its
    manifest is replaced by a rename; then it is the new one, whole.

    Raises:
        MrprepError: the inputs, the options or what stands at ``out`` do not allow it.
        BugError: the ledger does not add up; the build stays as it was.
    """
    home = layout.work_of(out)
    with locked(home):
        settle(out)
        build = whole(out, say)
        if _is_in(build, home):
            clear(home)
        found = planned(pipeline.source, build, options)
        if found.twice:
            say(told(len(found.twice)))
        if not found.files:
            say(f"{printable(str(out))} holds these inputs already")
            clear(home)
            return Appended(build, None, len(found.held))
        pipeline = pipeline.model_copy(update={"source": tuple(listing.source for listing in found.listings)})
        request = _request(pipeline, found, build, options)
        settle_work(request, home, overwrite=options.overwrite, say=say)
        make = partial(_append, request, found, build, options)
        appended = worked(request, found, home, options, say, make)
        if not options.keep_work:
            clear(home)
    return appended


def _is_in(build: Build, home: Path) -> bool:
    """Return whether the work is of the addition that came last: it was cut off when the build had grown already."""
    path, changes = home / layout.INPUTS, build.manifest.get("changes", ())
    if not changes or not path.is_file():
        return False
    return bool(changes[-1].get("inputs") == _fingerprint(stored(path)))


def _fingerprint(inputs: Mapping[str, Any]) -> str:
    return fingerprint("", "inputs", {"files": list(inputs.values())})


def planned(sources: Sequence[Source], build: Build, options: RunOptions) -> Plan:
    """List what of some sources a build does not hold yet, under names of sources that it does not have.

    Raises:
        MrprepError: the inputs do not allow it.
    """
    found = plan(new_sources(build, sources), build.path, strict=options.strict)
    names = [source.name for source in sources]
    return without(found, held(build, found, names, hashed=options.hash_inputs))


def _request(pipeline: Pipeline, found: Plan, build: Build, options: RunOptions) -> Request:
    """Return the request of an addition: the build counts as the first of the earlier ones that hold documents."""
    compared = "dedupe" in pipeline.stages
    whole = pipeline.model_copy(update={"against": (build.path, *pipeline.against) if compared else ()})
    request = Request.of(whole, found, options, form=ADDITION)
    names = [OURS, *(each["name"] for each in build.manifest["pipeline"]["against"])]
    earlier = tuple(replace(each, name=name) for each, name in zip(request.earlier, names, strict=False))
    return replace(request, pipeline=pipeline, earlier=earlier)


def _append(request: Request, found: Plan, build: Build, options: RunOptions, work: Work) -> Appended:
    pipeline = request.pipeline
    removed = build.file(layout.REMOVED) if build.holds(layout.REMOVED) else None
    texts = _joined(read_texts(work, request, found, options, removed), build, work)
    vocabulary = vocabulary_of(work, pipeline, texts.parts, texts.verdict)
    tokens = tokenized(work, pipeline, texts.parts, texts.verdict, vocabulary)
    split, shards = sharded(work, pipeline, tokens, vocabulary, _beside(build))
    results = Results(texts, vocabulary, tokens, split, shards)
    said = facts(request, found, results)
    manifest = with_addition(build, said, _fingerprint(request.inputs))
    places = {name: file for name, file in shard_places(results) if not name.startswith(f"{layout.TOKENIZER}/")}
    grown = changed(build, manifest, places, options, work, marks=request.marks)
    return Appended(grown, Build(build.path, {**said, "files": {}}), len(found.held))


def _joined(texts: Texts, build: Build, work: Work) -> Texts:
    """Return the texts of an addition in the numbers of the whole."""
    old = build.manifest["text"]["parts"]
    base = sum(part["rows"] for part in old)
    parts = tuple(replace(part, base=part.base + base) for part in texts.parts)
    if texts.dedupe is None and not build.holds(layout.VERDICT):
        return Texts(parts, None, texts.evaluation, len(old))
    files = [build.file(n).resolve() if build.holds(n) else None for n in (layout.VERDICT, layout.CLUSTERS)]
    unit = JoinUnit(
        verdict=files[0],
        clusters=files[1],
        report=build.file(layout.DUPLICATES).resolve() if build.holds(layout.DUPLICATES) else None,
        base=base,
        dedupe=texts.dedupe,
        rows=sum(part.rows for part in parts),
        earlier=tuple(each["name"] for each in build.manifest["pipeline"]["against"]),
    )
    settings = {"version": JOIN_VERSION, "build": digest(build.path / layout.MANIFEST)["sha256"]}
    (joined,) = work("join", [unit], join_unit, settings=settings)
    return Texts(parts, joined, texts.evaluation, len(old))


def _beside(build: Build) -> Beside:
    shards = [shard for split in build.manifest["splits"].values() for shard in split["shards"]]
    return Beside(next_number(build, "train"), shards[0]["header"], shards[0]["page"])
