"""``mrprep report``: the page of a training run."""

from pathlib import Path
from typing import Annotated

import typer

from mrprep.cli.target import here


def report(
    run: Annotated[Path, typer.Argument(help="Directory of a run, finished or under way.")] = Path("run"),
    out: Annotated[Path | None, typer.Option(help="File to write.  [default: RUN/report.html]", callback=here)] = None,
    audit: Annotated[bool, typer.Option(help="Look at some rows of the builds too.")] = True,
) -> None:
    """Write one self-contained HTML page: curves, incidents with their text, speed, memory, data, verdict."""
    from mrprep.report.page import write_report

    print(write_report(run, out, audited=audit))
