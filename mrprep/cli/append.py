"""``mrprep build --append``: what it asks for, and what it says."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mrprep.request import RunOptions


def only_one(builds: Sequence[Path]) -> Path:
    """Return the build that grows.

    Raises:
        UsageError: several were given.
    """
    from mrprep.errors import UsageError

    if len(builds) > 1:
        raise UsageError("--append takes one build: run the command once for each that is to grow")
    return builds[0]


def refuse_placed(out: str | None, work: Path | None, against: Sequence[Path] | None) -> None:
    """Refuse options that say where an addition goes or what it is compared with: its build says both.

    Raises:
        UsageError: one was given.
    """
    from mrprep.errors import UsageError

    if out is not None or work is not None:
        raise UsageError("--append names the build that grows, and --out, or --work, another: give one of them")
    if against:
        raise UsageError("--append compares with its build and what that was compared with: leave --against out")


def refuse_overwrite(place: Path) -> None:
    """Refuse ``--overwrite`` where there is no unfinished work to start again.

    Raises:
        UsageError: so it is.
    """
    from mrprep.builddir.layout import INPUTS, work_of
    from mrprep.errors import UsageError
    from mrprep.printable import printable

    home = work_of(place)
    if not (home / INPUTS).is_file():
        raise UsageError(
            f"--append replaces nothing, and {printable(str(home))} holds no unfinished work on other inputs to start "
            "again: leave --overwrite out"
        )


def add(
    place: Path,
    inputs: Sequence[str],
    file: str | None,
    overrides: Mapping[str, Mapping[str, Any]],
    evaluation: Sequence[Path],
    options: "RunOptions",
    *,
    audit: bool,
    dry_run: bool,
) -> None:
    """Append to the build at ``place``, and print what was added.

    Args:
        place: of the build.
        inputs: files and folders; where there are none, the sources of the pipeline file are meant.
        file: pipeline file or name, if one was given; it must say what the build was made with.
        overrides: what other options ask for, by table.
        evaluation: evaluation sets.
        options: how it is run.
        audit: look at the first rows in the end.
        dry_run: write nothing.
    """
    from mrprep.builddir.manifest import open_build
    from mrprep.building.append import append, planned
    from mrprep.cli.short_audit import print_audit
    from mrprep.cli.terminal import say
    from mrprep.config import load_pipeline
    from mrprep.errors import UsageError
    from mrprep.growing import options as growing

    build = open_build(place)
    if options.overwrite:
        refuse_overwrite(place)
    sources = growing.sources_of(build, inputs, overrides["input"])
    if file is None:
        asked: dict[str, Mapping[str, Any]] = {table: values for table, values in overrides.items() if table != "input"}
        if evaluation:
            asked["decontaminate"] = {"files": tuple(evaluation)}
    else:
        given = load_pipeline(file, overrides)
        asked = {**growing.asked_of(given, evaluation)}
        sources, evaluation = sources or given.source, evaluation or given.decontaminate.files
    if not sources:
        raise UsageError("name an INPUT to append, or a --pipeline that has a [[source]]")
    growing.refuse_itself(build, sources)
    growing.refuse_without_evaluation(build, evaluation)
    growing.refuse_other_options(build, asked)
    chosen = growing.pipeline_of(build, sources, evaluation, overrides["shard"])
    if file is not None:
        chosen = chosen.model_copy(update={"code": given.code})
    if dry_run:
        from mrprep.dryrun import describe

        print(describe(chosen, place, found=planned(chosen.source, build, options)))
        return
    appended = append(chosen, place, options, say)
    print("\n".join(_said(appended)))
    if audit:
        print_audit(appended.build, chosen, strict=options.strict)


def _said(appended: Any) -> Any:
    """Yield the lines on an addition alone, and what the build has come to."""
    from mrprep.growing.held import files_held
    from mrprep.printable import printable
    from mrprep.summary import text_summary

    added = appended.added
    if added is not None and appended.held:
        yield f"held        {files_held(appended.held)}, and {'was' if appended.held == 1 else 'were'} not read again"
    if added is not None and added.manifest["splits"]:
        yield text_summary(added)
    elif added is not None:
        books = added.manifest["ledger"]["documents"]
        there, dropped = books["duplicates"], books["dropped"]
        bad = added.manifest["ledger"]["read"]["bad"]
        none = f", {bad:,} records were no documents" if bad else ""
        yield f"no new text: {there:,} documents are in the build already, {dropped:,} were dropped{none}"
    manifest = appended.build.manifest
    rows = ", ".join(f"{name} {split['rows']:,} rows" for name, split in manifest["splits"].items())
    kept = manifest["ledger"]["documents"]["kept"]
    yield f"whole       {printable(str(appended.build.path))}: {kept:,} documents kept, {rows}"
