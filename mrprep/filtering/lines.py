"""Pages that are no prose: menus, lists of words or bullets, teasers that end in dots."""

import re

import numpy as np

from mrprep.filtering.batch import Batch
from mrprep.filtering.classes import Kind, watched
from mrprep.filtering.complaint import Complaint, Rule, too_much
from mrprep.filtering.han import small_share
from mrprep.filtering.profile import Profile
from mrprep.filtering.tally import Mask
from mrprep.filtering.words import words_of

_LEAST_LINES = 10
_BARS = ("|", "｜", "»", "›", " > ")
_LEAST_BARS = 8
_SHORT = 30
_SHORT_WIDE = 12
_SEPARATORS = " \u3000\t|·›>"
CONTENTS = re.compile(
    r"^ *(?:[\dA-Z]{1,3}[.．]|第.{1,3}[章节節回]|附录|附錄)|(?:\.{2}|…|\t|  ) *\d{1,4}$", re.MULTILINE
)
_SENTENCE_MARKS = "。，！？；：、,၊།"
_LEAST_WIDE = 40
_MARKED = 0.01
_BULLETS = frozenset("•‣▶►●○■▪▫–-·»›")
_VERSE, _UNBROKEN, _LONG_VERSE = 0.12, 1.5, 14
_LONG, _SHORT_VERSE, _VERSE_LINE = 100, 0.2, 5
"""Ideographs of a text that is long; in shorter verse, share of small words and ideographs a line."""
_WORDS_A_LINE, _SPOKEN = 3, 0.3
_ELLIPSES = ("...", "…")
_TERMINAL = frozenset(".!?。！？；;：:，,、”’\"'»」』)）")
_TERMINAL_CODES = [ord(char) for char in sorted(_TERMINAL)]

_BAR_ROWS, _MARK_ROWS, _SEPARATOR_ROWS = watched("|｜»›>"), watched(_SENTENCE_MARKS), watched(_SEPARATORS)
_LEAST_UNENDED, _LEAST_RUNS = 120, 12
_RUN, _ENDS = re.compile("[\u3400-\u9fff]{2,}"), re.compile("[。！？!?；;：:”」]|\\. ")
_TABLE_RULE, _TABLE_ROW = (re.compile(row, re.MULTILINE) for row in (r"^\|[ :|-]+\|$", r"^\|.*\|$"))
_END_ROWS = watched("。！？；：")
_BULLET_ROWS = watched("".join(sorted(_BULLETS)))


def _may_be_menu(batch: Batch, most: float) -> Mask:
    longest = np.where(batch.wide * 2 > batch.inked, _SHORT_WIDE, _SHORT)
    lined = ~batch.partial & (batch.lines >= _LEAST_LINES) & (batch.inked <= longest * batch.lines)
    short = np.flatnonzero((batch.line_sizes <= longest[batch.line_owners]) & lined[batch.line_owners])
    open_ended = short[np.isin(batch.from_line_ends(1)[short], _TERMINAL_CODES, invert=True)]
    return lined & (batch.lines_at(open_ended) > most * batch.lines - 1)


def _menu(profile: Profile, most: float) -> Complaint | None:
    lines = profile.lines
    spoken = profile.once(_is_verse) or _is_spoken(profile)
    if spoken or len(CONTENTS.findall(profile.sample)) * 2 > len(lines):
        return None
    longest = _SHORT_WIDE if profile.wide * 2 > profile.inked else _SHORT
    count = len([1 for line in lines if len(line) <= longest and line[-1] not in _TERMINAL])
    return too_much("menu", "of the lines short and without punctuation", count / len(lines), most)


def _is_verse(profile: Profile) -> bool:
    """Say whether Chinese has as many small words as prose, in lines without blanks: verse without marks."""
    lines = len(profile.lines)
    unbroken = profile.kinds[Kind.SPACE] <= _UNBROKEN * lines and profile.inked <= _LONG_VERSE * lines
    if not unbroken or profile.wide * 10 < profile.inked * 9:
        return False
    if profile.wide >= _LONG:
        return small_share(profile.sample) >= _VERSE
    even = profile.wide >= _VERSE_LINE * lines and max(map(len, profile.lines)) <= 2 * _LONG_VERSE
    return even and small_share(profile.sample) >= _SHORT_VERSE


def _is_spoken(profile: Profile) -> bool:
    """Say whether the lines of a Latin text have several words, small ones among them as in prose: subtitles, songs."""
    words, at = words_of(profile.batch), profile.index
    return bool(words.count[at] >= _WORDS_A_LINE * len(profile.lines) and words.small[at] >= _SPOKEN * words.count[at])


def _may_be_menu_bar(batch: Batch, _: float) -> Mask:
    return (batch.lines < _LEAST_LINES) & (batch.of(*_BAR_ROWS) >= _LEAST_BARS)


def _menu_bar(profile: Profile, least: float) -> Complaint | None:
    bars = sum(map(profile.sample.count, _BARS))
    if bars < _LEAST_BARS or _is_table_in_prose(profile.sample):
        return None
    stretch = len(profile.units) / bars
    if stretch >= least:
        return None
    return Complaint("menu", f"{stretch:.1f} words or characters from bar to bar, at least {least:g} wanted")


def _is_table_in_prose(sample: str) -> bool:
    """Say whether the bars are those of a Markdown table that stands beside sentences."""
    beside = _TABLE_ROW.sub("", sample)
    return (
        bool(_TABLE_RULE.search(sample)) and "|" not in beside and bool(_ENDS.search(beside.replace("\n", " ") + " "))
    )


def _may_be_bullets(batch: Batch, most: float) -> Mask:
    return (batch.lines >= _LEAST_LINES) & (batch.of(*_BULLET_ROWS) > most * batch.lines - 1)


def _bullets(profile: Profile, most: float) -> Complaint | None:
    lines = profile.lines
    count = len([1 for line in lines if line.lstrip()[:1] in _BULLETS])
    return too_much("bullets", "of the lines begin with a bullet", count / len(lines), most)


def _may_be_ellipses(batch: Batch, most: float) -> Mask:
    last = batch.from_line_ends(1)
    dots = (last == ord(".")) & (batch.from_line_ends(2) == ord("."))
    count = batch.lines_at(np.flatnonzero(dots | (last == ord("…"))))
    return (batch.lines >= _LEAST_LINES) & (count > most * batch.lines - 1)


def _ellipses(profile: Profile, most: float) -> Complaint | None:
    lines = profile.lines
    count = sum(line.endswith(_ELLIPSES) for line in lines)
    return too_much("ellipses", "of the lines end in an ellipsis", count / len(lines), most)


def _may_be_word_list(batch: Batch, most: float) -> Mask:
    wide = (batch.wide * 4 >= batch.latin) & (batch.wide >= _LEAST_WIDE)
    unmarked = batch.of(*_MARK_ROWS) <= _MARKED * batch.inked
    return wide & unmarked & (batch.of(*_SEPARATOR_ROWS) > most * batch.sizes - 1)


def _word_list(profile: Profile, most: float) -> Complaint | None:
    sample = profile.sample
    if len(CONTENTS.findall(sample)) * 2 > len(profile.lines):
        return None
    return too_much("word-list", "blanks and bars", sum(map(sample.count, _SEPARATORS)) / len(sample), most)


def _may_be_unended(batch: Batch, least: float) -> Mask:
    wide = (batch.wide >= _LEAST_UNENDED) & (batch.wide * 3 >= batch.inked) & ~batch.partial
    return wide & (batch.of(*_END_ROWS) * least < batch.inked)


def _unended(profile: Profile, least: float) -> Complaint | None:
    sample = profile.sample
    runs = len(_RUN.findall(sample))
    if profile.once(_is_verse) or len(CONTENTS.findall(sample)) * 2 > len(profile.lines) or runs < _LEAST_RUNS:
        return None
    length = profile.inked / (len(_ENDS.findall(sample)) + 1)
    if length <= least:
        return None
    return Complaint(
        "keywords", f"{length:.0f} characters from one end of a sentence to the next, at most {least:g} wanted"
    )


MENU = Rule(_may_be_menu, _menu)
"""Short lines that end without punctuation."""
MENU_BAR = Rule(_may_be_menu_bar, _menu_bar)
"""Fewer units than wanted from bar to bar, in a text of few lines (a table has many)."""
BULLETS = Rule(_may_be_bullets, _bullets)
"""Lines that begin with a bullet."""
ELLIPSES = Rule(_may_be_ellipses, _ellipses)
"""Lines that end in an ellipsis."""
WORD_LIST = Rule(_may_be_word_list, _word_list)
"""Chinese, Japanese … words set apart by blanks or bars, with next to no sentence marks."""
UNENDED = Rule(_may_be_unended, _unended)
"""Chinese or Japanese without ends of sentences: lists of words, clouds of tags, headlines one after the other."""
