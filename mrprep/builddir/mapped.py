"""Arrays that lie in files and are looked at a stretch at a time, so that no number of documents fills memory."""

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def zeros(path: Path, dtype: npt.DTypeLike, length: int) -> Array:
    """Make a ``.npy`` of zeros, mapped for writing; what is never written takes no room on most disks."""
    if not length:
        np.save(path, np.zeros(0, dtype))
        return np.zeros(0, dtype)
    array: Array = np.lib.format.open_memmap(path, "w+", np.dtype(dtype), (length,))  # type: ignore[no-untyped-call]
    return array


def mapped(path: Path) -> Array:
    """Map a ``.npy`` for reading."""
    array: Array = np.load(path, mmap_mode="r")
    return array


def let_go(*arrays: Array) -> None:
    """Give the pages of mapped arrays back to the system, which writes or forgets them; what they hold stays."""
    for array in arrays:
        if isinstance(array.base, mmap.mmap):
            array.base.madvise(mmap.MADV_DONTNEED)
