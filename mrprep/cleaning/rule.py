"""What a cleaning rule is: a named function that says how many places it changed."""

from collections.abc import Callable
from dataclasses import dataclass
from re import Pattern

Change = Callable[[str], tuple[str, int]]
"""Text in; text and the number of changed places out. Unchanged text comes back as the same object with 0."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule and the name its count goes by; one without trigger and mark must look at every text."""

    name: str
    """Key of ``Document.edits``, and of the switch in the options."""
    change: Change
    trigger: Pattern[str] | None = None
    """A class of characters; without one of them the rule has nothing to do."""
    mark: str = ""
    """What a text holds where the rule has something to do."""
    takes_out: bool = False
    """It puts in nothing but line ends, so it gives no rule something to do but those whose marks it closes up."""

    def may_act(self, text: str) -> bool:
        """Tell whether a text holds what the rule needs."""
        if self.trigger:
            return self.trigger.search(text) is not None
        return self.mark in text
