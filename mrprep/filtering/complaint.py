"""What a filter rule says of a text it would not keep."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Complaint:
    """Why a text should go."""

    reason: str
    """A short stable word; a key of the ledger."""
    detail: str
    """The number against its threshold, for people."""


def too_much(reason: str, what: str, share: float, most: float) -> Complaint | None:
    """Return the complaint that a share is over its threshold, or None."""
    if share <= most:
        return None
    return Complaint(reason, f"{share:.1%} {what}, at most {most:.1%} wanted")
