"""One thing looked at on a machine."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "wrong"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found, what is wanted, and what mends the difference."""

    name: str
    found: str
    wanted: str
    state: State = "ok"
    """``wrong``: mrprep will not work; ``note``: it works, and something will be slow or missing."""
    mend: str = ""
    """A command, or a sentence where no command will do; empty when all is well."""


def judge(name: str, found: str, wanted: str, good: bool, mend: str, otherwise: State = "wrong") -> Reading:
    """Return the reading of something that is good or not; what mends it is named only when it is not."""
    return Reading(name, found, wanted) if good else Reading(name, found, wanted, otherwise, mend)
