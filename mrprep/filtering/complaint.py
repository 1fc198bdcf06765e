"""What a filter rule is, and what it says of a text it would not keep.

A rule looks at a whole batch first and marks the texts that it may complain of; only these are judged one by one.
A mark too many costs some microseconds; one too few would be a verdict lost, so marks err on the safe side.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mrprep.filtering.batch import Batch
from mrprep.filtering.profile import Profile
from mrprep.filtering.tally import Mask


@dataclass(frozen=True, slots=True)
class Complaint:
    """Why a text should go."""

    reason: str
    """A short stable word; a key of the ledger."""
    detail: str
    """The number against its threshold, for people."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the filter; both functions are given the same threshold."""

    suspects: Callable[[Batch, float], Mask]
    """Marks every text that ``complaint`` would complain of, and as few others as a cheap look allows."""
    complaint: Callable[[Profile, float], Complaint | None]
    """Says why a text should go, or None."""


def too_much(reason: str, what: str, share: float, most: float) -> Complaint | None:
    """Return the complaint that a share is over its threshold, or None."""
    if share <= most:
        return None
    return Complaint(reason, f"{share:.1%} {what}, at most {most:.1%} wanted")


def holes(taken: int, left: int, most: float) -> Complaint | None:
    """Return the complaint that too many glyphs were taken out of a text that has ``left`` characters, or None."""
    return too_much("hollow", "places where glyphs of a PDF were taken out", taken / max(1, taken + left), most)
