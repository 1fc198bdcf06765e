"""One place that makes text from an input safe to show in a terminal, a log or a JSON line."""

import os
import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(text: str | bytes, limit: int = 200) -> str:
    r"""Return ``text`` on one line with whatever could drive a terminal written as an escape.

    Control characters (ESC and OSC among them), bidi overrides and other format characters, lone
    surrogates, private-use and unassigned characters become ``\xNN``, ``\uNNNN`` or ``\UNNNNNNNN``.
    Longer than ``limit`` characters is cut with an ellipsis. Bytes are read as a file name.
    """
    if isinstance(text, bytes):
        text = os.fsdecode(text)
    cut = text[:limit] + "…" if len(text) > limit else text
    return "".join(_escape(c) for c in cut) if not cut.isprintable() else cut


def file_name(source: str, path: str | bytes) -> str:
    """Return a file's path with its source before it, on one line; a source that is one file is not said twice."""
    shown = printable(path, 4096)
    return shown if source == shown else f"{printable(source)}/{shown}"


def _escape(char: str) -> str:
    if unicodedata.category(char) not in _HIDDEN:
        return char
    if "\udc80" <= char <= "\udcff":  # a byte of a file name that is not UTF-8
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
