"""Ids of documents of any length, cut into pieces and decoded a slice at a time, to the text that all at once would be.

A cut lies before an id that begins a character. Memory: some 5 MB for a slice, and the text of a piece.
"""

from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.tokenizers.protocol import Tokenizer

MAX_PIECE_BYTES, MAX_PIECE_IDS = 16 << 20, 4 << 20
"""Of one piece: of its text in UTF-8, and ids."""
_SLICE_BYTES, _SLICE_IDS = 4 << 20, 1 << 16
_REACH = 64
"""Ids before the limit, among which a place to cut is looked for."""


class Slices:
    """Cuts and decodes the ids of one tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        pieces = tokenizer.pieces()
        self._decode = tokenizer.decode
        self._sizes = np.array([len(raw) for raw in pieces.bytes], np.int64)
        named = [kind not in ("control", "unused") for kind in pieces.kinds]
        self._begins = np.array([raw[:1] < b"\x80" or raw[:1] >= b"\xc0" for raw in pieces.bytes]) & named
        plain = (i for i, raw in enumerate(pieces.bytes) if pieces.kinds[i] == "normal" and _is_text(raw))
        self._before = [*islice(plain, 1)]
        """An id before all slices but the first: the space with which a text begins is no part of it, theirs are."""
        self._prefix = len(self._decode(self._before))

    def piece_end(self, ids: npt.NDArray[Any]) -> int:
        """Return how many of the ids the first piece of them has."""
        return self._end(ids, MAX_PIECE_BYTES, MAX_PIECE_IDS)

    def text(self, ids: npt.NDArray[Any], *, begins: bool) -> str:
        """Return the text of a piece.

        Args:
            ids: of the piece.
            begins: it is the first of its document.
        """
        texts: list[str] = []
        while ids.size:
            end = self._end(ids, _SLICE_BYTES, _SLICE_IDS)
            some = ids[:end].tolist()
            if begins:
                texts.append(self._decode(some))
                begins = not texts[-1]
            else:
                texts.append(self._decode([*self._before, *some])[self._prefix :])
            ids = ids[end:]
        return "".join(texts)

    def _end(self, ids: npt.NDArray[Any], most_bytes: int, most_ids: int) -> int:
        ids = ids[: most_ids + 1]
        end = max(1, int(np.searchsorted(np.cumsum(self._sizes[ids]), most_bytes, side="right")))
        end = min(end, most_ids)
        if end >= ids.size:
            return ids.size
        first = max(1, end - _REACH)
        places = np.flatnonzero(self._begins[ids[first : end + 1]])
        return first + int(places[-1]) if places.size else end


def _is_text(raw: bytes) -> bool:
    """Tell whether these bytes are a text that begins with no space."""
    text = raw.decode("utf-8", "replace")
    return "\ufffd" not in text and not text[:1].isspace()
