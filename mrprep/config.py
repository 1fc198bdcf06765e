"""Pipeline files: TOML read into frozen models, with every mistake told at once."""

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from mrprep.errors import MrprepError, UsageError
from mrprep.options import Options
from mrprep.printable import printable
from mrprep.sources.source import Reading, Source
from mrprep.stages.audit import Options as AuditOptions
from mrprep.stages.boilerplate import Options as BoilerplateOptions
from mrprep.stages.clean import Options as CleanOptions
from mrprep.stages.decontaminate import Options as DecontaminateOptions
from mrprep.stages.dedupe import Options as DedupeOptions
from mrprep.stages.filter import Options as FilterOptions
from mrprep.stages.own import is_own
from mrprep.stages.pack import Options as PackOptions
from mrprep.stages.paragraphs import Options as ParagraphsOptions
from mrprep.stages.shard import Options as ShardOptions
from mrprep.stages.tokenize import Options as TokenizeOptions

MAPS = ("clean", "filter", "decontaminate")
BARRIERS = ("boilerplate", "paragraphs", "dedupe")
LAST = ("tokenize", "pack", "shard")


class Pipeline(Options):
    """Everything that decides the bytes of a build, besides the inputs themselves."""

    seed: int = Field(0, ge=0, lt=1 << 63)
    """Decides the order of documents, samples, and the valid split."""
    stages: tuple[str, ...] = ("clean", "filter", "dedupe", *LAST)
    """The stages, in the order in which documents pass them; ``module:function`` is one of your own."""
    code: Path = Path()
    """Where the modules of your own stages lie, beside the pipeline file."""
    input: Reading = Reading()
    """How inputs named on the command line are read; a ``[[source]]`` says it for itself."""
    source: tuple[Source, ...] = ()
    """Sources with names and weights; inputs on the command line take their place."""
    against: tuple[Path, ...] = ()
    """Earlier builds: documents that they hold are duplicates, and what is already there wins."""
    clean: CleanOptions = CleanOptions()
    """Special characters."""
    filter: FilterOptions = FilterOptions()
    """Which documents are not worth training on."""
    decontaminate: DecontaminateOptions = DecontaminateOptions()
    """Evaluation sets of which no document may hold a stretch."""
    boilerplate: BoilerplateOptions = BoilerplateOptions()
    """Lines that stand in many documents."""
    paragraphs: ParagraphsOptions = ParagraphsOptions()
    """Paragraphs that come again in later documents."""
    dedupe: DedupeOptions = DedupeOptions()
    """Which documents are one text."""
    tokenize: TokenizeOptions = TokenizeOptions()
    """The tokenizer, given or trained."""
    pack: PackOptions = PackOptions()
    """Rows of seq tokens."""
    shard: ShardOptions = ShardOptions()
    """MindRecord files and the valid split."""
    audit: AuditOptions = AuditOptions()
    """From where on what an audit measures is a warning or a failure."""

    @field_validator("against", mode="before")
    @classmethod
    def _one_build(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [source.name for source in self.source]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"source: two sources are named {name!r}: documents go by the name of their source")
        return self

    @model_validator(mode="after")
    def _best_has_a_score(self) -> Self:
        if self.dedupe.keep == "best" and not any(reading.score for reading in (self.input, *self.source)):
            raise ValueError('dedupe.keep: best goes by a field that [input] or a [[source]] names: score = "..."')
        return self

    @model_validator(mode="after")
    def _stages_in_order(self) -> Self:
        known = (*MAPS, *BARRIERS, *LAST)
        unknown = [name for name in self.stages if name not in known and not is_own(name)]
        if unknown and ":" in unknown[0]:
            raise ValueError(f"stages: {unknown[0]!r} is no module:function, such as my_rules:no_tables")
        if unknown:
            raise ValueError(f"stages: there is no stage {unknown[0]!r}{_nearest(unknown[0], known)}")
        if len(set(self.stages)) != len(self.stages):
            raise ValueError("stages: a stage is listed twice")
        if ("decontaminate" in self.stages) != bool(self.decontaminate.files):
            raise ValueError("decontaminate: the stage in stages and its files go together")
        if self.against and "dedupe" not in self.stages:
            raise ValueError("against: only a pipeline with the stage dedupe compares with earlier builds")
        barriers = tuple(name for name in self.stages if not _is_map(name))
        wanted = (*(name for name in BARRIERS if name in self.stages), *LAST)
        if self.stages[-len(barriers) :] != barriers or barriers != wanted:
            raise ValueError(
                "stages: they end in [boilerplate,] [paragraphs,] [dedupe,] tokenize, pack, shard; "
                f"{', '.join(MAPS)} and your own come before"
            )
        return self


def _is_map(stage: str) -> bool:
    return stage in MAPS or is_own(stage)


def load_pipeline(name: str, overrides: Mapping[str, Mapping[str, Any]]) -> Pipeline:
    """Read a pipeline by the name of a shipped one or by its path, with values laid over it.

    Args:
        name: such as ``default`` or ``my/pipeline.toml``.
        overrides: table -> key -> value; the table "" is the top level.

    Raises:
        MrprepError: no such pipeline, no TOML, or keys and values that are not valid; all are named.
        UsageError: the overrides are what is not valid.
    """
    path = pipeline_path(name)
    raw = _toml(path)
    for table, values in overrides.items():
        place = raw.setdefault(table, {}) if table else raw
        if isinstance(place, dict):
            place.update(values)
    try:
        pipeline = Pipeline.model_validate(raw)
    except ValidationError as error:
        flags = [_flag(item, overrides) for item in error.errors()]
        kind = UsageError if all(flags) else MrprepError
        raise kind("; ".join(_sentences(error, path, flags))) from None
    return _beside(pipeline, path.parent)


def _toml(path: Path) -> dict[str, Any]:
    shown = printable(str(path))
    if not path.is_file():
        raise MrprepError(f"there is no pipeline file {shown}: name a .toml file, or a pipeline by its name")
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise MrprepError(f"{shown} cannot be read: {(error.strerror or str(error)).lower()}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise MrprepError(f"{shown} is no TOML ({error}): mend it") from None


_FLAGS = {
    "text": "--text-field",
    "model": "--tokenizer",
    "model_type": "--type",
    **{
        key: f"--{key}"
        for key in ("encoding", "seed", "seq", "layout", "packing", "shards", "valid", "threshold", "against")
    },
    "shard_size": "--shard-size",
    **{f"dedupe.{key}": f"--{key}" for key in ("recall", "permutations", "keep", "cluster", "contained")},
    "vocab_size": "--vocab-size",
}
"""The flags of the commands, by the key that each sets; with its table where other tables have such a key."""


def _flag(error: ErrorDetails, overrides: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the flag of the command line that set a value, or nothing when the pipeline file did."""
    location = tuple(map(str, error["loc"] or _said(error).partition(": ")[0].split(".")))
    table, key = ("", *location) if len(location) == 1 else location[:2]
    if key in overrides.get(table, {}):
        return _FLAGS.get(f"{table}.{key}", _FLAGS.get(key, ""))
    given = overrides.get("dedupe", {}) if location == ("dedupe",) else {}
    return " with ".join(f"--{name}" for name in ("threshold", "recall", "permutations") if name in given)


def _said(error: ErrorDetails) -> str:
    return error["msg"].removeprefix("Value error, ")


def decontaminated(pipeline: Pipeline, files: Sequence[Path]) -> Pipeline:
    """Return a pipeline whose last map stage takes these evaluation sets out; of none, the pipeline as it is."""
    if not files:
        return pipeline
    stages = [name for name in pipeline.stages if name != "decontaminate"]
    maps = sum(map(_is_map, stages))
    options = pipeline.decontaminate.model_copy(update={"files": tuple(files)})
    stages.insert(maps, "decontaminate")
    return pipeline.model_copy(update={"stages": tuple(stages), "decontaminate": options})


def only_dedupe(pipeline: Pipeline, *, maps: bool) -> Pipeline:
    """Return a pipeline that ends with dedupe; before it come what stages it has, or none."""
    before = tuple(name for name in pipeline.stages if maps and name not in ("dedupe", *LAST))
    return pipeline.model_copy(update={"stages": (*before, "dedupe")})


def pipeline_path(name: str) -> Path:
    """Return the file of a shipped pipeline by its name, or the path that was given."""
    if name.endswith(".toml") or "/" in name:
        return Path(name)
    shipped = {path.stem: path for path in sorted(pipelines_folder().glob("*.toml"))}
    if name not in shipped:
        raise MrprepError(
            f"there is no pipeline {printable(name)!r}{_nearest(name, shipped)}: "
            f"name one of {', '.join(shipped)}, or a .toml file"
        )
    return shipped[name]


def pipelines_folder() -> Path:
    """Return where the shipped pipelines lie: in the package, or beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "pipelines"
    return inside if inside.is_dir() else package.parent / "pipelines"


def with_inputs(pipeline: Pipeline, inputs: Sequence[Path | str]) -> Pipeline:
    """Return a pipeline that reads these inputs, as its [input] says, in place of its sources.

    Raises:
        UsageError: only its sources name the score that dedupe goes by.
    """
    if "dedupe" in pipeline.stages and pipeline.dedupe.keep == "best" and not pipeline.input.score:
        raise UsageError(
            "dedupe.keep: best goes by a score that only [[source]] names, and the INPUT arguments take the place of "
            'every [[source]]: write score = "..." under [input] too, or leave out the arguments'
        )
    return pipeline.model_copy(update={"source": command_line_sources(inputs, pipeline.input)})


def command_line_sources(inputs: Sequence[Path | str], options: Reading) -> tuple[Source, ...]:
    """Return a source for each input, named after it; a second one of the same name gets a number."""
    names: dict[str, int] = {}
    sources = []
    for path in inputs:
        base = printable(Path(path).resolve().name) or "input"
        names[base] = names.get(base, 0) + 1
        name = base if names[base] == 1 else f"{base}-{names[base]}"
        sources.append(Source.model_validate({"name": name, "path": path, **options.model_dump()}))
    return tuple(sources)


def _beside(pipeline: Pipeline, folder: Path) -> Pipeline:
    """Resolve relative paths of sources, earlier builds and modules against the pipeline file."""
    sources = tuple(s if s.url else s.model_copy(update={"path": folder / s.path}) for s in pipeline.source)
    against = tuple(folder / path for path in pipeline.against)
    files = tuple(folder / path for path in pipeline.decontaminate.files)
    decontaminate = pipeline.decontaminate.model_copy(update={"files": files})
    places = {"source": sources, "against": against, "decontaminate": decontaminate, "code": folder / pipeline.code}
    return pipeline.model_copy(update=places)


def _sentences(error: ValidationError, path: Path, flags: Sequence[str]) -> Iterator[str]:
    """Say what is wrong with each value, under the flag or the key of the file that gave it."""
    for item, flag in zip(error.errors(), flags, strict=True):
        key = ".".join(str(part) for part in item["loc"])
        where = flag or ": ".join([printable(str(path)), *([key] if key else [])])
        if item["type"] == "extra_forbidden":
            yield f"{where}: there is no such key{_nearest(str(item['loc'][-1]), _keys(item['loc'][:-1]))}"
        elif item["loc"] == ("source",) and item["type"] == "tuple_type":
            yield f"{where}: write [[source]], a table for each source"
        else:
            said = _said(item)
            said = said if item["loc"] or not flag else said.partition(": ")[2]
            found = "" if item["type"] == "value_error" else f", not {printable(str(item['input']), 40)!r}"
            yield f"{where}: {said[:1].lower()}{said[1:]}{found}"


def _keys(location: Sequence[str | int]) -> list[str]:
    model: type[BaseModel] = Pipeline
    for part in location:
        if isinstance(part, str):
            annotation = Source if part == "source" else model.model_fields[part].annotation
            assert isinstance(annotation, type)
            model = annotation
    return list(model.model_fields)


def _nearest(word: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(word, list(known), 1, 0.5)
    return f", did you mean {close[0]!r}?" if close else ""
