"""How much of the text the vocabulary cannot write: unknown ids, and characters spelt out in bytes."""

from collections.abc import Iterator

import numpy as np

from mrprep.audit.block import Block
from mrprep.audit.finding import Finding, Tally, grade
from mrprep.tokenizers.protocol import Tokenizer

_BLANKS = {"<0x09>", "<0x0A>", "<0x0D>"}
"""Tab and line ends, which vocabularies of running text, such as Llama 2's, have no other pieces for."""


class Unknown:
    """Shares of unknown and of byte-fallback ids among the tokens of text; bytes of line ends and tabs are none.

    Args:
        tokenizer: says which ids they are.
        unknown: shares at which unknown ids are a warning and a failure.
        byte: the same for bytes.
    """

    def __init__(self, tokenizer: Tokenizer, unknown: tuple[float, float], byte: tuple[float, float]) -> None:
        self._unknown_id = -1 if tokenizer.unk_id is None else tokenizer.unk_id
        self._is_byte = np.zeros(tokenizer.vocab_size + 1, bool)  # the last place: ids out of range
        spelling = (token for token in tokenizer.special["byte"] if tokenizer.piece(token) not in _BLANKS)
        self._is_byte[sorted(spelling)] = True
        self._limits, self._byte_limits = unknown, byte
        self._unknown, self._bytes = Tally(), Tally()

    def see(self, block: Block) -> None:
        """Take in a block."""
        text = block.text
        self._count(self._unknown, block, (block.tokens == self._unknown_id) & text)
        known = np.where(block.tokens < 0, self._is_byte.size - 1, block.tokens)
        self._count(self._bytes, block, self._is_byte[np.minimum(known, self._is_byte.size - 1)] & text)

    def _count(self, tally: Tally, block: Block, bad: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> None:
        worst = np.bincount(block.owner[bad], minlength=1)
        order = [stretch for stretch in np.argsort(-worst, kind="stable")[:3].tolist() if worst[stretch]]
        tally.add(int(bad.sum()), int(block.text.sum()), (block.example(stretch) for stretch in order))

    def findings(self) -> Iterator[Finding]:
        """Yield two judgements."""
        found = self._unknown
        yield found.finding(
            "unknown",
            grade(found.share, *self._limits),
            found.share,
            self._limits[0],
            f"{found.share:.2%} of the tokens are unknown to the vocabulary",
            "that text is lost: use a tokenizer with byte fallback, or one made for this language",
        )
        found = self._bytes
        yield found.finding(
            "byte-fallback",
            grade(found.share, *self._byte_limits),
            found.share,
            self._byte_limits[0],
            f"{found.share:.2%} of the tokens spell characters out in bytes",
            "rows hold little text and are hard to learn: use or train a vocabulary that has these characters",
        )
