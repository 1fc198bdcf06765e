"""Pages that are no prose: menus, lists of words or bullets, teasers that end in dots."""

from mrprep.filtering.complaint import Complaint, too_much
from mrprep.filtering.profile import Profile

_LEAST_LINES = 10
_BARS = ("|", "｜", "»", "›", " > ")
_LEAST_BARS = 8
_SHORT = 30
_SHORT_WIDE = 12
_SEPARATORS = (" ", "\u3000", "\t", "|", "·", "›", ">")
_SENTENCE_MARKS = ("。", "，", "！", "？", "；", "：", "、", ",", "၊", "།")
_LEAST_WIDE = 40
_MARKED = 0.01
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


def menu_bars(profile: Profile, least: float) -> Complaint | None:
    """Complain about fewer units than ``least`` from bar to bar, in a text of few lines (a table has many)."""
    if len(profile.lines) >= _LEAST_LINES:
        return None
    bars = sum(map(profile.sample.count, _BARS))
    if bars < _LEAST_BARS:
        return None
    stretch = len(profile.units) / bars
    if stretch >= least:
        return None
    return Complaint("menu", f"{stretch:.1f} words or characters from bar to bar, at least {least:g} wanted")


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
    if len(lines) < _LEAST_LINES or not ("..." in profile.sample or "…" in profile.sample):
        return None
    count = sum(line.endswith(_ELLIPSES) for line in lines)
    return too_much("ellipses", "of the lines end in an ellipsis", count / len(lines), most)


def word_list(profile: Profile, most: float) -> Complaint | None:
    """Complain about Chinese, Japanese … words set apart by blanks or bars, with next to no sentence marks."""
    sample = profile.sample
    if profile.wide < _LEAST_WIDE or sum(map(sample.count, _SENTENCE_MARKS)) > _MARKED * profile.inked:
        return None
    return too_much("word-list", "blanks and bars", sum(map(sample.count, _SEPARATORS)) / len(sample), most)
