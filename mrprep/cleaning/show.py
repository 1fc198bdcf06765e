"""What cleaning does to documents, for people: each change with the rule that makes it, before and after.

A change is one line, ``[-gone-]{+come+}`` as wdiff writes it, or red and green on a terminal. Whatever could drive
a terminal is written as an escape.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice

from mrprep.cleaning.hunks import Hunk, hunks
from mrprep.printable import printable

Step = tuple[str, str, str]
"""A rule, the text before it and the text after it."""

_AROUND = 24
_SHOWN = 60
_GONE, _COME = ("[-", "-]"), ("{+", "+}")
_RED, _GREEN = ("\x1b[31;7m", "\x1b[0m"), ("\x1b[32;7m", "\x1b[0m")


def changes(steps: Iterable[Step], limit: int | None, *, colour: bool) -> Iterator[str]:
    """Yield a line for each change that rules make to one document.

    Args:
        steps: the rules that change it, in order.
        limit: most changes of one rule that are shown; None shows all.
        colour: whether to mark what goes and what comes by colours.
    """
    for rule, before, after in steps:
        for hunk in islice(hunks(before, after), limit):
            line = before.count("\n", 0, hunk.start) + 1
            yield f"{line:>6}  {rule:<16}  {_marked(before, after, hunk, colour=colour)}"


def _marked(before: str, after: str, hunk: Hunk, *, colour: bool) -> str:
    """Return a change with the text around it on one line."""
    left, right = before[max(0, hunk.start - _AROUND) : hunk.start], before[hunk.stop : hunk.stop + _AROUND]
    gone, come = before[hunk.start : hunk.stop], after[hunk.new_start : hunk.new_stop]
    marks = (_RED, _GREEN) if colour else (_GONE, _COME)
    changed = (
        f"{first}{_visible(text)}{last}" for (first, last), text in zip(marks, (gone, come), strict=True) if text
    )
    return f"{printable(left)}{''.join(changed)}{printable(right)}"


def _visible(text: str) -> str:
    """Return text safe to print, with combining marks and odd blanks as escapes: changed or not, they look alike."""
    shown = text[:_SHOWN]
    alike = {ord(char): f"\\u{ord(char):04x}" for char in set(shown) - {" "} if _looks_like_another(char)}
    return printable(shown, _SHOWN).translate(alike) + ("…" if len(text) > _SHOWN else "")


def _looks_like_another(char: str) -> bool:
    return unicodedata.combining(char) > 0 or unicodedata.category(char) == "Zs"
