"""How a run goes, in a sentence: from the losses, norms and times of its steps. Pure.

Losses are compared by the medians of the first and the last tenth of a stretch of steps; their noise is the robust
standard deviation of the difference of neighbours, over the square root of two.
"""

import math
from collections.abc import Sequence
from statistics import median

from mrprep.training.metrics import Metric

_LEAST = 20
"""Steps without which nothing is said."""
_FLAT = 0.02
"""Change of the loss, nats, below which it is flat whatever the noise."""
_WILD = 0.15
"""Noise as a share of the loss from which on it oscillates."""
_SKIPPED = 0.05
"""Share of skipped steps that is too much."""
_WAITED = 0.05
"""Share of the time blocked in the dataset's next() that is too much."""


def verdict(metrics: Sequence[Metric]) -> str | None:
    """Return a sentence or several about a stretch of steps; None about fewer than 20."""
    if len(metrics) < _LEAST:
        return None
    losses = [m["loss"] for m in metrics if m["loss"] is not None and not m["skipped"]]
    said = [_trend(losses)] if len(losses) >= _LEAST else []
    skipped = sum(m["skipped"] for m in metrics) / len(metrics)
    if skipped > _SKIPPED:
        said.append(f"{skipped:.0%} of the steps were skipped: read the incidents, and take a lower --lr")
    waited = sum(m["waited"] for m in metrics) / sum(m["seconds"] for m in metrics)
    if waited > _WAITED:
        said.append(f"{waited:.0%} of the time went into waiting for rows: put the build on a faster disk")
    return "; ".join(said)


def _trend(losses: Sequence[float]) -> str:
    tenth = max(2, len(losses) // 10)
    middles = [median(losses[at : at + tenth]) for at in range(0, len(losses) - tenth + 1, tenth)]
    first, last, lowest = middles[0], middles[-1], min(middles)
    noise = 1.4826 * median(abs(a - b) for a, b in zip(losses[1:], losses, strict=False)) / math.sqrt(2)
    unsure = max(_FLAT, 2 * noise / math.sqrt(tenth))
    change = f"the loss went from {first:.3f} to {last:.3f}"
    if last > max(first, lowest + unsure) or last > lowest + 5 * unsure:
        return f"diverging: {change} (lowest {lowest:.3f}); take a lower --lr or a longer --warmup"
    if noise > _WILD * last:
        return f"oscillating: {change}, with steps {noise:.2f} apart; take a lower --lr or more --accumulate"
    if first - last < unsure:
        return f"flat: {change}, within its noise; run mrprep audit on the build, or take another --lr"
    return f"falling: {change}"
