"""Memory of a process and of its device, and whether it keeps growing."""

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import median

_SETTLED = 0.2
"""Share of the steps at the start that are left out: compilation, first batches."""
_LEAST = 50
"""Steps without which nothing is said of growth."""
_GROWTH = 0.05
"""Share of the memory that growth must come to; and ``_FLOOR`` bytes."""
_FLOOR = 64 << 20


def resident() -> int:
    """Return the bytes of this process that are in memory (RSS)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def device() -> int | None:
    """Return the bytes that MindSpore holds on its device; None where it does not count, as on CPU."""
    from mindspore import runtime

    held: int = runtime.memory_allocated()
    return held or None


def growth(used: Sequence[int]) -> float | None:
    """Return bytes a step by which memory keeps growing, None if it does not.

    It does when, without the first fifth of the steps, the median of each third lies above that of the third before,
    the last third gained at least half of what the one before it did, and both together 5 % and 64 MiB.
    """
    settled = used[int(len(used) * _SETTLED) :]
    if len(settled) < _LEAST:
        return None
    third = len(settled) // 3
    first, second, last = (median(settled[at : at + third]) for at in (0, third, len(settled) - third))
    grown = last - first
    steady = last - second >= (second - first) / 2 > 0
    return grown / (len(settled) - third) if steady and grown > max(_GROWTH * first, _FLOOR) else None
