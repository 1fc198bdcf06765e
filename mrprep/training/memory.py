"""Memory of a process and of its device, and whether it keeps growing."""

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median

_SETTLED = 0.2
"""Share of the steps at the start that are left out: compilation, first batches."""
_PARTS = 8
_LEAST = 64
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

    The steps without the first fifth are cut into eight: it grows when the median of each part lies above that of the
    one before, by a quarter of the average rise at least, and all together by 5 % and 64 MiB. A validation or another
    single thing that takes memory once leaves most parts level.
    """
    settled = used[int(len(used) * _SETTLED) :]
    if len(settled) < _LEAST:
        return None
    length = len(settled) // _PARTS
    middles = [median(settled[at * length : (at + 1) * length]) for at in range(_PARTS)]
    rises = [after - before for before, after in pairwise(middles)]
    grown = sum(rises)
    steady = min(rises) >= grown / len(rises) / 4
    return grown / len(rises) / length if steady and grown > max(_GROWTH * middles[0], _FLOOR) else None
