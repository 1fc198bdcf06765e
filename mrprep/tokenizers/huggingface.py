"""Hugging Face ``tokenizer.json`` files behind the Tokenizer protocol: the ids of the ``tokenizers`` package for a text
without special tokens. Decoding needs no package.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from mrprep import extras
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.tokenizers import hf_kinds
from mrprep.tokenizers.choices import Choices
from mrprep.tokenizers.decoding import Decoder, special
from mrprep.tokenizers.fastpieces import FastPieces, open_fast_pieces
from mrprep.tokenizers.flat import flat
from mrprep.tokenizers.hf_file import HfFile, read_hf
from mrprep.tokenizers.protocol import Ids, Offsets, Pieces, Tokenizer
from mrprep.tokenizers.roles import Roles, read_config, roles

_NONE = np.zeros(0, np.uint32)


def open_huggingface(path: Path, choices: Choices) -> Tokenizer:
    """Open a ``tokenizer.json``, with the ``tokenizer_config.json`` beside it if there is one.

    Raises:
        MrprepError: no such file, a damaged one, one of a kind that is not served, or no token fit to close a document.
    """
    file = read_hf(path)
    return _HuggingFace(file, _roles(file, choices), choices)


def _roles(file: HfFile, choices: Choices) -> Roles:
    lost = None if file.byte_complete else file.unknown
    named = {text: int(token["id"]) for text, token in file.added.items() if token["id"] != lost}
    spare = [named[text] for text in named if file.added[text].get("special")]
    return roles(file.path, named, spare, eod=choices.eod, config=read_config(file.path.parent))


class _HuggingFace:
    """A Tokenizer by tokenizers."""

    def __init__(self, file: HfFile, of: Roles, choices: Choices) -> None:
        self._file, self._choices = file, choices
        self._matched = hf_kinds.parsed(file, of, choices.added_tokens)
        self._pieces = hf_kinds.pieces(file, of, self._matched)
        self.kind = f"huggingface-{file.model_type}"
        self.sha256 = file.sha256
        self.vocab_size = len(self._pieces.bytes)
        self.eod_id, self.bos_id, self.pad_id = of.eod, of.bos, of.pad
        self.unk_id = None if file.byte_complete else file.unknown
        self._decoder = Decoder(self._pieces, dummy_prefix=file.add_dummy_prefix)
        self._names = {token: piece for piece, token in file.vocab.items()}
        self._names |= {int(token["id"]): text for text, token in file.added.items()}

    @cached_property
    def _encoder_json(self) -> bytes:
        return orjson.dumps(hf_kinds.for_encoder(self._file, self._pieces, self._matched))

    @cached_property
    def _exact(self) -> Any:
        """The encoder of the package; opened when first asked for, as decoding needs none."""
        return _load(self._file.path, self._encoder_json)

    @cached_property
    def _opened(self) -> tuple[FastPieces | None, str]:
        """The fast encoder, or why there is none; the package's, 90 MB for 128,000 pieces, goes after the probe."""
        reason = _unfit(self._file)
        if reason:
            return None, reason
        from gigatoken import Tokenizer as Fast

        exact, content = _load(self._file.path, self._encoder_json), self._encoder_json
        return open_fast_pieces(
            lambda: Fast.from_json(content),
            len(content),
            self._matched,
            lambda text: exact.encode(text, add_special_tokens=False).ids,
            self._pieces.bytes,
        )

    @cached_property
    def special(self) -> Mapping[str, frozenset[int]]:
        """See Tokenizer."""
        return special(self._pieces.kinds)

    def encode_batch(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """See Tokenizer."""
        fast, _ = self._opened
        found, flagged = fast.encode(texts) if fast else ([_NONE] * len(texts), range(len(texts)))
        for i in flagged:
            found[i] = np.array(self._exact.encode(texts[i], add_special_tokens=False).ids, np.uint32)
        return flat(found)

    def decode(self, ids: Sequence[int]) -> str:
        """See Tokenizer."""
        return self._decoder.decode(ids)

    def piece(self, token: int) -> str:
        """See Tokenizer."""
        return self._names.get(token, "")

    def pieces(self) -> Pieces:
        """See Tokenizer."""
        return self._pieces

    def facts(self) -> dict[str, Any]:
        """See Tokenizer."""
        fast, slow_because = self._opened
        return {
            "kind": self.kind,
            "sha256": self.sha256,
            "vocab_size": self.vocab_size,
            "eod_id": self.eod_id,
            "eod_piece": self.piece(self.eod_id),
            "bos_id": self.bos_id,
            "pad_id": self.pad_id,
            "unk_id": self.unk_id,
            "byte_fallback": self._file.byte_complete,
            "normalization": self._file.normalization,
            "add_dummy_prefix": self._file.add_dummy_prefix,
            "remove_extra_whitespaces": self._file.removes_whitespace,
            "added_tokens": self._choices.added_tokens,
            "special": {name: len(ids) for name, ids in self.special.items()},
            "encoder": "gigatoken" if fast else "tokenizers",
            "encoder_note": slow_because,
        }


def _load(path: Path, content: bytes) -> Any:
    if not extras.has("hf"):
        raise MrprepError(f"the tokenizer {printable(str(path))} {extras.advice('hf')}")
    from tokenizers import Tokenizer as Backend

    return Backend.from_buffer(content)


def _unfit(file: HfFile) -> str:
    """Return why a file as a whole is left to the package, or an empty string."""
    checks = {
        "it is no BPE model": file.model_type != "bpe",
        "it has no piece for some bytes": not file.byte_complete,
        "it rewrites the text before cutting it": file.normalization not in ("identity", "NFC"),
        "it loses white space": file.removes_whitespace,
    }
    return next((reason for reason, holds in checks.items() if holds), "")
