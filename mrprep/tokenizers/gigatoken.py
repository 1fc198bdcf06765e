"""gigatoken as an encoder of bounded memory.

gigatoken remembers every stretch of text it has met, so that its memory grows with the corpus: some 2 MB for each MB of
Chinese, a tenth of that for English. It is opened anew when it has grown too large.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

LARGE, GROWTH = 240 << 20, 40 << 20
"""A model is opened anew when the process is larger than LARGE and has grown by GROWTH since it was last opened."""


class Gigatoken:
    """One model in gigatoken."""

    def __init__(self, opened: Callable[[], Any], growth: int = GROWTH) -> None:
        """Open a model.

        Args:
            opened: returns a new ``gigatoken.Tokenizer``.
            growth: bytes by which the process may grow before the model is opened anew; more where opening costs more.
        """
        self._opened, self._growth = opened, growth
        self._backend: Any = None
        self._open()

    def _open(self) -> None:
        self._backend = None  # the old one goes before the new one comes
        self._backend = self._opened().backend
        self._size_at_open = resident_bytes()

    def encode(self, texts: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        """Return the ids of each text."""
        if resident_bytes() > max(LARGE, self._size_at_open + self._growth):
            self._open()
        encode = self._backend.encode
        return [encode(text) for text in texts]


def resident_bytes() -> int:
    """Return the resident set of this process."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
