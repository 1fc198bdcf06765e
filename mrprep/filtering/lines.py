"""Pages that are no prose: menus, lists of bullets, teasers that end in dots."""

from mrprep.filtering.complaint import Complaint, too_much
from mrprep.filtering.profile import Profile

_LEAST_LINES = 10
_SHORT = 30
_SHORT_WIDE = 12
_BULLETS = frozenset("•‣▶►●○■▪▫–-·»›")
_ELLIPSES = ("...", "…")
_TERMINAL = frozenset(".!?。！？；;：:，,、”’\"'»」』)）")


def menus(profile: Profile, most: float) -> Complaint | None:
    """Complain about short lines that end without punctuation."""
    lines = profile.lines
    if profile.partial or len(lines) < _LEAST_LINES:
        return None
    longest = _SHORT_WIDE if profile.wide * 2 > profile.inked else _SHORT
    if profile.inked > longest * len(lines):
        return None
    count = len([1 for line in lines if len(line) <= longest and line[-1] not in _TERMINAL])
    return too_much("menu", "of the lines short and without punctuation", count / len(lines), most)


def bullets(profile: Profile, most: float) -> Complaint | None:
    """Complain about lines that begin with a bullet."""
    lines = profile.lines
    if len(lines) < _LEAST_LINES:
        return None
    count = len([1 for line in lines if line.lstrip()[:1] in _BULLETS])
    return too_much("bullets", "of the lines begin with a bullet", count / len(lines), most)


def ellipses(profile: Profile, most: float) -> Complaint | None:
    """Complain about lines that end in an ellipsis."""
    lines = profile.lines
    if len(lines) < _LEAST_LINES or not any(dots in profile.sample for dots in _ELLIPSES):
        return None
    count = sum(line.endswith(_ELLIPSES) for line in lines)
    return too_much("ellipses", "of the lines end in an ellipsis", count / len(lines), most)
