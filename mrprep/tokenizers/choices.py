"""What a tokenizer file leaves open, and the user may say."""

from dataclasses import dataclass
from typing import Literal

AddedTokens = Literal["none", "plain", "all"]


@dataclass(frozen=True, slots=True)
class Choices:
    """How a tokenizer file is to be read."""

    eod: str | None = None
    """Piece that closes a document; None: what the file, or the configuration beside it, says."""
    added_tokens: AddedTokens = "none"
    """Added tokens that a text may hold: ``none``; ``plain``, those not called special; ``all`` but EOD, BOS and
    padding. SentencePiece models have none: their user-defined pieces always match."""
    pattern: str | None = None
    """How a rank file of tiktoken cuts text before merges: a name of ``tokenizers.patterns``, or a regular expression;
    None: known by the size of the vocabulary."""


AS_IT_IS = Choices()
"""Nothing is said."""
