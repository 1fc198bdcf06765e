"""Which build a command means when it is not told."""

from pathlib import Path

from mrprep.builddir.layout import MANIFEST
from mrprep.builddir.manifest import Build, open_build
from mrprep.errors import MrprepError, UsageError
from mrprep.printable import printable


def find_build(given: Path | None, *, shards: bool = False) -> Build:
    """Open the build at ``given``, or the only one in the current directory; ``shards``: it must have some.

    Raises:
        UsageError: none was named and the current directory has none, or several.
        MrprepError: see open_build; or shards are wanted of a build of documents.
    """
    build = open_build(given) if given is not None else _only_one()
    if shards and not build.manifest["splits"]:
        raise MrprepError(
            f"{printable(str(build.path))} holds documents and no shards: make them with mrprep build "
            f"{printable(str(build.path / 'documents'))}"
        )
    return build


def _only_one() -> Build:
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
