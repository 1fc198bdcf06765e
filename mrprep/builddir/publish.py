"""Make a build appear, and make an old one disappear, each by one rename."""

import os
import shutil
from pathlib import Path

from mrprep.builddir.layout import MANIFEST, RUN
from mrprep.builddir.manifest import Build, open_build
from mrprep.engine.parts import sync
from mrprep.errors import MrprepError
from mrprep.printable import printable


def place(file: Path, final: Path) -> None:
    """Bring a finished file of the work to its place: as a second link, else as a copy."""
    final.parent.mkdir(parents=True, exist_ok=True)
    final.unlink(missing_ok=True)
    try:
        os.link(file, final)
    except OSError:
        shutil.copyfile(file, final)


def publish(staged: Path, out: Path) -> None:
    """Rename a complete, staged build to its final name and put that on the disk.

    Raises:
        MrprepError: something stands there.
    """
    for folder in (staged, *(path for path in staged.rglob("*") if path.is_dir())):
        sync(folder)
    if out.is_dir() and not any(out.iterdir()):
        out.rmdir()
    if out.exists() or out.is_symlink():
        raise MrprepError(f"{printable(str(out))} appeared while its build ran: move it away and run the command again")
    staged.rename(out)
    sync(out.parent)


def retire(out: Path, trash: Path) -> None:
    """Take a finished build out of the way by one rename to ``trash``, on the same file system.

    Raises:
        MrprepError: it is no build of ours, or holds files that its manifest does not list; it stays.
    """
    build = open_build(out)
    strangers = _strangers(build)
    if strangers:
        raise MrprepError(
            f"{printable(str(out))} holds {printable(strangers[0])}, which mrprep did not make, so it is not "
            "replaced: move that file away, or give another --out"
        )
    out.rename(trash)


def _strangers(build: Build) -> list[str]:
    ours = {*build.files, MANIFEST, RUN}
    found = (path for path in build.path.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(name for path in found if (name := path.relative_to(build.path).as_posix()) not in ours)
