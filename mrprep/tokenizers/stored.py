"""Ids that are known already, in place of encoding: those of documents that came out of shards."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.builddir.mapped import let_go, mapped
from mrprep.tokenizers.protocol import Ids, Offsets, Tokenizer

IDS, STARTS = "ids.npy", "starts.npy"


class StoredIds:
    """The tokenizer whose ids they are, but ``encode_batch`` gives the stored ids of the texts that come next."""

    def __init__(self, tokenizer: Tokenizer, part: Path, alive: npt.NDArray[np.bool_] | None) -> None:
        """Open the ids of a part.

        Args:
            tokenizer: for all but ``encode_batch``.
            part: directory with ``ids.npy``, flat, and ``starts.npy``, int64[rows + 1].
            alive: bool[rows], the rows whose texts come; None for all.
        """
        self._tokenizer = tokenizer
        self._ids = mapped(part / IDS)
        self._starts: npt.NDArray[np.int64] = np.load(part / STARTS)
        rows = len(self._starts) - 1
        self._rows = np.arange(rows) if alive is None else np.flatnonzero(alive)

    def encode_batch(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """Return the ids of the next texts, int32 flat, and where each begins, int64[n + 1]."""
        rows, self._rows = self._rows[: len(texts)], self._rows[len(texts) :]
        found = [np.asarray(self._ids[self._starts[row] : self._starts[row + 1]], np.int32) for row in rows.tolist()]
        ids = np.concatenate([np.zeros(0, np.int32), *found])
        let_go(self._ids)
        return ids, np.cumsum([0, *map(len, found)])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)
