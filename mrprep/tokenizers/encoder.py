"""Texts to ids by a package, and by gigatoken where that is known to give the same."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.tokenizers.fastpieces import FastPieces, agrees
from mrprep.tokenizers.flat import flat
from mrprep.tokenizers.panics import panics_as_errors
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
        exact = partial(self._told, self.load())
        try:
            with panics_as_errors():
                fast = FastPieces(self.fast, self.size, self.matched)
                same = agrees(fast, exact, self.pieces)
        except (ValueError, RuntimeError, OSError, NotImplementedError) as error:
            return None, f"gigatoken does not know such a file ({' '.join(str(error).split())[:120]})"
        return (fast, "") if same else (None, f"gigatoken and {self.package} disagree on a probe text")

    @cached_property
    def _exact(self) -> Encode:
        return self.load()

    def encode_batch(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """Return the ids of all texts, int32 flat, and where each begins, int64[n + 1]."""
        fast, _ = self.opened
        found, flagged = fast.encode(texts) if fast else ([_NONE] * len(texts), list(range(len(texts))))
        for i in flagged:
            found[i] = self._told(self._exact, texts[i])
        return flat(found)

    def _told(self, encode: Encode, text: str) -> npt.NDArray[np.uint32]:
        """Return the ids of a text by the package; what goes wrong in it becomes a sentence."""
        try:
            with panics_as_errors():
                return np.asarray(encode(text), np.uint32)
        except Exception as error:  # tokenizers raises no narrower one
            raise MrprepError(
                f"{self.package} fails ({printable(str(error), 200)}) on a text of {len(text):,} characters that "
                f"begins {printable(text, 40)!r}: name another tokenizer, or leave that text out"
            ) from None

    def facts(self) -> dict[str, str]:
        """Return who encodes, and why it is not gigatoken."""
        fast, slow_because = self.opened
        return {"encoder": "gigatoken" if fast else self.package, "encoder_note": slow_because}
