"""Where a build is made, and where it goes after that: ``--out`` and ``--work``."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mrprep.builddir.manifest import Build
    from mrprep.request import RunOptions

_SLASHES = 3
"""In the shortest URL of a build, s3://bucket/build."""
Out = typer.Option(help="Directory to make, or a URL to upload the finished build to.")
Work = Annotated[Path | None, typer.Option(help="With --out URL: folder where the build is made until it is uploaded.")]


def here(path: Path | None) -> Path | None:
    """Refuse a URL as the place of what is not uploaded; it would make a folder called s3: otherwise.

    Raises:
        UsageError: it is one.
    """
    from mrprep.builddir.manifest import url_of
    from mrprep.errors import UsageError

    if path is not None and (url := url_of(path)):
        raise UsageError(f"{url} is a URL: name a place in a file system (build, dedupe and import upload to URLs)")
    return path


def target(out: str, work: Path | None) -> tuple[Path, str | None]:
    """Return the directory to make, and the URL that the build in it then goes to, if any.

    Raises:
        UsageError: a URL has no folder for the work, or a folder has no URL.
    """
    from mrprep.errors import UsageError
    from mrprep.sources.remote import is_url

    if not is_url(out):
        if work is not None:
            raise UsageError("--work is for an --out that is a URL: the work for a folder goes beside it")
        if not Path(out).name:
            raise UsageError("--out is empty: name a directory to make")
        return Path(out), None
    if work is None:
        raise UsageError(f"--out {out} is a URL: give --work DIR too, a folder where the build is made before")
    name = out.rstrip("/").rpartition("/")[2]
    if out.rstrip("/").count("/") < _SLASHES or name in (".", ".."):
        raise UsageError(f"--out {out} names no place in a store: end it with the name of the build")
    return work / name, out.rstrip("/")


def hand_over(made: "Build", options: "RunOptions", audit: Callable[[], None] | None = None) -> None:
    """Print the summary of a build and what ``audit`` prints, then take it to its URL if it has one."""
    from mrprep.building.deliver import deliver
    from mrprep.cli.terminal import say
    from mrprep.summary import text_summary

    if made.path.exists():
        print(text_summary(made))
        if audit:
            audit()
    if options.url:
        deliver(made, options.url, options, say)
