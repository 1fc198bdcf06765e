"""Ids to text for families whose pieces are known as bytes: the bytes, one after the other, read as UTF-8."""

from collections.abc import Mapping, Sequence

from mrprep.tokenizers.protocol import PieceKind, Pieces

WRITTEN: frozenset[PieceKind] = frozenset({"normal", "byte", "user_defined", "unknown"})
"""Kinds that stand for something in a text: an unknown id for its own name, so that a reader sees it."""


class Decoder:
    """Text of ids; those of other kinds than WRITTEN stand for nothing, broken UTF-8 for U+FFFD."""

    def __init__(self, pieces: Pieces, *, dummy_prefix: bool) -> None:
        """Open the table.

        Args:
            pieces: of the vocabulary.
            dummy_prefix: texts are encoded with a space before them, which is taken off again.
        """
        rows = zip(pieces.bytes, pieces.kinds, strict=True)
        self._table = [raw if kind in WRITTEN else b"" for raw, kind in rows]
        self._dummy_prefix = dummy_prefix

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids."""
        text = b"".join([self._table[token] for token in ids]).decode("utf-8", "replace")
        return text[1:] if self._dummy_prefix and text.startswith(" ") else text


def special(kinds: Sequence[PieceKind]) -> Mapping[str, frozenset[int]]:
    """Return ids by kind, of the kinds that ``Tokenizer.special`` lists."""
    names: tuple[PieceKind, ...] = ("control", "unused", "user_defined", "byte")
    return {name: frozenset(i for i, kind in enumerate(kinds) if kind == name) for name in names}
