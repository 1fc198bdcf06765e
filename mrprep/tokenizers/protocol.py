"""What every tokenizer offers the stages, whatever family it is of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]

MOST_IDS = 1 << 24
"""Ids of a vocabulary are below it; a file that has larger ones is damaged."""
PieceKind = Literal["normal", "control", "byte", "user_defined", "unknown", "unused"]
"""``byte``: one byte of a character that has no piece. ``unused``: an id that neither a text nor we ever write."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """A vocabulary, one entry an id, in the same terms for every family."""

    bytes: tuple[bytes, ...]
    """What the id adds to a text: spaces as spaces, whatever marker the file has for them; may end within a
    character. Of ``control``, ``unknown`` and ``unused`` ids it is their name, which stands for no text."""
    kinds: tuple[PieceKind, ...]
    scores: npt.NDArray[np.float64]
    """float64[vocab]: as the file has them, or minus the rank of the merge that makes the piece; 0 without one."""


class Tokenizer(Protocol):
    """Text to ids and back; one instance serves one process."""

    @property
    def kind(self) -> str:
        """Family and algorithm, such as ``sentencepiece-bpe``."""

    @property
    def sha256(self) -> str:
        """Of the model file, in hex."""

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""

    @property
    def eod_id(self) -> int:
        """Closes a document; ``encode_batch`` never returns it, whatever the text."""

    @property
    def bos_id(self) -> int | None:
        """Opens a document, where a build asks for that."""

    @property
    def pad_id(self) -> int | None:
        """Fills rows: not EOD, and an id that ``encode_batch`` never returns; None if there is no such id."""

    @property
    def unk_id(self) -> int | None:
        """Stands for what the vocabulary cannot write; None if ``encode_batch`` never returns it."""

    @property
    def special(self) -> Mapping[str, frozenset[int]]:
        """Ids that are not plain text, by type: ``control``, ``unused``, ``user_defined``, ``byte``."""

    def encode_batch(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """Return the ids of all texts, int32 flat, and where each begins, int64[n + 1]."""

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text that the ids stand for; control ids stand for nothing."""

    def piece(self, token: int) -> str:
        """Return the piece of one id for a reader: U+2581 for a space, ``<0x0A>`` for a byte of its own kind."""

    def pieces(self) -> Pieces:
        """Return all pieces as bytes, with their kinds and scores."""

    def facts(self) -> dict[str, Any]:
        """Return what a manifest keeps: plain values, the same for the same model file and choice of EOD."""


def common_facts(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return what every family says of itself: file, size, ids with roles, how many special ids of each type."""
    return {
        "kind": tokenizer.kind,
        "sha256": tokenizer.sha256,
        "vocab_size": tokenizer.vocab_size,
        "eod_id": tokenizer.eod_id,
        "eod_piece": tokenizer.piece(tokenizer.eod_id),
        "bos_id": tokenizer.bos_id,
        "pad_id": tokenizer.pad_id,
        "unk_id": tokenizer.unk_id,
        "special": {name: len(ids) for name, ids in tokenizer.special.items()},
    }
