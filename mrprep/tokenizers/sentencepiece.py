"""SentencePiece models behind the Tokenizer protocol: the ids of sentencepiece, by gigatoken where they are
the same.

MB/s a core (bench/encoders.py): llama2_32k 58 on English books and 74 on Chinese laws by gigatoken, against 2 and 51
by sentencepiece. Both take time linear in the text, spaces or none: 4 million characters, 0.3 to 2 s.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy.typing as npt

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.tokenizers.fastbpe import FastBpe, open_fast
from mrprep.tokenizers.flat import flat
from mrprep.tokenizers.model_file import ModelFile, PieceType, check_foreign, no_model, read_model
from mrprep.tokenizers.protocol import Ids, Offsets, Pieces, Tokenizer, common_facts


def open_sentencepiece(path: Path, *, eod: str | None = None, checked: bool = False) -> Tokenizer:
    """Open a SentencePiece model.

    Args:
        path: of the ``.model`` file.
        eod: piece that closes a document; the model's own end of sentence if None.
        checked: the file is our own, or has been opened before; otherwise a child process opens it first.

    Raises:
        MrprepError: no such file, no model, or no piece fit to close a document.
    """
    model = read_model(path)
    if not checked:
        check_foreign(path)
    return _SentencePiece(path, model, eod)


class _SentencePiece:
    """A Tokenizer by sentencepiece, and by gigatoken where the ids are the same."""

    def __init__(self, path: Path, model: ModelFile, eod: str | None) -> None:
        self._path, self._model = path, model
        self._processor = _load(path)
        self.kind = f"sentencepiece-{model.model_type}"
        self.sha256 = model.sha256
        self.vocab_size = len(model.pieces)
        self.eod_id = _eod(path, model, self._processor, eod)
        self.bos_id: int | None = self._processor.bos_id() if self._processor.bos_id() >= 0 else None
        self.pad_id = self._pad()

    @cached_property
    def _opened(self) -> tuple[FastBpe | None, str]:
        """The fast encoder, or why there is none; opened when first asked for, as decoding needs none."""
        return open_fast(self._path, self._model, self._processor)

    @cached_property
    def special(self) -> Mapping[str, frozenset[int]]:
        """See Tokenizer."""
        names = (PieceType.CONTROL, PieceType.UNUSED, PieceType.USER_DEFINED, PieceType.BYTE)
        return {name.name.lower(): self._model.of_type(name) for name in names}

    @property
    def unk_id(self) -> int | None:
        """See Tokenizer."""
        return None if self._model.byte_fallback else int(self._processor.unk_id())

    def encode_batch(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """See Tokenizer."""
        fast, _ = self._opened
        if fast is None:
            found = [self._exact(text) for text in texts]
        else:
            found, flagged = fast.encode(texts)
            for i in flagged:
                found[i] = self._exact(texts[i])
        return flat(found)

    def _exact(self, text: str) -> npt.NDArray[Any]:
        ids: npt.NDArray[Any] = self._processor.encode(text, return_type="numpy")
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """See Tokenizer."""
        return str(self._processor.decode([int(token) for token in ids]))

    def piece(self, token: int) -> str:
        """See Tokenizer."""
        return self._model.pieces[token]

    def pieces(self) -> Pieces:
        """See Tokenizer."""
        return self._model.as_pieces()

    def facts(self) -> dict[str, Any]:
        """See Tokenizer."""
        model = self._model
        fast, slow_because = self._opened
        return {
            **common_facts(self),
            "byte_fallback": model.byte_fallback,
            "normalization": model.normalization if model.charsmap else "identity",
            "add_dummy_prefix": model.add_dummy_prefix,
            "remove_extra_whitespaces": model.remove_extra_whitespaces,
            "encoder": "gigatoken" if fast else "sentencepiece",
            "encoder_note": slow_because,
        }

    def _pad(self) -> int | None:
        """Return the first of: own padding, BOS, another control piece, an unreachable unknown piece."""
        control = self._model.of_type(PieceType.CONTROL)
        unknown = self._model.of_type(PieceType.UNKNOWN) if self._model.byte_fallback else frozenset()
        wishes = [self._processor.pad_id(), self._processor.bos_id(), *sorted(control)]
        fit = [token for token in wishes if token in control] + sorted(unknown)
        return next((token for token in fit if token != self.eod_id), None)


def _load(path: Path) -> Any:
    import sentencepiece

    sentencepiece.set_min_log_level(2)
    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError):
        raise no_model(path) from None


def _eod(path: Path, model: ModelFile, processor: Any, name: str | None) -> int:
    shown = printable(str(path))
    advice = "name a control piece of the model as eod"
    token = processor.eos_id() if name is None else _id_of(model, name)
    if token < 0:
        missing = "has no end-of-sentence piece" if name is None else f"has no piece {printable(name)}"
        raise MrprepError(f"the tokenizer {shown} {missing}, so documents cannot be closed: {advice}")
    piece = model.pieces[token]
    if model.types[token] != PieceType.CONTROL:
        raise MrprepError(
            f"the piece {printable(piece)} of {shown} can come of plain text, so it cannot close documents: {advice}"
        )
    return int(token)


def _id_of(model: ModelFile, piece: str) -> int:
    return model.pieces.index(piece) if piece in model.pieces else -1
