"""Characters that nobody sees: byte order marks, bidi controls, soft hyphens, tags, zero-width spaces.

All are removed wherever they stand, but for tag characters inside an emoji flag. Characters that join or
select glyphs are in `joiners`.
"""

import re

BOM = re.compile("\ufeff")
BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f]")
SOFT_HYPHEN = re.compile("\xad")
ZERO_WIDTH = re.compile("[\u200b\u2060-\u2065]")
TAG = re.compile("[\U000e0000-\U000e007f]")
_TAG = re.compile(
    # a black flag, a subdivision code, cancel tag (UTS #51, ED-14a) is kept
    "(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f)|[\U000e0000-\U000e007f]"
)
NONCHARACTER = re.compile(
    "[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
    + "]"
)


def byte_order_marks(text: str) -> tuple[str, int]:
    """Remove U+FEFF: the mark of a file that was appended to another, or a zero-width no-break space."""
    return BOM.subn("", text)


def bidi(text: str) -> tuple[str, int]:
    """Remove bidi marks, embeddings, overrides and isolates, and the deprecated U+206A–206F (UAX #9)."""
    return BIDI.subn("", text)


def soft_hyphens(text: str) -> tuple[str, int]:
    """Remove U+00AD, a place where a word may break."""
    return SOFT_HYPHEN.subn("", text)


def zero_width(text: str) -> tuple[str, int]:
    """Remove zero-width space, word joiner and the invisible operators of mathematics."""
    return ZERO_WIDTH.subn("", text)


def tags(text: str) -> tuple[str, int]:
    """Remove tag characters, the usual carrier of hidden text, but for emoji flags such as Scotland's."""
    cleaned = _TAG.sub(r"\1", text)
    return cleaned, len(text) - len(cleaned)


def noncharacters(text: str) -> tuple[str, int]:
    """Remove the 66 noncharacters and lone surrogates, none of which may be interchanged (Unicode, 23.7)."""
    return NONCHARACTER.subn("", text)
