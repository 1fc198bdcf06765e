"""Learning rate by step: a pure function of the step and the plan, so a resumed run goes on with the same."""

import math
from typing import Literal

from pydantic import ConfigDict, Field

from mrprep.options import Options


class ScheduleOptions(Options):
    """Linear warm-up, then a decay to ``floor`` by the end of the run."""

    model_config = ConfigDict(allow_inf_nan=False)

    peak: float = 1e-3
    """Highest learning rate."""
    warmup: int = 10
    """Steps until it is reached."""
    decay: Literal["cosine", "linear", "wsd", "constant"] = "cosine"
    """Shape of the way down; wsd stays at the peak and goes down in a line at the end (Hu et al. 2024)."""
    tail: float = Field(default=0.2, gt=0, le=1)
    """Share of the run in which wsd goes down."""
    floor: float = 0.1
    """Where the decay ends, as a share of the peak."""


class Schedule(ScheduleOptions):
    """The schedule of a run of known length."""

    total: int
    """Steps of the whole run."""

    def at(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.peak * (step + 1) / self.warmup
        if self.decay == "constant":
            return self.peak
        begin = max(self.warmup, round(self.total * (1 - self.tail))) if self.decay == "wsd" else self.warmup
        done = min(1.0, max(0, step - begin) / max(1, self.total - begin))
        left = 0.5 * (1 + math.cos(math.pi * done)) if self.decay == "cosine" else 1 - done
        return self.peak * (self.floor + (1 - self.floor) * left)
