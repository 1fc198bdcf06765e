"""Texts to ids by a package, and by gigatoken where that is known to give the same."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.tokenizers.fastpieces import FastPieces, agrees
from mrprep.tokenizers.flat import flat
from mrprep.tokenizers.protocol import Ids, Offsets

Encode = Callable[[str], Sequence[int] | npt.NDArray[Any]]
_NONE = np.zeros(0, np.uint32)


@dataclass(frozen=True)
class Encoder:
    """How one file is encoded; nothing is opened before it is asked for, as decoding needs none of it."""

    package: str
    """That gives the ids."""
    load: Callable[[], Encode]
    """Opens the file in the package."""
    fast: Callable[[], Any] | None
    """Returns a new ``gigatoken.Tokenizer`` of the file; None where it has no such thing."""
    slow_because: str
    """Why ``fast`` is None."""
    size: int
    """Bytes of the file."""
    matched: Iterable[str]
    """Added tokens that match in texts."""
    pieces: Sequence[bytes]

    @cached_property
    def opened(self) -> tuple[FastPieces | None, str]:
        """gigatoken, or why it is not used. What the package took for the probe (90 MB for 128,000 pieces) goes."""
        if self.fast is None:
            return None, self.slow_because
        try:
            fast = FastPieces(self.fast, self.size, self.matched)
        except (ValueError, RuntimeError, OSError, NotImplementedError) as error:
            return None, f"gigatoken does not know such a file ({str(error).splitlines()[0][:120]})"
        if agrees(fast, self.load(), self.pieces):
            return fast, ""
        return None, f"gigatoken and {self.package} disagree on a probe text"

    @cached_property
    def _exact(self) -> Encode:
        return self.load()

    def encode_batch(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """Return the ids of all texts, int32 flat, and where each begins, int64[n + 1]."""
        fast, _ = self.opened
        found, flagged = fast.encode(texts) if fast else ([_NONE] * len(texts), list(range(len(texts))))
        for i in flagged:
            found[i] = np.asarray(self._exact(texts[i]), np.uint32)
        return flat(found)

    def facts(self) -> dict[str, str]:
        """Return who encodes, and why it is not gigatoken."""
        fast, slow_because = self.opened
        return {"encoder": "gigatoken" if fast else self.package, "encoder_note": slow_because}
