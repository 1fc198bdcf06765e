"""Learning rate by step: a pure function of the step and the plan, so a resumed run goes on with the same."""

import math
from typing import Literal

from mrprep.options import Options


class Schedule(Options):
    """Linear warm-up, then a decay to ``floor`` over the rest of the run."""

    peak: float = 1e-3
    """Highest learning rate."""
    warmup: int = 10
    """Steps until it is reached."""
    total: int
    """Steps of the whole run."""
    decay: Literal["cosine", "linear", "constant"] = "cosine"
    """Shape of the way down."""
    floor: float = 0.1
    """Where the decay ends, as a share of the peak."""

    def at(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.peak * (step + 1) / self.warmup
        if self.decay == "constant":
            return self.peak
        done = min(1.0, (step - self.warmup) / max(1, self.total - self.warmup))
        left = 1 - done if self.decay == "linear" else 0.5 * (1 + math.cos(math.pi * done))
        return self.peak * (self.floor + (1 - self.floor) * left)
