"""Do shards, and train and valid, hold the same mix of text? More than documents dealt at random would differ?

The distance is the Jensen-Shannon divergence (Lin 1991) in bits, 0 to 1, of token frequencies over 1,024 buckets
of ids; merging ids into buckets can only lower it. Tokens of one document are not independent, so what is dealt
at random, to learn how large the distance gets by chance, are documents: of each only one row is looked at, so
that all weigh the same. That is a permutation test, with the largest distance over all groups as its statistic,
so many shards raise no more alarms than two. Takes 0.3 s for 400 rows, and 4 KB a row.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mrprep.audit.block import Block
from mrprep.audit.finding import Finding, grade
from mrprep.order import I64, mix
from mrprep.printable import printable

F64 = npt.NDArray[np.float64]
F32 = npt.NDArray[np.float32]

_BUCKETS = 1024
_DEALS = 200
_BEYOND = 1.25
"""How far a distance must lie beyond the largest of all deals."""
_MOST = 4096
"""Rows a group that are looked at."""


class Drift:
    """Distance of each group of rows from all other rows.

    Args:
        by: ``shard`` (of the train split) or ``split``.
        limits: bits beyond chance that are a warning and a failure.
        seed: of the deals.
    """

    def __init__(self, by: str, limits: tuple[float, float], seed: int) -> None:
        self._by, self._limits, self._seed = by, limits, seed
        self._counts: dict[str, dict[int, F32]] = {}

    def see(self, block: Block) -> None:
        """Take in a block."""
        if self._by == "shard" and block.split != "train":
            return
        counts = self._counts.setdefault(block.shard if self._by == "shard" else block.split, {})
        buckets = (mix(block.tokens.astype(np.uint64)) % np.uint64(_BUCKETS)).astype(np.int64)
        text = block.text
        for row, doc in enumerate(main_documents(block).tolist()):
            if doc not in counts and len(counts) < _MOST:
                counts[doc] = np.bincount(buckets[row][text[row]], minlength=_BUCKETS).astype(np.float32)

    def findings(self) -> Iterator[Finding]:
        """Yield the judgement; none where there is nothing to compare."""
        names = [name for name, counts in self._counts.items() if counts]
        if len(names) < 2:
            return
        sizes = np.array([len(self._counts[name]) for name in names])
        rows = np.array([row for name in names for row in self._counts[name].values()], np.float64)
        seen, chance = deal(rows, sizes, self._seed)
        worst, limit = int(seen.argmax()), _BEYOND * float(chance.max())
        level = grade(float(seen[worst]) - limit, *self._limits)
        advice = (
            "look at its rows with mrprep show; if the mix of text is meant, "
            f"order it so that every {self._by} has its share"
        )
        yield Finding(
            f"drift-{self._by}",
            level,
            float(seen[worst]),
            limit + self._limits[0],
            f"{_who(names, worst)} {seen[worst]:.4f} bits; documents dealt at random differ by "
            f"{np.quantile(chance, 0.005):.4f} to {np.quantile(chance, 0.995):.4f}",
            "" if level == "ok" else advice,
        )


def _who(names: list[str], worst: int) -> str:
    if len(names) == 2:
        return f"{printable(names[0])} and {printable(names[1])} differ by"
    return f"{printable(names[worst])} differs most from the rest, by"


def main_documents(block: Block) -> I64:
    """Return the document with the most tokens in each row, int64[n]; -1 for a row without any."""
    here = block.stretches
    order = np.lexsort((here.length, here.row))
    main = np.full(block.rows.size, -1, np.int64)
    main[here.row[order]] = here.doc[order]  # the longest of a row comes last and stays
    return main


def deal(rows: F64, sizes: I64, seed: int) -> tuple[F64, F64]:
    """Return how far each group is from the rest, and the farthest of any when rows are dealt at random.

    Args:
        rows: counts of tokens by row and bucket, [rows, buckets], group after group.
        sizes: rows of each group, none 0.
        seed: of the deals.

    Returns:
        float64[groups] and float64[200], in bits.
    """
    rng = np.random.default_rng(seed)
    starts = np.cumsum(sizes) - sizes
    chance = [_distances(rows[rng.permutation(len(rows))], starts).max() for _ in range(_DEALS)]
    return _distances(rows, starts), np.array(chance)


def _distances(rows: F64, starts: I64) -> F64:
    sums = np.add.reduceat(rows, starts, axis=0)
    return divergence(sums, sums.sum(axis=0) - sums)


def divergence(p: F64, q: F64) -> F64:
    """Return the Jensen-Shannon divergence of histograms in bits, along the last axis; 0 if one is empty."""
    p = p / np.maximum(1, p.sum(axis=-1, keepdims=True))
    q = q / np.maximum(1, q.sum(axis=-1, keepdims=True))
    middle = (p + q) / 2
    both = p.any(axis=-1) & q.any(axis=-1)
    bits = _entropy(middle) - (_entropy(p) + _entropy(q)) / 2
    return np.asarray(np.where(both, np.maximum(bits, 0), 0.0))


def _entropy(p: F64) -> F64:
    logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
    return np.asarray(-(p * logs).sum(axis=-1))
