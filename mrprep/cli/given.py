"""What several commands make of their options."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

AllowCode = Annotated[
    bool, typer.Option("--allow-code", help="Run stages of the pipeline that are its author's own code.")
]

TextField = Annotated[list[str] | None, typer.Option(help="Field that holds the text; give it again to join several.")]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of the text files, such as gb18030.  [default: found out for each]")
]
Decontaminate = Annotated[
    list[Path] | None,
    typer.Option(help="An evaluation set (.jsonl, text): documents that share 13 words with it are dropped."),
]


def given(**values: Any) -> dict[str, Any]:
    """Return the options that the user gave."""
    return {key: value for key, value in values.items() if value is not None}


def absolute(paths: Sequence[Path] | None) -> tuple[Path, ...] | None:
    """Return the paths that the user gave, no longer relative to anything."""
    return tuple(path.absolute() for path in paths) if paths else None


def job_count(jobs: int | None) -> int:
    """Return the worker processes asked for, or one for each core this process may use."""
    return jobs or len(os.sched_getaffinity(0))


def above_nought(flag: str, value: float | None) -> None:
    """See that a number that the user may give is one above 0; typer has no bound that is itself left out.

    Raises:
        UsageError: it is 0, negative, infinite or no number.
    """
    from mrprep.errors import UsageError

    if value is not None and not 0 < value < float("inf"):
        raise UsageError(f"{flag} {value:g} does not serve: give a number above 0")


def from_nought(flag: str, value: float) -> None:
    """See that a number is 0 or above; typer's bounds let those through that are infinite or no number.

    Raises:
        UsageError: it is negative, infinite or no number.
    """
    from mrprep.errors import UsageError

    if not 0 <= value < float("inf"):
        raise UsageError(f"{flag} {value:g} does not serve: give a number, 0 or above")
