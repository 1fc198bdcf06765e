"""The pipeline by which a finished build grows: its own options, its own tokenizer, and new sources."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from mrprep.builddir.layout import RUN
from mrprep.builddir.manifest import Build
from mrprep.config import Pipeline, command_line_sources, decontaminated
from mrprep.engine.fingerprint import changes
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.sources.source import Reading, Source
from mrprep.stages import decontaminate
from mrprep.tokenizers.model_file import read_model

_READING = tuple(Reading.model_fields)
_FREE = {"shard": {"shards", "shard_size"}}
"""Options that may differ from one addition to the next, as they are about its own shards."""


def pipeline_of(
    build: Build, sources: Sequence[Source], evaluation: Sequence[Path], shards: Mapping[str, Any]
) -> Pipeline:
    """Return what makes an addition to a build: all into train, by the tokenizer of the build.

    Args:
        build: that grows.
        sources: that are added.
        evaluation: the evaluation sets of the build, whose places it does not know.
        shards: ``shards`` or ``shard_size``, if one was asked for.

    Raises:
        MrprepError: the build was made with options that this version does not know.
    """
    options = {key: value for key, value in build.manifest["pipeline"].items() if key != "form"}
    for stage in ("dedupe", "decontaminate"):
        options[stage] = {key: value for key, value in options[stage].items() if key != "version"}
    options["decontaminate"]["files"] = list(evaluation)
    options["source"] = [source.model_dump() for source in sources]
    options["against"] = earlier_places(build)
    options["tokenize"] = {**options["tokenize"], "model": build.file(build.manifest["tokenizer"]["file"])}
    options["shard"] = {**options["shard"], "shards": None, "valid": 0.0, **shards}
    try:
        return Pipeline.model_validate(options)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise MrprepError(
            f"{printable(str(build.path))} was made by mrprep {printable(build.manifest['version'])}, with an option "
            f"that this version does not take ({printable(where)}): use that version, or build again"
        ) from None


def earlier_places(build: Build) -> list[Path]:
    """Return where the earlier builds lie that a build was compared with: an addition is compared with them too.

    Raises:
        MrprepError: it is not known of one.
    """
    names = [each["name"] for each in build.manifest["pipeline"]["against"]]
    try:
        places: Mapping[str, str] = orjson.loads(build.file(RUN).read_bytes())["against"]
        return [Path(places[name]) for name in names]
    except (OSError, ValueError, KeyError):
        if not names:
            return []
    raise MrprepError(
        f"{printable(str(build.path))} was compared with earlier builds ({printable(', '.join(names))}), and its "
        f"{RUN}, which says where they lie, is gone: put it back, or build again"
    )


def new_sources(build: Build, given: Sequence[Source]) -> tuple[Source, ...]:
    """Return sources under names that the build does not have yet: one that is taken gets a number."""
    taken = {source["name"] for source in build.manifest["pipeline"]["source"]}
    found = []
    for source in given:
        name, number = source.name, 2
        while name in taken:
            name, number = f"{source.name}-{number}", number + 1
        taken.add(name)
        found.append(source.model_copy(update={"name": name}))
    return tuple(found)


def sources_of(build: Build, inputs: Sequence[Path | str], reading: Mapping[str, Any]) -> tuple[Source, ...]:
    """Return inputs of the command line as sources, read as the build reads.

    That is as its source of the same name is read, else as all of its sources are; where these differ among
    themselves, as files are read by default. ``reading`` goes before all of it.
    """
    known = {source["name"]: {key: source[key] for key in _READING} for source in build.manifest["pipeline"]["source"]}
    ways = list(known.values())
    alike = ways[0] if ways and all(way == ways[0] for way in ways) else {}
    given = command_line_sources(inputs, Reading())
    return tuple(
        Source(name=source.name, path=source.path, url=source.url, **{**known.get(source.name, alike), **reading})
        for source in given
    )


def refuse_other_options(build: Build, asked: Mapping[str, Mapping[str, Any]]) -> None:
    """See that the options that were asked for are those of the build.

    Args:
        build: that grows.
        asked: table -> key -> value; the table "" is the top level.

    Raises:
        MrprepError: one differs; both values are named.
    """
    options = build.manifest["pipeline"]
    tokenizer = build.manifest["tokenizer"]
    was = {**options, "tokenize": {**options["tokenize"], **{k: tokenizer[k] for k in ("vocab_size",)}}}
    was["tokenize"]["model"] = tokenizer.get("sha256")
    differs: list[str] = []
    for table, values in asked.items():
        now = orjson.loads(orjson.dumps(_plain(table, values), default=str))
        of_table = was.get(table, {}) if table else was
        differs += changes({key: of_table.get(key) for key in now}, now, f"{table}." if table else "")
    if differs:
        raise MrprepError(
            f"{printable(str(build.path))} was made with other options than are asked for ({'; '.join(differs)}): "
            "leave them out, as an addition goes by those of its build, or make another build"
        )


def _plain(table: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as a manifest has them: files by their content, and without those that may differ."""
    found = {key: value for key, value in values.items() if key not in _FREE.get(table, ())}
    if table == "tokenize" and found.get("model"):
        found["model"] = read_model(found["model"]).sha256
    if table == "decontaminate":
        found["files"] = decontaminate.settings(decontaminate.Options(files=found["files"]))["files"]
    return found


def asked_of(pipeline: Pipeline, evaluation: Sequence[Path] = ()) -> dict[str, dict[str, Any]]:
    """Return what a pipeline file, and flags laid over it, ask for; what they leave to defaults is no wish.

    Its sources, and a vocabulary that it leaves open, are not among it. ``evaluation``: sets that were given beside it.
    """
    left = {"input", "source", "against", "code"} | ({"stages"} - pipeline.model_fields_set)
    whole = decontaminated(pipeline, evaluation).model_dump(exclude=left, exclude_unset=True)
    tables = {key: value for key, value in whole.items() if isinstance(value, dict)}
    if "tokenize" in tables:
        tables["tokenize"] = {k: v for k, v in tables["tokenize"].items() if k not in ("model", "vocab_size") or v}
    return {"": {key: value for key, value in whole.items() if key not in tables}, **tables}


def refuse_without_evaluation(build: Build, files: Sequence[Path]) -> None:
    """See that the evaluation sets are at hand that the build was searched for.

    Raises:
        MrprepError: they were not given.
    """
    names = [printable(name) for name, _ in build.manifest["pipeline"]["decontaminate"]["files"]]
    if names and not files:
        raise MrprepError(
            f"{printable(str(build.path))} was searched for evaluation sets ({', '.join(names)}), which it does not "
            "hold: name them with --decontaminate"
        )


def refuse_itself(build: Build, sources: Sequence[Source]) -> None:
    """See that a build is not appended to itself.

    Raises:
        MrprepError: a source is the build, or lies in it.
    """
    out = build.path.resolve()
    for source in sources:
        place = source.path.resolve()
        if not source.url and (place == out or out in place.parents):
            raise MrprepError(
                f"{printable(source.place)} is of the build that is to grow: name new text, which lies elsewhere"
            )
