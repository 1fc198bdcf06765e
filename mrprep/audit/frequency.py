"""How often each token comes, in all and by source and shard: the most frequent ones, entropy, what is never used."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mrprep.audit.block import Block, Example
from mrprep.audit.figures import Group
from mrprep.audit.finding import EXAMPLES, LEVELS, Finding, Level, grade
from mrprep.audit.mix import source_of
from mrprep.order import I64
from mrprep.printable import printable
from mrprep.tokenizers.protocol import Tokenizer

_TOP = 10
_FIT = (10, 1000)
"""Ranks that the Zipf line is fitted to: below are a few function words, above is the noise of a sample."""
_ENOUGH = 20
"""Tokens seen for each piece of the vocabulary, before a piece not seen says anything."""
_GROUP = 4096
"""Tokens of a source or shard, before it is judged by itself."""
_POINTS = 120
"""Of the curve of shares by rank."""
_FACTORS = (0.5, 0.3)
"""Of the most bits that the vocabulary allows: where limits are more than that, it is a warning and a failure."""


class Frequency:
    """A histogram of the tokens of text; one more for each of up to 64 sources, and one for the shard at hand.

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
        self._counts, self._of_shard = self._none(), self._none()
        self._of_source: dict[str, I64] = {}
        self._shard = ""
        self._shards: dict[str, Group] = {}
        self._examples: dict[str, list[Example]] = {}

    def _none(self) -> I64:
        return np.zeros(self._tokenizer.vocab_size, np.int64)

    def see(self, block: Block) -> None:
        """Take in a block."""
        if block.shard != self._shard:
            self._end_shard()
            self._shard, self._of_shard = block.shard, self._none()
        names, codes = block.groups()
        known = block.text & (block.tokens >= 0) & (block.tokens < self._counts.size)
        tokens, sources = block.tokens[known], codes[block.owner[known]]
        self._of_shard += np.bincount(tokens, minlength=self._counts.size)
        for code, source in enumerate(names):
            name = source_of(self._of_source, source)
            mine = np.bincount(tokens[sources == code], minlength=self._counts.size)
            self._of_source[name] = self._of_source.get(name, 0) + mine
            self._show(name, block, np.flatnonzero(codes == code))
        self._show(printable(block.shard), block, np.arange(codes.size))

    def _show(self, name: str, block: Block, stretches: I64) -> None:
        shown = self._examples.setdefault(name, [])
        shown += [block.example(stretch) for stretch in stretches[: EXAMPLES - len(shown)].tolist()]

    def _end_shard(self) -> None:
        if self._of_shard.any():
            self._shards[printable(self._shard)] = group(self._of_shard)
        self._counts += self._of_shard
        self._of_shard = self._none()

    def findings(self) -> Iterator[Finding]:
        """Yield four judgements."""
        self._end_shard()
        grouped, worst = self._by_group()
        shown = tuple(self._examples.get(worst, ()))
        falling = -np.sort(-self._counts)
        for found in (self._frequent(falling / max(1, int(falling.sum()))), self._bits(falling), grouped):
            yield found if found.level == "ok" else replace(found, examples=shown)
        yield self._never(falling)

    @property
    def groups(self) -> dict[str, Group]:
        """What each source is like, most tokens first."""
        found = {name: group(counts) for name, counts in self._of_source.items()}
        return dict(sorted(found.items(), key=lambda item: -item[1].tokens))

    @property
    def curve(self) -> tuple[list[int], list[float]]:
        """Ranks, evenly spread by their logarithm, and the shares of the tokens that have them; after findings."""
        falling = -np.sort(-self._counts[self._counts > 0])
        ranks = np.unique(np.geomspace(1, max(1, falling.size), _POINTS).astype(np.int64)) if falling.size else falling
        return ranks.tolist(), (falling[ranks - 1] / max(1, int(falling.sum()))).tolist()

    @property
    def top(self) -> list[tuple[str, float]]:
        """The most frequent pieces and their shares; after findings."""
        order = np.argsort(-self._counts, kind="stable")[:_TOP]
        shares = self._counts[order] / max(1, int(self._counts.sum()))
        pieces = (printable(self._tokenizer.piece(token), 20) for token in order.tolist())
        return [(piece, share) for piece, share in zip(pieces, shares.tolist(), strict=True) if share]

    def _frequent(self, shares: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Finding:
        named = ", ".join(f"{piece!r} {share:.2%}" for piece, share in self.top)
        sums = ", ".join(f"top {n} {shares[:n].sum():.1%}" for n in (1, 10, 100))
        level = grade(float(shares[0]), *self._top)
        advice = "one token rules the text: look at rows with mrprep show for what it is"
        return Finding(
            "frequent-tokens",
            level,
            float(shares[0]),
            self._top[0],
            f"{sums} of the text; the most frequent: {named}",
            "" if level == "ok" else advice,
        )

    def _bits(self, falling: I64) -> Finding:
        bits, most = entropy(falling), np.log2(max(2, falling.size))
        level = self._level_of_bits(bits)
        advice = "the text hardly varies: look at rows with mrprep show, and at what the sources hold"
        return Finding(
            "entropy",
            level,
            bits,
            self._least_bits[0],
            f"the tokens carry {bits:.2f} bits each (of {most:.1f}), Zipf exponent {zipf(falling):.2f}",
            "" if level == "ok" else advice,
        )

    @property
    def _least_bits(self) -> tuple[float, float]:
        most = float(np.log2(max(2, self._counts.size)))
        low, lowest = (min(limit, factor * most) for limit, factor in zip(self._entropy, _FACTORS, strict=True))
        return low, lowest

    def _level_of_bits(self, bits: float) -> Level:
        return grade(-bits, *(-limit for limit in self._least_bits))

    def _by_group(self) -> tuple[Finding, str]:
        """Judge each source and each shard as if it were all there is; return the name of the worst too."""
        groups = {name: of for name, of in {**self.groups, **self._shards}.items() if of.tokens >= _GROUP}
        levels = {name: max(self._level_of_bits(of.entropy), grade(of.top, *self._top), key=LEVELS.index)
                  for name, of in groups.items()}  # fmt: skip
        worst = max(groups, key=lambda name: (LEVELS.index(levels[name]), groups[name].top), default="")
        level = levels.get(worst, "ok")
        said = f"of {len(groups)} sources and shards none with {_GROUP:,} tokens"
        if worst:
            most = groups[worst]
            said = f"of {len(groups)} sources and shards, {worst} varies least: its first token has {most.top:.1%}, "
            said += f"its tokens carry {most.entropy:.2f} bits, Zipf exponent {most.zipf:.2f}"
        found = Finding(
            "frequency-groups",
            level,
            groups[worst].top if worst else 0.0,
            self._top[0],
            said,
            "" if level == "ok" else f"look at what {worst} holds with mrprep show",
        )
        return found, worst

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


def group(counts: I64) -> Group:
    """Return what a histogram of tokens is like."""
    falling = -np.sort(-counts)
    total = int(counts.sum())
    return Group(total, float(falling[0] / max(1, total)), entropy(counts), zipf(falling))


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
