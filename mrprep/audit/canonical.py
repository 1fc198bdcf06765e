"""Would this tokenizer give these ids for the text that it reads in them? A wrong one would not.

For shards without a manifest, of which no text is at hand to compare with. Costs what encoding the sample costs.
"""

from collections.abc import Iterator

import numpy as np

from mrprep.audit.block import I32, Block
from mrprep.audit.finding import Finding, Tally, grade
from mrprep.tokenizers.protocol import Tokenizer


class Canonical:
    """Share of the tokens that come out otherwise when a stretch is decoded and encoded again.

    What agrees from the beginning, and from the end, counts as right: a stretch may begin within a word.

    Args:
        tokenizer: said to be the right one.
        limits: shares at which it is a warning and a failure.
    """

    def __init__(self, tokenizer: Tokenizer, limits: tuple[float, float]) -> None:
        self._tokenizer, self._limits = tokenizer, limits
        special = tokenizer.special
        self._control = np.array(sorted(special["control"] | special["unused"]), np.int32)
        self._tokens = Tally()

    def see(self, block: Block) -> None:
        """Take in a block."""
        again, offsets = self._tokenizer.encode_batch(block.decoded)
        here = block.stretches
        ends = here.at + here.length
        for stretch, (row, at, end) in enumerate(zip(here.row.tolist(), here.at.tolist(), ends.tolist(), strict=True)):
            was = block.tokens[row, at:end]
            was = was[~np.isin(was, self._control)]
            wrong = differing(was, again[offsets[stretch] : offsets[stretch + 1]])
            self._tokens.add(wrong, was.size, [block.example(stretch)] if 2 * wrong > was.size else ())

    def findings(self) -> Iterator[Finding]:
        """Yield the judgement."""
        found = self._tokens
        level = grade(found.share, *self._limits)
        message = f"{found.share:.1%} of the tokens come out otherwise when their text is encoded again"
        if level == "failure":
            message += "; this tokenizer is not the one that made these ids"
        yield found.finding(
            "canonical",
            level,
            found.share,
            self._limits[0],
            message,
            "name the tokenizer that made the shards with --tokenizer; if it is this one, its settings were others",
        )


def differing(one: I32, other: I32) -> int:
    """Return how many ids of ``one`` lie between what both have in common at the beginning and at the end."""
    size = min(one.size, other.size)
    same = one[:size] == other[:size]
    first = size if same.all() else int(same.argmin())
    back = one[::-1][: size - first] == other[::-1][: size - first]
    last = back.size if back.all() else int(back.argmin())
    return int(one.size - first - last)
