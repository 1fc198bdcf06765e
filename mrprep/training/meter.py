"""A step's line of ``metrics.jsonl``."""

import time

from mrprep.training import memory
from mrprep.training.communication import Communication
from mrprep.training.metrics import Metric
from mrprep.training.step import Outcome


class Meter:
    """Counts what a step took; every rank must call it after each step.

    Args:
        numbers: fp32 numbers summed over the ranks a step.
        ranks: how many there are.
    """

    def __init__(self, numbers: int, ranks: int) -> None:
        self._communication = Communication(numbers, ranks)

    def __call__(self, step: int, lr: float, outcome: Outcome, seconds: float, waited: float) -> Metric:
        """Return the line of a step that took ``seconds``, ``waited`` of them for its rows."""
        sums = self._communication()
        return {
            "step": step,
            "at": round(time.time(), 3),
            "loss": outcome.loss,
            "lr": lr,
            "norm": outcome.norm,
            "peak": outcome.peak,
            "tokens": outcome.tokens,
            "tokens_per_s": round(outcome.tokens / seconds, 1),
            "seconds": round(seconds, 6),
            "waited": round(waited, 6),
            "communication": None if sums is None else round(sums, 6),
            "memory": memory.resident(),
            "device_memory": memory.device(),
            "skipped": outcome.skipped,
            "overflow": outcome.overflow,
            "loss_scale": outcome.loss_scale,
        }
