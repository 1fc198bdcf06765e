"""What a log says happened: the failures whose words are in it, in the order in which they first appear."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mrprep.doctor.failures import FAILURES, OUT_OF_MEMORY, Failure

_LONGEST = 4096
"""Characters of a line that are looked at."""
_STEP = re.compile(r"(?<![a-z])step\W{1,8}(\d+)", re.IGNORECASE)
_BACKWARD = re.compile(r"[Gg]radient|[Bb]ackward|Backprop|\b[Gg]rad[A-Z]\w|\w+Grad\b")
_EXCHANGE = re.compile(r"HCCL|[Hh]ccl|AllReduce|AllGather|ReduceScatter|AlltoAll")
_MANY_STEPS = 20
_WINDOW = 5
"""Lines before and after the first word of memory that may name the kernel that asked for it."""


@dataclass(slots=True)
class Diagnosis:
    """One failure found in a log."""

    name: str
    cause: str
    advice: str
    line: int
    """Where its words stand first, counted from 1."""
    text: str
    count: int = 1
    """Lines that bear its words."""


def diagnose(lines: Iterable[str]) -> list[Diagnosis]:
    """Return what happened, the first first; empty when nothing known is in the log. Memory is bounded.

    Args:
        lines: of the log, any number of them.
    """
    found: dict[str, Diagnosis] = {}
    memory = _Memory()
    for number, whole in enumerate(lines, start=1):
        line = whole[:_LONGEST]
        memory.see(number, line)
        for failure in _matching(line):
            if failure.name in found:
                found[failure.name].count += 1
            else:
                found[failure.name] = Diagnosis(failure.name, failure.cause, failure.advice, number, line.strip())
    if OUT_OF_MEMORY.name in found:
        found[OUT_OF_MEMORY.name].cause, found[OUT_OF_MEMORY.name].advice = memory.verdict()
    return list(found.values())


def _matching(line: str) -> Iterator[Failure]:
    return (failure for failure in FAILURES if failure.words.search(line))


class _Memory:
    """Tells when memory ran out: at the start, in the backward pass, or after many good steps."""

    def __init__(self) -> None:
        self._steps = 0
        self._at: int | None = None
        self._last_backward = -_WINDOW - 1
        self._backward = self._exchange = False

    def see(self, number: int, line: str) -> None:
        if self._at is None:
            step = _STEP.search(line)
            self._steps = max(self._steps, int(step[1])) if step else self._steps
            if OUT_OF_MEMORY.words.search(line):
                self._at = number
                self._exchange = _EXCHANGE.search(line) is not None
        if _BACKWARD.search(line):
            self._last_backward = number
        if self._at is not None and number <= self._at + _WINDOW:
            self._backward |= self._last_backward >= self._at - _WINDOW

    def verdict(self) -> tuple[str, str]:
        """Return the cause and the advice."""
        if self._exchange:
            cause = "memory ran out in an exchange between devices: its buffers come on top of the model"
            return cause, "a smaller --micro-batch leaves room for them; so do fewer ways of model parallel at once"
        if self._steps >= _MANY_STEPS:
            cause = f"memory ran out after {self._steps} good steps: it grows slowly, so something is kept each step"
            return (
                cause,
                "watch the memory column of metrics.jsonl; keep no tensors in lists; make one dataset iterator",
            )
        if self._backward:
            cause = "memory ran out in the backward pass: the activations of a micro batch are too large"
            return (
                cause,
                "on Ascend --recompute first, then a smaller --micro-batch with more --accumulate, a shorter row last",
            )
        cause = "memory ran out before the first steps: weights, gradients and optimizer states do not fit"
        return (
            cause,
            "mrprep plan shows what each takes; split states (--zero 1), then the model, or take a smaller one",
        )
