"""What a cleaning rule is: a named function that says how many places it changed."""

from collections.abc import Callable
from dataclasses import dataclass
from re import Pattern

Change = Callable[[str], tuple[str, int]]
"""Text in; text and the number of changed places out. Unchanged text comes back as the same object with 0."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule and the name its count goes by."""

    name: str
    """Key of ``Document.edits``, and of the switch in the options."""
    change: Change
    trigger: Pattern[str] | None = None
    """Finds the characters without which the rule has nothing to do; None if it must look at every text."""
