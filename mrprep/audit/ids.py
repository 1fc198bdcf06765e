"""Do the ids fit the vocabulary, and do ids that are no plain text stand only where they should?"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mrprep.audit.block import EXCERPT, Block, Example, Mask
from mrprep.audit.finding import Finding, Tally
from mrprep.order import I64
from mrprep.printable import printable
from mrprep.tokenizers.protocol import Tokenizer

_IDS = 3
"""Ids out of range that an example names."""


class Range:
    """Ids from 0 to before the size of the vocabulary; a single other one ends a training run, or worse."""

    def __init__(self, vocab_size: int) -> None:
        self._vocab_size = vocab_size
        self._tokens = Tally()

    def see(self, block: Block) -> None:
        """Take in a block."""
        there = block.there
        bad = there & ((block.tokens < 0) | (block.tokens >= self._vocab_size))
        rows = np.flatnonzero(bad.any(axis=1))
        self._tokens.add(int(bad.sum()), int(there.sum()), self._examples(block, bad, rows))

    def _examples(self, block: Block, bad: Mask, rows: I64) -> Iterator[Example]:
        for row, example in zip(rows.tolist(), block.row_examples(rows), strict=True):
            ids = np.unique(block.tokens[row, bad[row]])
            more = f" and {ids.size - _IDS} other ids" if ids.size > _IDS else ""
            named = ", ".join(map(str, ids[:_IDS].tolist()))
            yield replace(example, text=printable(f"{named}{more} in: {example.text or 'no text'}", EXCERPT))

    def findings(self) -> Iterator[Finding]:
        """Yield the judgement."""
        found = self._tokens
        yield found.finding(
            "id-range",
            "failure" if found.hits else "ok",
            found.hits,
            1,
            f"{found.hits:,} of {found.total:,} ids lie outside of 0 to {self._vocab_size - 1}",
            "the shards were not made with this tokenizer: build again, or put its own tokenizer back",
        )


class Control:
    """Control and unused pieces within text: a text can never make them, so they are a fault of the data.

    EOD at the end of a document and BOS at its beginning are where they belong.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        special = tokenizer.special
        self._ids = np.array(sorted(special["control"] | special["unused"]), np.int32)
        self._eod, self._bos = tokenizer.eod_id, tokenizer.bos_id
        self._tokens = Tally()

    def see(self, block: Block) -> None:
        """Take in a block."""
        bad = np.isin(block.tokens, self._ids) & block.text
        at, row, end = block.stretches.at, block.stretches.row, block.stretches.at + block.stretches.length - 1
        bad[row, end] &= block.tokens[row, end] != self._eod
        opens = block.stretches.token == 0
        if self._bos is not None:
            bad[row[opens], at[opens]] &= block.tokens[row[opens], at[opens]] != self._bos
        hits = np.unique(block.owner[bad]).tolist()
        self._tokens.add(int(bad.sum()), int(block.text.sum()), (block.example(stretch) for stretch in hits))

    def findings(self) -> Iterator[Finding]:
        """Yield the judgement."""
        found = self._tokens
        yield found.finding(
            "control-ids",
            "failure" if found.hits else "ok",
            found.hits,
            1,
            f"{found.hits:,} control or unused ids stand inside of texts",
            "a model would learn that documents end or begin there: build again with mrprep's tokenize stage",
        )


class UserDefined:
    """User-defined pieces within text: markers that a text may hold, and a model then takes for the real ones.

    Args:
        tokenizer: says which ids they are.
        note: share of the tokens from which on it is a note.
    """

    def __init__(self, tokenizer: Tokenizer, note: float) -> None:
        self._tokenizer, self._note = tokenizer, note
        self._is = np.zeros(tokenizer.vocab_size, bool)
        self._is[sorted(tokenizer.special["user_defined"])] = True
        self._counts = np.zeros(tokenizer.vocab_size, np.int64)
        self._tokens = Tally()

    def see(self, block: Block) -> None:
        """Take in a block."""
        inside = block.text & (block.tokens >= 0) & (block.tokens < self._is.size)
        hits = inside & self._is[np.where(inside, block.tokens, 0)]
        self._counts += np.bincount(block.tokens[hits], minlength=self._is.size)
        stretches = np.unique(block.owner[hits]).tolist()
        self._tokens.add(int(hits.sum()), int(block.text.sum()), (block.example(stretch) for stretch in stretches))

    def findings(self) -> Iterator[Finding]:
        """Yield the judgement."""
        found = self._tokens
        most = [token for token in np.argsort(-self._counts)[:3].tolist() if self._counts[token]]
        named = ", ".join(f"{printable(self._tokenizer.piece(token), 20)!r} {self._counts[token]:,}" for token in most)
        note = found.share >= self._note
        yield found.finding(
            "user-defined",
            "note" if note else "ok",
            found.share,
            self._note,
            f"{found.hits:,} of {found.total:,} tokens are user-defined pieces" + (f": {named}" if named else ""),
            "where they stand for markers of chat or tools, filter the source they come from",
        )
