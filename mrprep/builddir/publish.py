"""Make a build appear, and make an old one disappear, each by one rename."""

from pathlib import Path

from mrprep.builddir.change import left
from mrprep.builddir.layout import MANIFEST, RUN, changing
from mrprep.builddir.manifest import Build, open_build
from mrprep.engine.parts import sync, sync_all
from mrprep.errors import MrprepError
from mrprep.printable import printable


def publish(staged: Path, out: Path) -> None:
    """Rename a complete, staged build to its final name and put that on the disk.

    Raises:
        MrprepError: something stands there.
    """
    sync_all([staged, *(path for path in staged.rglob("*") if path.is_dir())])
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
    check_ours(open_build(out))
    out.rename(trash)


def check_ours(build: Build) -> None:
    """Refuse to replace a build that holds files which its manifest does not list.

    Raises:
        MrprepError: it does; the first is named.
    """
    found = strangers(build)
    if not found:
        return
    others = [name for name in found if not changing(name)]
    if others:
        raise MrprepError(
            f"{printable(str(build.path))} holds {printable(others[0])}, which mrprep did not make, so it is not "
            "replaced: move that file away, or give another --out"
        )
    raise MrprepError(
        f"{printable(str(build.path))} holds {printable(found[0])}, which its manifest does not list: a change that "
        "was cut off has left it, and the next mrprep remove or build --append takes it away"
    )


def take_away_left(build: Build) -> list[str]:
    """Delete what a change has left that was cut off and whose work directory is lost; return its names.

    Nothing is deleted where there is any other file that the manifest does not list.
    """
    found = strangers(build)
    if not all(changing(name) and not (build.path / name).is_symlink() for name in found):
        return []
    for name in found:
        (build.path / name).unlink()
    return found


def strangers(build: Build) -> list[str]:
    """Return the files and links in a build that its manifest does not list, sorted.

    What a change that was killed has left is none: the next one takes it away.
    """
    ours = {*build.files, MANIFEST, RUN, *left(build)}
    found = (path for path in build.path.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(name for path in found if (name := path.relative_to(build.path).as_posix()) not in ours)
