"""How a unit's results appear on disk: written aside under their final file names, then renamed into place.

Two workers may be at one unit, when a machine that was given up for lost goes on: each writes aside under a name
of its own, the first to rename wins, and the bytes are the same.
"""

import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

WAITERS = 8
"""Threads that wait for the disk: 9 ms instead of 25 to sync a unit of 8 files, 0.3 s instead of 2.5 to delete 100."""
WholeUnit = Callable[[Any, Path], None]
"""Writes all its files into the directory it is given."""
Ending = Callable[[], None]
"""Puts on the disk what a unit has written, and gives it its name: only then is the unit done. It can be pickled."""


@dataclass(slots=True)
class Parts:
    """Where a unit that publishes more than once puts its parts, numbered from 0."""

    path: Path
    done: int = 0
    """How many parts earlier attempts and this one have published; the function goes on after them."""
    again: bool = False
    """Whether an earlier attempt began and did not end."""
    _last: Ending | None = None

    @contextmanager
    def new(self) -> Iterator[Path]:
        """Give a directory to write the next part into, after the one before it is published.

        When the block ends without an error, the part is whole; ``publish`` is called last.
        """
        self.publish()
        final = self.path / f"{self.done:04d}"
        aside = _beside(final)
        yield aside
        self._last = partial(_publish, aside, final)
        self.done += 1

    def publish(self) -> None:
        """Publish the last part, if it is not yet."""
        if self._last is not None:
            self._last()
            self._last = None


PartsUnit = Callable[[Any, Parts], None]
"""Publishes its files part by part."""


def _beside(final: Path) -> Path:
    """Make the directory in which something is written that will be ``final``."""
    aside = final.with_name(f"{final.name}.tmp-{uuid.uuid4().hex}")
    aside.mkdir(parents=True)
    return aside


def _publish(aside: Path, final: Path) -> None:
    sync_all(aside.iterdir())
    _rename(aside, final)


def _rename(aside: Path, final: Path) -> None:
    """Rename a directory, or drop it where another worker has brought the same to its place before."""
    try:
        aside.rename(final)
    except OSError:
        if not final.is_dir():
            raise
        shutil.rmtree(aside, ignore_errors=True)


def discard(path: Path) -> None:
    """Delete a directory so that, killed midway, nothing half deleted is left under its name."""
    trash = path.with_name(path.name + ".trash")
    shutil.rmtree(trash, ignore_errors=True)
    if path.exists():
        path.rename(trash)
        _delete(trash)


def _delete(folder: Path) -> None:
    """Delete a directory, what lies two levels down (units of phases) side by side: it is a wait for the disk."""
    units = [unit for phase in _folders(folder) for unit in _folders(phase)]
    with ThreadPoolExecutor(WAITERS) as pool:
        for _ in pool.map(shutil.rmtree, units):
            pass
    shutil.rmtree(folder)


def _folders(path: Path) -> list[Path]:
    """Return the directories in a directory, without links to others."""
    return [each for each in path.iterdir() if each.is_dir() and not each.is_symlink()]


def unlink_all(files: Iterable[Path]) -> None:
    """Delete files, side by side."""
    with ThreadPoolExecutor(WAITERS) as pool:
        for _ in pool.map(Path.unlink, files):
            pass


def sync(path: Path) -> None:
    """Have the system put a file or a directory on the disk before going on."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_all(paths: Iterable[Path]) -> None:
    """Have the system put files and directories on the disk, side by side, before going on."""
    with ThreadPoolExecutor(WAITERS) as pool:
        for _ in pool.map(sync, paths):
            pass


def open_to_others(path: Path) -> None:
    """Give a file the mode that the umask has for new ones, where a library made it for its owner alone."""
    mask = os.umask(0o022)
    os.umask(mask)
    path.chmod(0o666 & ~mask)


def run_whole(function: WholeUnit, unit: Any, final: Path) -> Ending | None:
    """Run a function that writes everything into one directory, if that is not published already; return its ending."""
    if final.exists():
        return None
    aside = _beside(final)
    function(unit, aside)
    return partial(_publish, aside, final)


def run_parts(function: PartsUnit, unit: Any, final: Path) -> Ending | None:
    """Run a function that publishes parts; ``final`` appears, by a rename, when all of them are there."""
    if final.exists():
        return None
    growing = final.with_name(final.name + ".parts")
    again = growing.exists()
    growing.mkdir(parents=True, exist_ok=True)
    for leftover in growing.glob("*.tmp-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    done = sum(path.name.isdigit() for path in growing.iterdir())
    parts = Parts(growing, done, again)
    try:
        function(unit, parts)
    except BaseException:
        parts.publish()
        raise
    return partial(_end_parts, parts, final)


def _end_parts(parts: Parts, final: Path) -> None:
    parts.publish()
    _rename(parts.path, final)
