"""Which pieces of an old vocabulary the pieces of a new one are, or are made of: by their bytes, not by their names.

`Pieces.bytes` are the same terms for every family: ``▁the`` of SentencePiece and ``Ġthe`` of a byte-level BPE are both
`` the``, ``<0x41>`` is the byte ``A``. Costs a look-up for each stretch of each new piece: seconds for 150,000 pieces.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from mrprep.tokenizers.protocol import PieceKind, Pieces, Tokenizer

I64 = npt.NDArray[np.int64]
Kind = Literal["same", "byte", "normalised", "special", "pieces", "none"]
"""How a new piece stands to the old ones. ``same``: the same text; ``byte``: one byte, whatever the kinds;
``normalised``: one old piece, in the form that the old tokenizer brings text into; ``special``: a control piece by its
name or its part (EOD, BOS, padding, unknown); ``pieces``: several old ones make it up; ``none``: nothing does."""
MATCHED: tuple[Kind, ...] = ("same", "byte", "normalised", "special")
_TEXT = ("normal", "user_defined")
_NAMED = ("control", "unknown")


@dataclass(frozen=True, slots=True)
class Alignment:
    """Of each new id, the old ids whose rows make its row."""

    kinds: tuple[Kind, ...]
    """One a new id."""
    sources: tuple[tuple[int, ...], ...]
    """Old ids: one where it matched, several for ``pieces``, none for ``none``."""


def match(old: Tokenizer, new: Tokenizer) -> Alignment:
    """Return what each piece of ``new`` is in terms of ``old``."""
    was, now = _Old(old.pieces()), new.pieces()
    roles = _roles(old, new)
    found: list[tuple[Kind, tuple[int, ...]]] = []
    for token, (piece, kind) in enumerate(zip(now.bytes, now.kinds, strict=True)):
        is_text = kind in (*_TEXT, "byte")
        found.append(was.exact(piece, is_byte=kind == "byte") if is_text else was.named(piece, kind, roles.get(token)))
    left = [i for i, (kind, _) in enumerate(found) if kind == "none" and now.kinds[i] in (*_TEXT, "byte")]
    for token, form in zip(left, _normalised(old, was, [now.bytes[i] for i in left]), strict=True):
        found[token] = was.made_of(now.bytes[token], form)
    return Alignment(tuple(kind for kind, _ in found), tuple(sources for _, sources in found))


class _Old:
    """The old vocabulary, by bytes."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        self._texts: dict[bytes, int] = {}
        self._bytes: dict[bytes, int] = {}
        order = np.argsort(-pieces.scores, kind="stable").tolist()
        for token in order:
            kind, piece = pieces.kinds[token], pieces.bytes[token]
            if piece and (kind in _TEXT or kind == "byte"):
                (self._bytes if kind == "byte" else self._texts).setdefault(piece, token)
        self._longest = max(map(len, self._texts), default=1)
        named = zip(pieces.bytes, pieces.kinds, range(len(pieces.bytes)), strict=True)
        self._names = {(b"" if kind == "unknown" else name): i for name, kind, i in named if kind in _NAMED}

    def named(self, name: bytes, kind: PieceKind, role: int | None) -> tuple[Kind, tuple[int, ...]]:
        """Return the old piece that stands for no text and has this name, else this part; there is one unknown."""
        source = self._names.get(b"" if kind == "unknown" else name, role) if kind in _NAMED else role
        return ("none", ()) if source is None else ("special", (source,))

    def exact(self, piece: bytes, *, is_byte: bool) -> tuple[Kind, tuple[int, ...]]:
        """Return the old piece of the same text; one byte of a text may be a piece of either kind."""
        first, second = (self._bytes, self._texts) if is_byte else (self._texts, self._bytes)
        if piece in first:
            return ("byte" if is_byte else "same"), (first[piece],)
        return ("byte", (second[piece],)) if len(piece) == 1 and piece in second else ("none", ())

    def made_of(self, piece: bytes, form: bytes) -> tuple[Kind, tuple[int, ...]]:
        """Return the one old piece, or the fewest, that make up a piece in the form that the old tokenizer gives it."""
        ids = self._fewest(form) or self._fewest(piece)
        if not ids:
            return "none", ()
        return ("normalised" if len(ids) == 1 else "pieces"), ids

    def _fewest(self, text: bytes) -> tuple[int, ...]:
        """Return the fewest old pieces that make up a text, of several such ways the one with the longest end."""
        best: list[tuple[int, int, int] | None] = [(0, 0, -1)]  # pieces, where the last begins, its id
        for stop in range(1, len(text) + 1):
            ways = [
                (before[0] + 1, start, token)
                for start in range(max(0, stop - self._longest), stop)
                if (before := best[start]) is not None and (token := self._id(text[start:stop])) is not None
            ]
            best.append(min(ways, default=None))
        return tuple(reversed(list(_back(best))))

    def _id(self, piece: bytes) -> int | None:
        token = self._texts.get(piece)
        return self._bytes.get(piece) if token is None else token


def _back(best: Sequence[tuple[int, int, int] | None]) -> Iterator[int]:
    at = len(best) - 1
    while at > 0 and (way := best[at]) is not None:
        yield way[2]
        at = way[1]


def _normalised(old: Tokenizer, was: _Old, pieces: Sequence[bytes]) -> list[bytes]:
    """Return the pieces in the form that the old tokenizer brings text into; as they are where it cannot write them."""
    texts = [_text(piece) for piece in pieces]
    ids, starts = old.encode_batch([text or "" for text in texts])
    forms = []
    for piece, text, start, stop in zip(pieces, texts, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        tokens = ids[start:stop].tolist()
        form = b"".join(was.pieces.bytes[token] for token in tokens)
        if not piece.startswith(b" "):
            form = form.removeprefix(b" ")  # that many put before a text
        usable = text and form and old.unk_id not in tokens
        forms.append(form if usable else piece)
    return forms


def _text(piece: bytes) -> str | None:
    """Return a piece as text; None if it is a part of a character."""
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return None


def _roles(old: Tokenizer, new: Tokenizer) -> Mapping[int, int]:
    """Return the ids of the new parts, such as EOD -> the old ids of those."""
    pairs = ((new.pad_id, old.pad_id), (new.unk_id, old.unk_id), (new.bos_id, old.bos_id), (new.eod_id, old.eod_id))
    return {now: was for now, was in pairs if now is not None and was is not None}
