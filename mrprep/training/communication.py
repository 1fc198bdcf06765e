"""How long the ranks' sums take: AllReduce alone, timed now and then beside the compiled step, which hides it.

Waiting for a slower rank is not in it, and what a device overlaps with computing is counted all the same.
"""

import time
from statistics import median

import numpy as np
from mindspore import Tensor, ops

_MOST = 1 << 22
"""Numbers summed at a time, as in the step."""
_FIRST, _EVERY, _TIMES = 5, 500, 3


class Communication:
    """Seconds a step; every rank must make one and call it after each step.

    Args:
        numbers: fp32 numbers summed a step.
        ranks: how many there are; 1 has nothing to sum.
    """

    def __init__(self, numbers: int, ranks: int) -> None:
        self._numbers, self._ranks = numbers, ranks
        self._calls, self._seconds = 0, None if ranks > 1 else 0.0

    def __call__(self) -> float | None:
        """Return the seconds that one step's sums take; None before they were timed, 0 at one rank."""
        self._calls += 1
        if self._ranks > 1 and (self._calls == _FIRST or self._calls % _EVERY == 0):
            self._seconds = self._time()
        return self._seconds

    def _time(self) -> float:
        sent = Tensor(np.zeros(min(self._numbers, _MOST), np.float32))
        all_reduce = ops.AllReduce(ops.ReduceOp.SUM)
        took = []
        for _ in range(_TIMES + 1):
            began = time.perf_counter()
            all_reduce(sent)[0].asnumpy()
            took.append(time.perf_counter() - began)
        share: float = self._numbers / sent.size
        return median(took[1:]) * share
