"""The way of a finished build to the URL that it is asked for at: looked at before the work, taken after it."""

from collections.abc import Callable
from pathlib import Path

import orjson

from mrprep.builddir.layout import RUN, UPLOADED, work_of
from mrprep.builddir.lock import locked
from mrprep.builddir.manifest import Build
from mrprep.builddir.publish import retire, strangers
from mrprep.builddir.store import Store
from mrprep.builddir.upload import claim, look, upload
from mrprep.engine.parts import discard
from mrprep.printable import printable
from mrprep.request import Request, RunOptions, settle_url


def uploaded(request: Request, out: Path, url: str, *, overwrite: bool) -> Build | None:
    """Return the build asked for if it is whole at a URL and gone from ``out``; its files are then not at its path.

    Where nothing lies yet, the mark of the upload is put, which shows before the work that one may write there.

    Raises:
        MrprepError: the store does not answer, or what lies there may not be replaced.
    """
    store = Store(url)
    standing = look(store)
    manifest = settle_url(request.record(), standing, url, overwrite=overwrite)
    if standing.empty:
        claim(store, request.record())
    return Build(out, manifest) if manifest and not out.exists() else None


def deliver(build: Build, url: str, options: RunOptions, say: Callable[[str], None]) -> None:
    """Upload a build, and delete it here unless the work is kept, or it holds files that are not ours.

    Raises:
        MrprepError: the store fails, or what lies there may not be replaced; the same command goes on.
    """
    shown = printable(url)
    if not build.path.exists():
        say(f"{shown} holds this very build already")
        return
    home = work_of(build.path)
    with locked(home):
        store = Store(url)
        standing = look(store)
        asked = orjson.loads(build.file(RUN).read_bytes())["request"]
        if settle_url(asked, standing, url, overwrite=options.overwrite):
            say(f"{shown} holds this very build already")
        else:
            sent = upload(build, store, standing)
            before = f", {sent.already:,} were there" if sent.already else ""
            say(f"uploaded to {shown}: {sent.files:,} files, {sent.bytes:,} bytes{before}")
        (home / UPLOADED).unlink(missing_ok=True)
        if not options.keep_work and not strangers(build):
            retire(build.path, home / "retired")
            discard(home / "retired")
