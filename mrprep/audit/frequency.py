"""How often each token comes: the most frequent ones, the entropy, and what of the vocabulary is never used."""

from collections.abc import Iterator

import numpy as np

from mrprep.audit.block import Block
from mrprep.audit.finding import Finding, grade
from mrprep.order import I64
from mrprep.printable import printable
from mrprep.tokenizers.protocol import Tokenizer

_TOP = 10
_FIT = (10, 1000)
"""Ranks that the Zipf line is fitted to: below are a few function words, above is the noise of a sample."""
_ENOUGH = 20
"""Tokens seen for each piece of the vocabulary, before a piece not seen says anything."""


class Frequency:
    """A histogram of the tokens of text.

    Args:
        tokenizer: of the build.
        top: shares of the most frequent token that are a warning and a failure.
        entropy: bits at or under which a warning and a failure is due.
        unseen: share of the vocabulary not seen from which on it is a note.
    """

    def __init__(
        self, tokenizer: Tokenizer, top: tuple[float, float], entropy: tuple[float, float], unseen: float
    ) -> None:
        self._tokenizer = tokenizer
        self._top, self._entropy, self._unseen = top, entropy, unseen
        self._counts = np.zeros(tokenizer.vocab_size, np.int64)

    def see(self, block: Block) -> None:
        """Take in a block."""
        tokens = block.tokens[block.text]
        known = tokens[(tokens >= 0) & (tokens < self._counts.size)]
        self._counts += np.bincount(known, minlength=self._counts.size)

    def findings(self) -> Iterator[Finding]:
        """Yield three judgements."""
        order = np.argsort(-self._counts, kind="stable")
        falling = self._counts[order]
        yield self._frequent(order, falling / max(1, int(falling.sum())))
        yield self._bits(falling)
        yield self._never(falling)

    def _frequent(self, order: I64, shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Finding:
        named = [
            f"{printable(self._tokenizer.piece(token), 20)!r} {share:.2%}"
            for token, share in zip(order[:_TOP].tolist(), shares[:_TOP].tolist(), strict=True)
            if share
        ]
        sums = ", ".join(f"top {n} {shares[:n].sum():.0%}" for n in (10, 100))
        level = grade(float(shares[0]), *self._top)
        advice = "one token rules the text: look at rows with mrprep show for what it is"
        return Finding(
            "frequent-tokens",
            level,
            float(shares[0]),
            self._top[0],
            f"the most frequent tokens: {', '.join(named)}; {sums}",
            "" if level == "ok" else advice,
        )

    def _bits(self, falling: I64) -> Finding:
        bits = entropy(falling)
        most = np.log2(max(2, falling.size))
        limits = [min(limit, factor * most) for limit, factor in zip(self._entropy, (0.5, 0.3), strict=True)]
        level = grade(-bits, -limits[0], -limits[1])
        advice = "the text hardly varies: look at rows with mrprep show, and at what the sources hold"
        return Finding(
            "entropy",
            level,
            bits,
            limits[0],
            f"the tokens carry {bits:.2f} bits each (of {most:.1f}), Zipf exponent {zipf(falling):.2f}",
            "" if level == "ok" else advice,
        )

    def _never(self, falling: I64) -> Finding:
        share = float((falling == 0).mean())
        enough = int(falling.sum()) >= _ENOUGH * falling.size
        note = enough and share >= self._unseen
        advice = "the vocabulary is larger than this text needs: a smaller or own one makes the model cheaper"
        return Finding(
            "unseen-vocabulary",
            "note" if note else "ok",
            share,
            self._unseen,
            f"{share:.1%} of the {falling.size:,} pieces do not occur in the {int(falling.sum()):,} tokens sampled",
            advice if note else "",
        )


def entropy(counts: I64) -> float:
    """Return the Shannon entropy of a histogram in bits."""
    p = counts[counts > 0] / max(1, int(counts.sum()))
    return float(-(p * np.log2(p)).sum()) + 0.0


def zipf(falling: I64) -> float:
    """Return the exponent s of frequency ~ rank**-s, by least squares over the logs of ranks 10 to 1,000."""
    ranks = np.arange(_FIT[0], min(_FIT[1], int((falling > 0).sum())) + 1)
    if ranks.size < 3:
        return 0.0
    slope = np.polyfit(np.log(ranks), np.log(falling[ranks - 1]), 1)[0]
    return float(-slope) + 0.0
