"""A directory that appears whole, by one rename, or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mrprep.builddir.publish import publish
from mrprep.errors import MrprepError
from mrprep.printable import printable


@contextmanager
def new_directory(out: Path) -> Iterator[Path]:
    """Give a directory to write into, which becomes ``out`` at the end; it is deleted when something fails.

    Raises:
        MrprepError: something stands at ``out``.
    """
    if out.is_symlink() or (out.exists() and not (out.is_dir() and not any(out.iterdir()))):
        raise MrprepError(f"{printable(str(out))} exists: give another --out, or move it away")
    staged = out.with_name(f"{out.name}.{os.getpid()}.tmp")
    staged.mkdir(parents=True)
    try:
        yield staged
        publish(staged, out)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
