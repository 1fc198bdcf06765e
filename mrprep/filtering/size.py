"""Texts with nothing, or next to nothing, in them."""

import math

from mrprep.filtering.batch import Batch
from mrprep.filtering.complaint import Complaint, Rule
from mrprep.filtering.profile import Profile
from mrprep.filtering.tally import Mask
from mrprep.filtering.words import words_of

_LONGEST_UNIT = 40
"""A text of this many characters a unit is long enough without counting."""


def _may_be_empty(batch: Batch, _: float) -> Mask:
    return batch.inked == 0


def _empty(profile: Profile, _: float) -> Complaint | None:
    if profile.inked or (profile.sample is not profile.text and profile.text.strip()):
        return None
    return Complaint("empty", "no character in it")


def _may_be_short(batch: Batch, least: float) -> Mask:
    few = words_of(batch).judged < least  # each stands by itself, so it is a unit or begins one
    return ~batch.partial & (batch.wide < least) & (batch.sizes <= least * _LONGEST_UNIT) & few


def _short(profile: Profile, least: float) -> Complaint | None:
    if len(profile.text) > least * _LONGEST_UNIT:
        return None
    units = profile.units_up_to(math.ceil(least))
    if units >= least:
        return None
    return Complaint("short", f"{units} words or characters, at least {least:g} wanted")


EMPTY = Rule(_may_be_empty, _empty)
"""A text of nothing but white space and format characters; it has no threshold."""
SHORT = Rule(_may_be_short, _short)
"""Fewer units than wanted; never a piece of a longer document."""
