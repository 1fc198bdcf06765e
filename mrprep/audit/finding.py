"""What a check has found: a number against its threshold, what it means, and where to see it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mrprep.audit.block import Example

Level = Literal["ok", "note", "warning", "failure"]

LEVELS: tuple[Level, ...] = ("ok", "note", "warning", "failure")
"""From good to bad."""
EXAMPLES = 3
"""How many a finding shows."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The judgement of one check; all of it is safe to print."""

    check: str
    """A short stable word, such as ``alignment``."""
    level: Level
    value: float
    """What was measured: a share, a count, or bits."""
    threshold: float
    """From where on the value is a warning, or a failure where the check knows no warning."""
    message: str
    """One sentence: the value in words."""
    advice: str = ""
    """One sentence: what to do; empty when the level is ok."""
    examples: tuple[Example, ...] = ()


def grade(value: float, warning: float, failure: float) -> Level:
    """Return the level of a value that is bad when it is large: at ``warning`` or ``failure`` it is that."""
    if value >= failure:
        return "failure"
    return "warning" if value >= warning else "ok"


class Tally:
    """Counts how many of something are bad, and keeps the first examples."""

    def __init__(self) -> None:
        self.hits = self.total = 0
        self.examples: list[Example] = []

    def add(self, hits: int, total: int, examples: Iterable[Example] = ()) -> None:
        """Count ``hits`` among ``total``; ``examples`` are drawn from only while some are wanted."""
        self.hits += hits
        self.total += total
        for example in examples if len(self.examples) < EXAMPLES else ():
            self.examples.append(example)
            if len(self.examples) == EXAMPLES:
                break

    @property
    def share(self) -> float:
        """Bad ones among all; 0 when there are none at all."""
        return self.hits / max(1, self.total)

    def finding(self, check: str, level: Level, value: float, threshold: float, message: str, advice: str) -> Finding:
        """Return a finding with these examples; an ok one goes without advice."""
        fine = level == "ok"
        return Finding(check, level, value, threshold, message, "" if fine else advice, tuple(self.examples))
