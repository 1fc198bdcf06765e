"""White space at the ends of lines, of runs of lines, and of the document; linear on any run of blanks.

What stands inside a line or begins it stays as it is: two U+3000 are how a Chinese paragraph begins.
"""

import operator
import re

_TRAILING = re.compile(r"\n(?<=[^\S\n]\n)")
_BLANK_RUN = re.compile(r"\n{4,}")


def trailing_space(text: str) -> tuple[str, int]:
    """Remove white space at the end of each line, counted in lines."""
    if not _TRAILING.search(text) and (text[-1:] == "\n" or not text[-1:].isspace()):
        return text, 0
    lines = text.split("\n")
    stripped = list(map(str.rstrip, lines))
    return "\n".join(stripped), sum(map(operator.ne, lines, stripped))


def blank_lines(text: str) -> tuple[str, int]:
    """Shorten runs of more than two blank lines to two."""
    return _BLANK_RUN.subn("\n\n\n", text) if "\n\n\n\n" in text else (text, 0)


def edges(text: str) -> tuple[str, int]:
    """Remove blank lines before the first and after the last line, counted in ends changed (1 or 2)."""
    head, tail = text.startswith("\n"), text.endswith("\n")
    return (text.strip("\n"), head + tail) if head or tail else (text, 0)
