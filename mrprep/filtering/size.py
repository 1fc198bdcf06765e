"""Texts with nothing, or next to nothing, in them."""

from mrprep.filtering.complaint import Complaint
from mrprep.filtering.profile import Profile

_LONGEST_UNIT = 40
"""A text of this many characters a unit is long enough without counting."""


def empty(profile: Profile) -> Complaint | None:
    """Complain about a text of nothing but white space and format characters."""
    if profile.inked or (profile.sample is not profile.text and profile.text.strip()):
        return None
    return Complaint("empty", "no character in it")


def short(profile: Profile, least: int) -> Complaint | None:
    """Complain about fewer units than ``least``; never about a piece of a longer document."""
    if profile.partial or profile.wide >= least or len(profile.text) > least * _LONGEST_UNIT:
        return None
    units = len(profile.units)
    if units >= least:
        return None
    return Complaint("short", f"{units} words or characters, at least {least} wanted")
