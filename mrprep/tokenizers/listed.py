"""A Tokenizer of a file whose pieces are known as bytes; families differ in how they read it and who encodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mrprep.tokenizers.decoding import Decoder, special
from mrprep.tokenizers.encoder import Encoder
from mrprep.tokenizers.model_file import SPACE
from mrprep.tokenizers.protocol import Ids, Offsets, Pieces, common_facts
from mrprep.tokenizers.roles import Roles


@dataclass(frozen=True)
class Listed:
    """See Tokenizer."""

    kind: str
    sha256: str
    roles: Roles
    unk_id: int | None
    vocabulary: Pieces
    encoder: Encoder
    dummy_prefix: bool = False
    """A space is put before each text."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Facts that the family adds."""

    @property
    def vocab_size(self) -> int:
        """See Tokenizer."""
        return len(self.vocabulary.bytes)

    @property
    def eod_id(self) -> int:
        """See Tokenizer."""
        return self.roles.eod

    @property
    def bos_id(self) -> int | None:
        """See Tokenizer."""
        return self.roles.bos

    @property
    def pad_id(self) -> int | None:
        """See Tokenizer."""
        return self.roles.pad

    @cached_property
    def special(self) -> Mapping[str, frozenset[int]]:
        """See Tokenizer."""
        return special(self.vocabulary.kinds)

    @cached_property
    def _decoder(self) -> Decoder:
        return Decoder(self.vocabulary, dummy_prefix=self.dummy_prefix)

    def encode_batch(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """See Tokenizer."""
        return self.encoder.encode_batch(texts)

    def decode(self, ids: Sequence[int]) -> str:
        """See Tokenizer."""
        return self._decoder.decode(ids)

    def piece(self, token: int) -> str:
        """See Tokenizer."""
        raw, kind = self.vocabulary.bytes[token], self.vocabulary.kinds[token]
        if kind == "byte":
            return f"<0x{raw[0]:02X}>"
        text = raw.decode("utf-8", "backslashreplace")
        return text.replace(" ", SPACE) if kind == "normal" else text

    def pieces(self) -> Pieces:
        """See Tokenizer."""
        return self.vocabulary

    def facts(self) -> dict[str, Any]:
        """See Tokenizer."""
        return {
            **common_facts(self),
            "byte_fallback": self.unk_id is None,
            "normalization": "identity",
            "add_dummy_prefix": self.dummy_prefix,
            "remove_extra_whitespaces": False,
            **self.encoder.facts(),
            **self.more,
        }
