"""Write a flat ``.npy`` file array by array, when its length is known only at the end."""

from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

HEADER_BYTES = 128
"""What ``numpy.save`` writes before the data of any flat array."""


class NpyStream:
    """A context manager; memory is what a call of ``write`` is given."""

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._file = path.open("wb")
        self._file.write(bytes(HEADER_BYTES))
        self.length = 0

    def write(self, values: npt.NDArray[np.generic]) -> None:
        """Append values, cast to the dtype of the file."""
        values.astype(self._dtype, copy=False).tofile(self._file)
        self.length += values.size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None:
            self._finish()
        self._file.close()

    def _finish(self) -> None:
        self._file.seek(0)
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": (self.length,)}
        np.lib.format.write_array_header_1_0(self._file, header)  # type: ignore[no-untyped-call]
        if self._file.tell() != HEADER_BYTES:
            raise ValueError(f"numpy wrote a header of {self._file.tell()} bytes, not {HEADER_BYTES}")
