"""Change a finished build: new files beside the old ones, then its manifest by one rename, then the old files away.

A journal in the work directory names both kinds of files before the first of them is touched. Killed at any moment,
the build is the old one or the new one, whole; `settle` takes away what is left over.
"""

import os
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from mrprep.builddir.digest import digest
from mrprep.builddir.layout import CHANGE, MANIFEST, RUN, work_of
from mrprep.builddir.manifest import Build, open_build, write_manifest
from mrprep.engine.parts import sync


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a finished build."""

    manifest: Mapping[str, Any]
    """The new one, whole."""
    new: Mapping[str, Path]
    """Name in the build -> file of the work; no such name is in the old build."""
    run: Mapping[str, Any]
    """The new ``run.json``."""


def place(file: Path, final: Path, *, copy: bool) -> None:
    """Bring a finished file of the work to its place: as a second link, or as a copy where the work stays."""
    final.parent.mkdir(parents=True, exist_ok=True)
    final.unlink(missing_ok=True)
    if not copy:
        with suppress(OSError):  # a file system without hard links
            os.link(file, final)
            return
    shutil.copyfile(file, final)
    sync(final)


def apply(build: Build, change: Change, *, copy: bool) -> Build:
    """Make a build another one; the lock of its work directory is held. ``copy``: the files of the work stay too."""
    home, out = work_of(build.path), build.path
    staged = home / MANIFEST
    write_manifest(change.manifest, staged)
    kept = change.manifest["files"]
    journal = {
        "manifest": digest(staged)["sha256"],
        "new": sorted(change.new),
        "old": sorted(name for name in build.files if name not in kept),
    }
    _write(home / CHANGE, journal)
    for name, file in change.new.items():
        place(file, out / name, copy=copy)
    for folder in {(out / name).parent for name in change.new}:
        sync(folder)
    _write(home / RUN, change.run)
    staged.rename(out / MANIFEST)
    sync(out)
    settle(out)
    return open_build(out)


def settle(out: Path) -> None:
    """Take away what a change has left over, done or killed; the lock of the work directory is held."""
    home = work_of(out)
    if (home / CHANGE).is_file():
        build = open_build(out)
        if (home / RUN).is_file() and _journal(home)["manifest"] == digest(out / MANIFEST)["sha256"]:
            (home / RUN).rename(out / RUN)
        for name in left(build):
            (out / name).unlink(missing_ok=True)
            with suppress(OSError):
                (out / name).parent.rmdir()
        sync(out)
        (home / CHANGE).unlink()
    for name in (RUN, MANIFEST, f"{RUN}.tmp", f"{CHANGE}.tmp"):
        (home / name).unlink(missing_ok=True)


def left(build: Build) -> Collection[str]:
    """Return the names of the files that a change has put beside those of a build, or not yet taken away."""
    try:
        journal = _journal(work_of(build.path))
    except OSError:
        return ()
    return [name for name in (*journal["new"], *journal["old"]) if name not in build.files]


def _journal(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads((home / CHANGE).read_bytes())
    return found


def _write(path: Path, value: Mapping[str, Any]) -> None:
    aside = path.with_name(path.name + ".tmp")
    aside.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2))
    sync(aside)
    aside.rename(path)
    sync(path.parent)
