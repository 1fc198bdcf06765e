"""How a run goes, in a sentence: from the losses, norms and times of its steps.

Losses are compared by the medians of the first and the last tenth of a stretch of steps; their noise is the robust
standard deviation of the difference of neighbours, over the square root of two.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from mrprep.training import memory
from mrprep.training.metrics import Metric

FIRST_STEPS = 100
"""Steps after which a first verdict is given."""
_LEAST = 20
"""Steps without which nothing is said."""
_FLAT = 0.02
"""Change of the loss, nats, below which it is flat whatever the noise."""
_WILD = 0.15
"""Noise as a share of the loss from which on it oscillates."""
_SKIPPED = 0.05
"""Share of skipped steps that is too much."""
WAITED = 0.05
"""Share of the time blocked in the dataset's next() that is too much."""
COMMUNICATED = 0.4
"""Share of the time in sums over the ranks that is too much."""

Look = Callable[[], str]
"""Looks at the data of a run whose loss is flat, and says what it finds."""


def verdict(metrics: Sequence[Metric], look: Look | None = None) -> str | None:
    """Return a sentence or several about a stretch of steps; None about fewer than 20.

    Args:
        metrics: of the steps.
        look: called when the loss is flat.
    """
    if len(metrics) < _LEAST:
        return None
    losses = [m["loss"] for m in metrics if m["loss"] is not None and not m["skipped"]]
    said = [_trend(losses, look)] if len(losses) >= _LEAST else []
    said += [*_skipped(metrics), *_time(metrics), *_memory(metrics)]
    return "; ".join(said)


def _skipped(metrics: Sequence[Metric]) -> Iterator[str]:
    """Overflows, and steps that were far out."""
    overflows = [m["skipped"] and (m["loss"] is None or m["norm"] is None) for m in metrics]
    overflown = sum(overflows) / len(metrics)
    if overflown > _SKIPPED:
        yield (
            f"{overflown:.0%} of the steps overflowed: take a lower --lr, bf16 where the device has it, or --amp O0 "
            "to see whether half precision is to blame"
        )
    far_out = sum(m["skipped"] for m in metrics) / len(metrics) - overflown
    if far_out > _SKIPPED:
        yield f"{far_out:.0%} of the steps were skipped: read the incidents, and take a lower --lr"


def _time(metrics: Sequence[Metric]) -> Iterator[str]:
    """Waiting for rows, and for the sums over the ranks."""
    seconds = sum(m["seconds"] for m in metrics)
    waited = sum(m["waited"] for m in metrics) / seconds
    if waited > WAITED:
        yield f"{waited:.0%} of the time went into waiting for rows: put the build on a faster disk"
    timed = [m for m in metrics if m["communication"] is not None]
    summed = sum(m["communication"] or 0 for m in timed) / (sum(m["seconds"] for m in timed) or 1)
    if summed > COMMUNICATED:
        yield f"{summed:.0%} of the time went into sums over the ranks: take more --accumulate, or fewer --ranks"


def _memory(metrics: Sequence[Metric]) -> Iterator[str]:
    held = [m["device_memory"] for m in metrics if m["device_memory"] is not None]
    for name, used in (("memory", [m["memory"] for m in metrics]), ("device memory", held)):
        grown = memory.growth(used)
        if grown is not None:
            by = f"{grown * 1000 / 2**20:,.0f} MiB in 1,000 steps"
            yield f"{name} keeps growing, by {by}: stop, and go on, before it is full"


def _trend(losses: Sequence[float], look: Look | None) -> str:
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
        found = look() if look else "run mrprep audit on the build"
        return f"flat: {change}, within its noise; {found}, or take another --lr"
    return f"falling: {change}"
