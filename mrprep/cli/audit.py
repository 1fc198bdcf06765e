"""``mrprep audit``: is this data fit to train on?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mrprep.cli.reading import AddedTokens, Eod, Pattern, choices


def audit(
    build: Annotated[
        Path | None,
        typer.Argument(help="A build, or MindRecord shards of anyone; the only build here by default."),
    ] = None,
    sample: Annotated[str, typer.Option(help="Rows to look at, over all shards, or all.")] = "400",
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the sample.")] = 0,
    ranks: Annotated[
        int | None, typer.Option(min=1, help="Data-parallel ranks that rows are dealt to.  [default: 1, 2, 4 and 8]")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Rows a step over all ranks, a multiple of --ranks.  [default: 8]")
    ] = None,
    pipeline: Annotated[
        str | None, typer.Option(help="A pipeline whose [audit] has the thresholds.  [default: the build's own]")
    ] = None,
    evaluation: Annotated[
        list[Path] | None,
        typer.Option("--eval", help="An evaluation file (.jsonl, text) that documents may not hold stretches of."),
    ] = None,
    against: Annotated[Path | None, typer.Option(help="A reference build: is the mix of text still the same?")] = None,
    compare: Annotated[Path | None, typer.Option(help="Another build, put side by side with this one.")] = None,
    tokenizer: Annotated[Path | None, typer.Option(help="Tokenizer that made shards without a manifest.")] = None,
    eod: Eod = None,
    added_tokens: AddedTokens = None,
    pattern: Pattern = None,
    column: Annotated[
        str | None, typer.Option(help="Column of ids of shards without a manifest.  [default: found]")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with figures to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Sample rows of every shard and judge them; exit with 0, or 4 when something is not fit to train on."""
    from mrprep.errors import UsageError
    from mrprep.stages.audit import How
    from mrprep.stages.audit import audit as judge

    rows = _rows(sample)
    if html is not None:
        _check_page(html)
    subject, reference, other = _subject(build, column), _other(against, column), _other(compare, column)
    foreign = {"--column": column, "--eod": eod, "--added-tokens": added_tokens, "--pattern": pattern}
    if all(each is None or each.build is not None for each in (subject, reference, other)):
        for flag in (flag for flag, value in foreign.items() if value is not None):
            raise UsageError(f"{flag} is for shards without a manifest, and these are builds of mrprep: leave it out")
    limits = _dealt(_limits(subject, pipeline), ranks, batch)
    how = How(rows, seed, tokenizer, choices(eod, added_tokens, pattern), tuple(evaluation or ()), reference)
    found = [judge(each, how, limits) for each in (subject, other) if each is not None]
    print(_told(found, as_json=as_json))
    if html is not None:
        _write_page(found, html)
    _refuse(found)


def _told(found: Sequence[Any], *, as_json: bool) -> str:
    from mrprep.audit.compare import json_comparison, text_comparison
    from mrprep.audit.report import json_report, text_report

    if len(found) == 2:
        return (json_comparison if as_json else text_comparison)(*found)
    return json_report(found[0]) if as_json else text_report(found[0].findings)


def _write_page(found: Sequence[Any], path: Path) -> None:
    from mrprep.audit.page import audit_page, comparison_page
    from mrprep.cli.terminal import say

    page = comparison_page(*found) if len(found) == 2 else audit_page(found[0])
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        raise _no_page(path, error.strerror or "") from None
    say(f"written: {path}")


def _check_page(path: Path) -> None:
    """Raise an error where no page can be written, before any work is done."""
    if path.is_dir():
        raise _no_page(path, "it is a directory")
    if not path.absolute().parent.is_dir():
        raise _no_page(path, "there is no such directory")


def _no_page(path: Path, why: str) -> Exception:
    from mrprep.errors import MrprepError
    from mrprep.printable import printable

    return MrprepError(f"--html {printable(str(path))} cannot be written ({why}): name a file in a directory of yours")


def _refuse(found: Sequence[Any]) -> None:
    """Raise an error that names every failure, if there is one."""
    from mrprep.errors import AuditError
    from mrprep.printable import printable

    failed = {str(each.path): [f.check for f in each.of("failure")] for each in found if each.of("failure")}
    said = "; ".join(f"{printable(path)} is not fit to train on: {', '.join(why)}" for path, why in failed.items())
    if said:
        raise AuditError(said)


def _subject(path: Path | None, column: str | None) -> Any:
    """Return what is at a path: a build where there is a manifest, shards of anyone otherwise."""
    from mrprep.builddir.find import find_build
    from mrprep.builddir.layout import MANIFEST
    from mrprep.stages.audit import of_build, of_shards

    if path is None or not path.exists() or (path / MANIFEST).is_file():
        return of_build(find_build(path, shards=True))
    return of_shards(path, column)


def _other(path: Path | None, column: str | None) -> Any:
    return None if path is None else _subject(path, column)


def _rows(sample: str) -> int | None:
    from mrprep.errors import UsageError

    if sample == "all":
        return None
    if not sample.isdecimal() or int(sample) < 1:
        raise UsageError(f"--sample is a number of rows from 1 up, or all, not {sample!r}")
    return int(sample)


def _limits(subject: Any, pipeline: str | None) -> Any:
    """Return the thresholds of a pipeline, or those that the build was made with."""
    from mrprep.config import load_pipeline
    from mrprep.stages.audit import Options

    if pipeline is not None:
        return load_pipeline(pipeline, {}).audit
    made = subject.build.manifest["pipeline"].get("audit", {}) if subject.build is not None else {}
    return Options.model_validate(made)


def _dealt(limits: Any, ranks: int | None, batch: int | None) -> Any:
    """Return thresholds with the ranks and the batch of the command line."""
    from mrprep.errors import UsageError

    rows = limits.batch if batch is None else batch
    tried = (ranks,) if ranks is not None else tuple(n for n in limits.ranks if rows % n == 0)
    if ranks is not None and rows % ranks:
        raise UsageError(f"a batch of {rows} rows is not a multiple of {ranks} ranks: say --batch {ranks * 8}, for one")
    return limits.model_copy(update={"ranks": tried, "batch": rows})
