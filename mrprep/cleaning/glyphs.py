"""Stand-ins for a character that was lost: ``(cid:12)`` of PDF extractors, U+FFFD, private use."""

import re

_CID = re.compile(r"(?:\(cid:\d{1,6}\))+")
_REPLACEMENT = re.compile("\ufffd+")
PRIVATE = "\ue000-\uf8ff"
"""The range of private use in the basic plane."""
PRIVATE_USE = re.compile(f"[{PRIVATE}\U000f0000-\U000ffffd\U00100000-\U0010fffd]+")


def cid(text: str) -> tuple[str, int]:
    """Remove ``(cid:n)``, which PDF extractors write for a glyph without a Unicode value, counted in runs."""
    return _CID.subn("", text) if "(cid:" in text else (text, 0)


def replacement(text: str) -> tuple[str, int]:
    """Remove U+FFFD, counted in runs."""
    return _REPLACEMENT.subn("", text)


def private_use(text: str) -> tuple[str, int]:
    """Remove private-use characters, counted in runs."""
    return PRIVATE_USE.subn("", text)
