"""The probability curve of a banding as lines of text."""

from collections.abc import Iterator

import numpy as np

from mrprep.minhash.bands import Banding, probability

_WIDTH = 50
_STEP = 0.05


def picture(banding: Banding, threshold: float) -> str:
    """Return a bar for each Jaccard similarity, and what the banding costs and misses at ``threshold``."""
    similar = np.append(np.arange(0.0, 1.0, _STEP), [1.0, threshold]).round(4)
    return "\n".join(
        [*_facts(banding, threshold), "", *(_bar(float(s), banding, threshold) for s in np.unique(similar))]
    )


def _facts(banding: Banding, threshold: float) -> Iterator[str]:
    below, at, above = (_mean(banding, low, high) for low, high in ((0, threshold), (threshold,) * 2, (threshold, 1)))
    used = banding.bands * banding.rows
    yield f"{banding.bands} bands of {banding.rows} rows: {used} permutations, {banding.bands * 8} bytes a document"
    yield f"a pair at {threshold:g} becomes a candidate with probability {at:.4f}, above it on average with {above:.6f}"
    yield f"and below it with {below:.4f}; that costs a comparison each, for candidates are compared exactly"


def _mean(banding: Banding, low: float, high: float) -> float:
    return float(probability(np.linspace(low, high, 1001), banding).mean())


def _bar(similarity: float, banding: Banding, threshold: float) -> str:
    chance = float(probability(np.array(similarity), banding))
    mark = "  <- threshold" if similarity == round(threshold, 4) else ""
    return f"{similarity:6.3f} {chance:8.4f} {'█' * round(chance * _WIDTH):<{_WIDTH}}{mark}".rstrip()
