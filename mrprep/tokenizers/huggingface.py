"""Hugging Face ``tokenizer.json`` files behind the Tokenizer protocol: the ids of the ``tokenizers`` package for a text
without special tokens. Decoding needs no package.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mrprep import extras
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.tokenizers import hf_kinds
from mrprep.tokenizers.choices import Choices
from mrprep.tokenizers.decoding import Decoder, special
from mrprep.tokenizers.hf_file import HfFile, read_hf
from mrprep.tokenizers.protocol import Ids, Offsets, Pieces, Tokenizer
from mrprep.tokenizers.roles import Roles, read_config, roles


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
    def _backend(self) -> Any:
        """The encoder of the package; opened when first asked for, as decoding needs none."""
        return _load(self._file, hf_kinds.for_encoder(self._file, self._pieces, self._matched))

    @cached_property
    def special(self) -> Mapping[str, frozenset[int]]:
        """See Tokenizer."""
        return special(self._pieces.kinds)

    def encode_batch(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """See Tokenizer."""
        found = [self._backend.encode(text, add_special_tokens=False).ids for text in texts]
        offsets = np.zeros(len(found) + 1, np.int64)
        np.cumsum([len(ids) for ids in found], out=offsets[1:])
        return np.fromiter((token for ids in found for token in ids), np.int32, offsets[-1]), offsets

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
            "encoder": "tokenizers",
            "encoder_note": "",
        }


def _load(file: HfFile, content: Mapping[str, Any]) -> Any:
    import orjson

    if not extras.has("hf"):
        raise MrprepError(f"the tokenizer {printable(str(file.path))} {extras.advice('hf')}")
    from tokenizers import Tokenizer as Backend

    return Backend.from_buffer(orjson.dumps(content))
