"""Text that says the same again: lines, n-grams, one unit, anything that compresses too well."""

from collections import Counter
from itertools import islice

from mrprep.filtering.complaint import Complaint, too_much
from mrprep.filtering.profile import Profile

LEAST_LINES = 5
_LEAST_UNITS = 8
SUSPICIOUS = 0.6
"""Density below which units are counted in texts of under `_SHORT` characters, where LZ4 has little to refer to."""
_SHORT = 600
_SUSPICIOUS = 0.3
"""The same for longer texts; prose that repeats itself three times comes to 0.2."""
_FEW_SUSPICIOUS = 0.4
_FEW_OF = 1000
_N = 10
_MOST_UNITS = 4000


def repeated_lines(profile: Profile, most: float) -> Complaint | None:
    """Complain about characters in lines that stood before."""
    lines = profile.lines
    if len(lines) < LEAST_LINES:
        return None
    distinct = set(lines)
    if len(distinct) == len(lines):
        return None
    total = sum(map(len, lines))
    share = (total - sum(map(len, distinct))) / total
    return too_much("repeated-lines", "of the text in repeated lines", share, most)


def compressible(profile: Profile, least: float) -> Complaint | None:
    """Complain about text that LZ4 makes smaller than text can be made."""
    if profile.density >= least:
        return None
    return Complaint("compressible", f"compresses to {profile.density:.1%}, at least {least:.1%} wanted")


def repeated_ngrams(profile: Profile, most: float) -> Complaint | None:
    """Complain about 10-grams of units that stood before; looks at text that compresses well only."""
    if not _is_suspicious(profile):
        return None
    units = profile.units[:_MOST_UNITS]
    n = min(_N, max(1, len(units) // 5))
    grams = Counter(zip(*(islice(units, skip, None) for skip in range(n)), strict=False))
    total = grams.total()
    share = (total - len(grams)) / max(1, total)
    return too_much("repeated-ngrams", f"of the {n}-grams repeated", share, most)


def one_unit(profile: Profile, most: float) -> Complaint | None:
    """Complain about one word or character that makes up the text; looks at short and dense text only."""
    if not _is_suspicious(profile) or len(profile.units) < _LEAST_UNITS:
        return None
    ((_, count),) = Counter(profile.units).most_common(1)
    return too_much("one-word", "of the units the same", count / len(profile.units), most)


def few_units(profile: Profile, least: float) -> Complaint | None:
    """Complain about 1,000 units with too few different ones among them; looks at dense text only."""
    if profile.density >= _FEW_SUSPICIOUS:
        return None
    units = profile.units[:_FEW_OF]
    share = len(set(units)) / max(1, len(units))
    if share >= least or len(units) < _LEAST_UNITS:
        return None
    return Complaint("few-words", f"{share:.1%} of the units are different, at least {least:.1%} wanted")


def _is_suspicious(profile: Profile) -> bool:
    return profile.density < (SUSPICIOUS if len(profile.sample) < _SHORT else _SUSPICIOUS)
