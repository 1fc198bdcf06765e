"""What a build is asked to do, and how that fits with what already stands at its output."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import orjson

from mrprep import extras
from mrprep.builddir.layout import FORMAT, INPUTS, MANIFEST, RUN, work_of
from mrprep.builddir.manifest import Build, open_build
from mrprep.builddir.publish import check_ours
from mrprep.builddir.upload import Standing, torn
from mrprep.config import Pipeline
from mrprep.engine.fingerprint import changes, fingerprint
from mrprep.engine.memory import workers_in
from mrprep.engine.parts import discard
from mrprep.errors import MrprepError
from mrprep.plan import Plan, difference, inputs_record
from mrprep.printable import printable
from mrprep.sources.discover import Listing
from mrprep.sources.marks import Marks
from mrprep.stages import decontaminate, dedupe, tokenize
from mrprep.stages.against import Earlier, open_earlier
from mrprep.stages.own import OwnStage
from mrprep.stages.own import found as found_own
from mrprep.stages.own import settings as own_settings

LIBRARIES = ("mindspore", "numpy", "pyarrow", "sentencepiece", "gigatoken", "rensa", "xxhash")
"""Whose versions can decide bytes of a build."""
ADDITION = "addition"
"""Form of what is added to a finished build."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a build is run; none of it decides a byte of the result."""

    jobs: int
    keep_work: bool = False
    overwrite: bool = False
    strict: bool = False
    hash_inputs: bool = False
    allow_code: bool = False
    """Whether stages of the pipeline that are its author's own code may run."""
    memory: int | None = None
    """Bytes for all processes together; None: a share of the machine's."""
    executor: Literal["processes", "ray"] = "processes"
    url: str | None = None
    """Where the finished build is uploaded to; until then it is made in a directory, as any other."""
    address: str | None = None
    """Of a running Ray cluster; None starts a Ray on this machine. ``jobs`` 0 is as many as it has processors."""
    began: float = field(default_factory=time.time, compare=False)
    """When the run did, in seconds since 1970."""

    def __post_init__(self) -> None:
        """Refuse a memory that cannot be kept, before anything is looked at."""
        if self.executor == "processes":
            workers_in(self.memory, self.jobs)

    @property
    def workers(self) -> int:
        """How many processes work side by side."""
        return workers_in(self.memory, self.jobs)


@dataclass(frozen=True, slots=True)
class Request:
    """Inputs, options and library versions: what the bytes of a build are a function of."""

    pipeline: Pipeline
    inputs: Mapping[str, Any]
    libraries: Mapping[str, str]
    options: Mapping[str, Any]
    """The pipeline without the places of its sources, which decide nothing; model and builds by content."""
    form: str = "shards"
    """What is made of the text: shards, or documents as jsonl or parquet."""
    earlier: tuple[Earlier, ...] = ()
    """Builds whose documents count as there already."""
    own: tuple[OwnStage, ...] = ()
    """Map stages that are the user's own."""
    left_aside: str = ""
    """Fingerprint of the files that are not read; they are listed in the build, but decide none of its rows."""
    marks: Marks = field(default_factory=lambda: Marks.read({}), compare=False)
    """What tells the files again."""

    @classmethod
    def of(cls, pipeline: Pipeline, found: Plan, run: RunOptions, form: str = "shards") -> "Request":
        """Return the request that a pipeline and its listed inputs make.

        Raises:
            MrprepError: a given model, an earlier build or a stage of the user's own cannot be read, or may not run.
        """
        own = found_own(pipeline.stages, pipeline.code, allowed=run.allow_code)
        libraries = {name: version(name) for name in (*LIBRARIES, *_extra_libraries(pipeline, found))}
        earlier = open_earlier(pipeline.against)
        inputs = inputs_record(found.listings, hashed=run.hash_inputs)
        return cls(
            pipeline,
            inputs,
            {"format": str(FORMAT), **libraries},
            _options(pipeline, form, earlier) | own_settings(own),
            form,
            earlier,
            own,
            _left_aside(found),
            Marks.of(found.listings, inputs, hashed=run.hash_inputs),
        )

    @property
    def root(self) -> Mapping[str, Any]:
        """What every phase depends on."""
        return {"inputs": self.inputs, "libraries": self.libraries}

    def record(self) -> dict[str, Any]:
        """Return what run.json keeps of the request, to tell a later one from it."""
        return {
            "inputs": fingerprint("", "inputs", self.inputs),
            "left_aside": self.left_aside,
            "options": self.options,
            "libraries": dict(self.libraries),
        }


def _options(pipeline: Pipeline, form: str, earlier: Sequence[Earlier]) -> dict[str, Any]:
    options = {"form": form, **pipeline.model_dump(mode="json", exclude={"input", "code"})}
    options["against"] = [each.record for each in earlier]
    options["dedupe"]["version"] = dedupe.VERSION
    options["decontaminate"] = decontaminate.settings(pipeline.decontaminate)
    options["tokenize"]["model"] = tokenize.settings(pipeline.tokenize)["model"]
    for source in options["source"]:
        del source["path"], source["url"]
    return options


def _left_aside(found: Plan) -> str:
    names = [
        [listing.source.name, printable(s.path, 4096), s.kind] for listing in found.listings for s in listing.skipped
    ]
    return fingerprint("", "left aside", {"names": names})


def _extra_libraries(pipeline: Pipeline, found: Plan) -> Iterator[str]:
    """Yield the packages of those extras that this build makes use of."""
    if pipeline.filter.languages:
        yield extras.PACKAGES["langid"]
    if pipeline.clean.mojibake:
        yield extras.PACKAGES["ftfy"]
    if any(file.format == "html" for listing in found.listings for file in listing.files):
        yield extras.PACKAGES["html"]


def settle(request: Request, out: Path, *, overwrite: bool, say: Callable[[str], None]) -> Build | None:
    """Decide what becomes of what stands at ``out`` and in its work directory, whose lock is held.

    Returns:
        The finished build when it is the very one asked for, else None: the build is to be made.

    Raises:
        MrprepError: something else stands at ``out``, or the work there is of other inputs, without ``overwrite``.
    """
    finished = _finished(request, out, overwrite=overwrite)
    if finished is None:
        settle_work(request, work_of(out), overwrite=overwrite, say=say)
    return finished


def _finished(request: Request, out: Path, *, overwrite: bool) -> Build | None:
    shown = printable(str(out))
    if out.is_symlink():
        raise MrprepError(f"{shown} is a link: name the directory that it stands for, or another --out")
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    if not (out / MANIFEST).is_file():
        raise MrprepError(f"{shown} exists and is not a build of mrprep: give another --out")
    build = open_build(out)
    differs = _differs(request.record(), _asked(out)) or _damaged(build.manifest, build.torn())
    if not differs:
        return build
    if not overwrite:
        raise MrprepError(f"{shown} holds another build ({differs}): give another --out, or --overwrite to replace it")
    check_ours(build)
    return None


def settle_url(asked: Mapping[str, Any], standing: Standing, url: str, *, overwrite: bool) -> Mapping[str, Any] | None:
    """Decide what becomes of what lies at the URL that a build is to be uploaded to.

    Args:
        asked: record of the request.
        standing: what lies there.
        url: for the user.
        overwrite: whether another build there may be replaced.

    Returns:
        The manifest when the very build asked for is whole there, else None: it is to be uploaded.

    Raises:
        MrprepError: another build, or an upload of one that broke off, lies there, without ``overwrite``.
    """
    if standing.empty:
        return None
    differs = _differs(asked, standing.request)
    if standing.manifest:
        differs = differs or _damaged(standing.manifest, torn(standing, standing.manifest))
    if differs and not overwrite:
        what = "another build" if standing.manifest else "an unfinished upload of another build"
        raise MrprepError(
            f"{printable(url)} holds {what} ({differs}): give another --out, or --overwrite to replace it"
        )
    return None if differs else standing.manifest


def _asked(out: Path) -> Mapping[str, Any]:
    """Return the record of the request of a finished build; empty where there is none."""
    try:
        asked: Mapping[str, Any] = orjson.loads((out / RUN).read_bytes())["request"]
    except (OSError, ValueError, KeyError):
        return {}
    return asked


def _damaged(manifest: Mapping[str, Any], torn: str) -> str:
    changed = "documents were added to it or removed since" if manifest.get("changes") else ""
    return changed or (f"damaged: {torn}" if torn else "")


def _differs(asked: Mapping[str, Any], was: Mapping[str, Any]) -> str:
    """Return how a request differs from an earlier one, by the records of both."""
    if not was:
        return "its run.json is gone"
    now = orjson.loads(orjson.dumps(asked))
    if was["inputs"] != now["inputs"]:
        return "the inputs are others or have changed"
    if was.get("left_aside") != now["left_aside"]:
        return "other files are left aside now"
    return "; ".join([*changes(was["options"], now["options"]), *changes(was["libraries"], now["libraries"])])


def settle_work(request: Request, work: Path, *, overwrite: bool, say: Callable[[str], None]) -> None:
    """Decide what becomes of earlier work in a work directory, whose lock is held.

    Raises:
        MrprepError: it is of other inputs, without ``overwrite``.
    """
    path = work / INPUTS
    now = orjson.loads(orjson.dumps(request.inputs))
    if path.exists():
        differs = difference(stored(path), now)
        if not differs:
            say(f"going on with the work in {printable(str(work))}")
            return
        if not overwrite:
            other = "append those first" if request.form == ADDITION else "give another --out"
            raise MrprepError(
                f"{printable(str(work))} holds unfinished work on other inputs ({differs}): "
                f"give --overwrite to start again, or {other}"
            )
    discard(work / "phases")
    aside = path.with_suffix(".tmp")
    aside.write_bytes(orjson.dumps(now))
    aside.rename(path)


def stored(path: Path) -> Mapping[str, Any]:
    """Return the inputs that a work directory is about, from its file of them.

    Raises:
        MrprepError: it is damaged.
    """
    try:
        found: Mapping[str, Any] = orjson.loads(path.read_bytes())
    except ValueError:
        raise MrprepError(f"{printable(str(path))} is damaged: delete {printable(str(path.parent))}") from None
    return found


def changed(request: Request, listings: Sequence[Listing], *, hashed: bool) -> str:
    """Say in some words how the inputs as they are now differ from what they were before; empty if they do not."""
    return difference(request.inputs, inputs_record(listings, hashed=hashed))


def refuse_changed(differs: str, work: Path) -> None:
    """Drop the work if the inputs differ after reading from what they were before.

    Raises:
        MrprepError: a file changed, came or went while it was read.
    """
    if differs:
        discard(work / "phases")
        (work / INPUTS).unlink(missing_ok=True)
        raise MrprepError(
            f"the inputs changed while they were read ({differs}): run the same command when they are at rest"
        )


def clear(work: Path) -> None:
    """Delete what a finished build has left in its work directory; the lock stays with its holder."""
    for name in ("phases", "out", "retired"):
        discard(work / name)
    for path in (work / INPUTS, (work / INPUTS).with_suffix(".tmp")):
        path.unlink(missing_ok=True)
