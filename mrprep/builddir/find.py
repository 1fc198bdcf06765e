"""Which build a command means when it is not told."""

from pathlib import Path

from mrprep.builddir.layout import MANIFEST
from mrprep.builddir.manifest import Build, open_build
from mrprep.errors import MrprepError, UsageError
from mrprep.printable import printable


def find_build(given: Path | None) -> Build:
    """Open the build at ``given``, or the only one in the current directory.

    Raises:
        UsageError: none was named and the current directory has none, or several.
        MrprepError: see open_build.
    """
    if given is not None:
        return open_build(given)
    found = [build for folder in (Path(), *sorted(Path().iterdir())) if (build := _opened(folder))]
    if len(found) == 1:
        return found[0]
    names = ", ".join(printable(str(build.path)) for build in found)
    raise UsageError(
        f"several builds lie here ({names}): name one" if found else "no build lies in this directory: name one"
    )


def _opened(folder: Path) -> Build | None:
    try:
        return open_build(folder) if (folder / MANIFEST).is_file() else None
    except MrprepError:
        return None
