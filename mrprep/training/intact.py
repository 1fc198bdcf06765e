"""Are shards what their build's manifest says? Sizes are looked at before a run starts, contents beside it.

Contents are hashed by a thread of the launcher, of the lowest priority, at 1 to 2 GB/s of otherwise idle time; ranks
take longer to start than a gigabyte takes to hash.
"""

import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from mrprep.builddir.digest import digest
from mrprep.builddir.manifest import Build, open_build
from mrprep.errors import MrprepError
from mrprep.mindrecord.schema import index_of
from mrprep.printable import printable


def check_sizes(build: Build, split: str) -> None:
    """See that the shards of a split and their indices are there, as long as they were built.

    Raises:
        MrprepError: one is missing or of another size.
    """
    for file, record in _files(build, split):
        shown = printable(str(file))
        advice = f"run mrprep verify {printable(str(build.path))}, and put it back under its name or build again"
        if not file.is_file():
            raise MrprepError(f"{shown} is missing: {advice}")
        size = file.stat().st_size
        if record and size != record["bytes"]:
            raise MrprepError(f"{shown} has {size} bytes, {record['bytes']} in the manifest: {advice}")


def check_all_sizes(build: Path) -> None:
    """See that the shards of all splits of a build are there, as ``Hashing`` will look at all.

    Raises:
        MrprepError: see ``check_sizes``.
    """
    opened = open_build(build)
    for split in opened.manifest["splits"]:
        check_sizes(opened, split)


def _files(build: Build, split: str) -> Iterator[tuple[Path, dict[str, object]]]:
    for shard in build.shards(split):
        for file in (shard, index_of(shard)):
            yield file, dict(build.files.get(file.relative_to(build.path).as_posix(), {}))


class Hashing:
    """Compares the shards of builds with the manifests' SHA-256, beside whatever else is done."""

    def __init__(self, builds: Iterable[Path]) -> None:
        self._builds = [open_build(build) for build in builds]
        self._found: str | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def check(self) -> None:
        """See whether something was found so far.

        Raises:
            MrprepError: a shard has another content than it was built with.
        """
        if self._found:
            raise MrprepError(self._found)

    def _run(self) -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
        self._found = next(self._damage(), None)

    def _damage(self) -> Iterator[str]:
        for build in self._builds:
            for split in build.manifest["splits"]:
                for file, record in _files(build, split):
                    fault = record and _fault(file, record)
                    if fault:
                        yield (
                            f"{printable(str(file))} {fault}, so training on it was stopped: put it back, or "
                            "build again"
                        )


def _fault(file: Path, record: dict[str, object]) -> str:
    """Return what is wrong with a file, nothing if it is as it was built."""
    try:
        same = digest(file)["sha256"] == record["sha256"]
    except FileNotFoundError:
        return "is missing since the run began"
    except OSError as error:
        return f"cannot be read ({printable(error.strerror or str(error))})"
    return "" if same else "has changed since it was built (its SHA-256 is not the manifest's)"
