"""White space at the ends of lines, of runs of lines, and of the document; linear on any run of blanks.

What stands inside a line or begins it stays as it is: two U+3000 are how a Chinese paragraph begins.
"""

import re

BLANK = " \t\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
BLANK += "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
r"""All white space but ``\n``; held by a test."""
_TRAILING = re.compile(r"\n(?<=[^\S\n]\n)")
_BLANKS = tuple(BLANK)
_BLANK_RUN = re.compile(r"\n\n\n\n+")


def trailing_space(text: str) -> tuple[str, int]:
    """Remove white space at the end of each line, counted in lines."""
    ends = [match.start() for match in _TRAILING.finditer(text)]
    if text.endswith(_BLANKS):
        ends.append(len(text))
    if not ends:
        return text, 0
    kept, begin = [], 0
    for end in ends:
        kept.append(text[begin:end].rstrip(BLANK))
        begin = end
    return "".join([*kept, text[begin:]]), len(ends)


def blank_lines(text: str) -> tuple[str, int]:
    """Shorten runs of more than two blank lines to two."""
    return _BLANK_RUN.subn("\n\n\n", text) if "\n\n\n\n" in text else (text, 0)


def edges(text: str) -> tuple[str, int]:
    """Remove blank lines before the first and after the last line, counted in ends changed (1 or 2)."""
    head, tail = text.startswith("\n"), text.endswith("\n")
    return (text.strip("\n"), head + tail) if head or tail else (text, 0)
