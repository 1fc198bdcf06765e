"""What a user sees of a run as it goes, told by the launcher from what rank 0 writes to ``metrics.jsonl``."""

import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from types import TracebackType

from tqdm import tqdm

from mrprep.training import memory
from mrprep.training.metrics import Follower, Metric
from mrprep.training.scalars import Scalars
from mrprep.training.verdict import FIRST_STEPS, Look, verdict

_RECENT = 500
"""Steps whose memory is looked at for growth."""
_QUIET = 60.0
"""Seconds between two lines where there is no terminal."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a step costs and could cost at best."""

    done: int
    """Steps done before."""
    total: int
    """Steps of the whole run."""
    flops: int
    """A target, forward and backward."""
    peak: float | None = None
    """FLOPs a second of all devices at their best; None if unknown."""

    def speed(self, tokens_per_s: float) -> str:
        """Return the share of the best speed (MFU; Chowdhery et al. 2022), or FLOPs a second."""
        reached = self.flops * tokens_per_s
        return f"MFU {reached / self.peak:.1%}" if self.peak else f"{tqdm.format_sizeof(reached)}FLOP/s"


class Watch:
    """A bar over the steps, or a line a minute where there is no terminal, and a verdict after the first hundred.

    Args:
        follower: of the metrics.
        work: how much there is.
        say: takes a line for the user.
        scalars: takes each step, for TensorBoard.
        look: looks at the data when the loss is flat.
    """

    def __init__(
        self,
        follower: Follower,
        work: Work,
        say: Callable[[str], None],
        scalars: Scalars | None = None,
        look: Look | None = None,
    ) -> None:
        self._follower, self._work, self._say, self._scalars, self._look = follower, work, say, scalars, look
        self._first: list[Metric] = []
        self._recent: deque[Metric] = deque(maxlen=_RECENT)
        self._terminal = sys.stderr.isatty()
        self._bar = tqdm(
            total=work.total, initial=work.done, unit="step", disable=not self._terminal, dynamic_ncols=True
        )
        self._done, self._said = work.done, time.monotonic()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
        if self._scalars:
            self._scalars.close()

    def update(self) -> None:
        """Tell of the steps done since the last call."""
        for metric in self._follower.new():
            if metric["step"] > self._done:
                self._done = metric["step"]
                self._tell(metric)

    def _tell(self, metric: Metric) -> None:
        if self._scalars:
            self._scalars.write(metric)
        self._recent.append(metric)
        self._show(metric)
        if len(self._first) < FIRST_STEPS:
            self._first.append(metric)
            if len(self._first) == FIRST_STEPS:
                self._say(f"after {FIRST_STEPS} steps {verdict(self._first, self._look)}")

    def _show(self, metric: Metric) -> None:
        if self._terminal:
            self._bar.set_postfix_str(line(metric, self._work, self._grows()))
            self._bar.update()
        elif time.monotonic() - self._said > _QUIET:
            self._said = time.monotonic()
            left = median(m["seconds"] for m in self._recent) * (self._work.total - self._done)
            at = f"step {self._done:,} of {self._work.total:,}, {tqdm.format_interval(left)} left"
            self._say(f"{at}: {line(metric, self._work, self._grows())}")

    def _grows(self) -> bool:
        return memory.growth([m["memory"] for m in self._recent]) is not None


def line(metric: Metric, work: Work, grows: bool) -> str:
    """Return a step in words: loss, lr, speed, where the time goes, memory."""
    loss = "not finite" if metric["loss"] is None else f"{metric['loss']:.3f}"
    parts = [
        f"loss {loss}" + (" (skipped)" if metric["skipped"] else ""),
        f"lr {metric['lr']:.2g}",
        f"{metric['tokens_per_s']:,.0f} tok/s",
        work.speed(metric["tokens_per_s"]),
        f"waiting {metric['waited'] / metric['seconds']:.1%}",
    ]
    if metric["communication"]:
        parts.append(f"sums {metric['communication'] / metric['seconds']:.0%}")
    parts.append(f"{metric['memory'] / 2**30:.1f} GiB" + (" and growing" if grows else ""))
    if metric["device_memory"]:
        parts.append(f"{metric['device_memory'] / 2**30:.1f} GiB on the device")
    return ", ".join(parts)
