"""How much memory a run may take, and how many workers that lets run side by side.

Units of work are cut so that none needs more than `WORKER`, whatever the input; so memory is a number of workers.
"""

import os
from pathlib import Path

from mrprep.errors import UsageError

PARENT, WORKER = 200_000_000, 400_000_000
"""Bytes of resident memory that the main process and each worker stay under (bench/scale.py)."""
_SHARE = 0.8
"""Of the memory that this process may use, when nothing is asked for."""
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def usable_memory() -> int:
    """Return the bytes of memory that this process may use: the machine's, or its control group's if that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    texts = [Path(file).read_text().strip() for file in _LIMITS if Path(file).is_file()]
    return min([total, *(int(text) for text in texts if text.isdigit())])


def workers_in(memory: int | None, jobs: int) -> int:
    """Return how many of ``jobs`` workers run side by side in so many bytes of memory.

    Args:
        memory: of all processes together; None takes a share of what there is, and one worker in any case.
        jobs: workers wanted.

    Raises:
        UsageError: not even one fits.
    """
    if memory is None:
        return max(1, min(jobs, (int(_SHARE * usable_memory()) - PARENT) // WORKER))
    if memory < PARENT + WORKER:
        given = f"{memory} bytes" if memory % 10**6 else f"{memory // 10**6}MB"
        raise UsageError(
            f"--memory {given} cannot be kept: {(PARENT + WORKER) / 1e6:.0f}MB is the least, "
            f"and each worker more takes {WORKER / 1e6:.0f}MB"
        )
    return min(jobs, (memory - PARENT) // WORKER)
