r"""Terminal remains: ANSI escapes, overstrike of man pages, line ends of other worlds, control characters.

Line ends become ``\n`` and never nothing, so no two words are glued. C1 controls are dropped as single
characters: U+009B is not read as the start of an escape, since in mis-decoded text letters follow it.
"""

import re

ESCAPE = re.compile("\x1b")
BACKSPACE = re.compile("\b")
_ANSI = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*+[ -/]*+[@-~]"  # CSI: colours, cursor moves (ECMA-48, 5.4)
    r"|\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|[()*+][0-9A-Z]"  # character set designations
    r"|[=>78])"  # keypad modes, save and restore
)
_BOLD = re.compile(r"(.)(?:\x08\1)+")
_UNDERLINED = re.compile(r"_\x08(.)|(.)\x08_")
_LONE_CR = re.compile(r"\r(?!\n)")
LINE_END = re.compile("[\x0b\x0c\x85\u2028\u2029]")
CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")


def ansi(text: str) -> tuple[str, int]:
    """Remove ANSI escape sequences; an ESC that begins none is left to `controls`."""
    return _ANSI.subn("", text)


def overstrike(text: str) -> tuple[str, int]:
    r"""Undo bold (``N\bN``) and underline (``_\bN``, ``N\b_``) as ``man | cat`` prints them."""
    text, bold = _BOLD.subn(r"\1", text)
    text, underlined = _UNDERLINED.subn(r"\1\2", text)
    return text, bold + underlined


def carriage_returns(text: str) -> tuple[str, int]:
    r"""Turn CRLF and lone CR into ``\n``. Texts whose CRs are all of CRLF just lose them, which is twice as fast."""
    if "\r" not in text:
        return text, 0
    if _LONE_CR.search(text):
        return text.replace("\r\n", "\n").replace("\r", "\n"), text.count("\r")
    joined = text.replace("\r", "")
    return joined, len(text) - len(joined)


def line_ends(text: str) -> tuple[str, int]:
    r"""Turn VT, FF, NEL, LS and PS into ``\n``."""
    return LINE_END.subn("\n", text)


def controls(text: str) -> tuple[str, int]:
    """Remove the C0 and C1 control characters that are neither tab nor line end."""
    return CONTROL.subn("", text)
