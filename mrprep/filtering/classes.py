"""What kind of character each one is, as a table over all code points.

One table look-up counts all kinds of many texts at once, in some 2 ns a character. Most
characters beyond the basic plane are told by the stretch they lie in. The table takes 20 ms to build, once a process.
"""

import unicodedata
from enum import IntEnum
from functools import cache

import numpy as np
import numpy.typing as npt

from mrprep.filtering.windows import take

Counts = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | npt.NDArray[np.uint32]


class Kind(IntEnum):
    """Kinds of characters, disjoint."""

    NOTHING = 0
    """Format characters, variation selectors."""
    SPACE = 1
    LATIN = 2
    """ASCII letters."""
    ACCENTED = 3
    """Latin letters and marks beyond ASCII."""
    ALPHABET = 4
    """Greek, Cyrillic, Armenian, Georgian and every alphabet that has no kind of its own."""
    RIGHT_TO_LEFT = 5
    """Hebrew, Arabic, Syriac, Thaana, N'Ko."""
    INDIC = 6
    """Devanagari to Sinhala."""
    STACKED = 7
    """Thai, Lao, Tibetan, Myanmar, Khmer: scripts without spaces between words."""
    HAN = 8
    """Ideographs in everyday use in China, Taiwan or Japan: the first level of GB 2312, Big5 or JIS X 0208."""
    RARE_HAN = 9
    """All other ideographs."""
    KANA = 10
    HANGUL = 11
    DIGIT = 12
    PUNCTUATION = 13
    SYMBOL = 14
    GARBAGE = 15
    """U+FFFD, private use, unassigned, control characters."""
    RARE = 16
    """Letters of Yi and of the scripts beyond the basic plane: cuneiform, hieroglyphs, Gothic."""


_CATEGORY = {
    **dict.fromkeys(("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me"), Kind.ALPHABET),
    **dict.fromkeys(("Nd", "Nl", "No"), Kind.DIGIT),
    **dict.fromkeys(("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"), Kind.PUNCTUATION),
    **dict.fromkeys(("Sm", "Sc", "Sk", "So"), Kind.SYMBOL),
    **dict.fromkeys(("Zs", "Zl", "Zp"), Kind.SPACE),
    **dict.fromkeys(("Cc", "Cn", "Co", "Cs"), Kind.GARBAGE),
    "Cf": Kind.NOTHING,
}
_SCRIPTS = (
    ("A", "z", Kind.LATIN),
    ("\xaa", "\u036f", Kind.ACCENTED),
    ("\u1e00", "\u1eff", Kind.ACCENTED),
    ("\u0590", "\u08ff", Kind.RIGHT_TO_LEFT),
    ("\u0900", "\u0dff", Kind.INDIC),
    ("\u0e00", "\u109f", Kind.STACKED),
    ("\u1780", "\u17ff", Kind.STACKED),
    ("\u3005", "\u3007", Kind.HAN),
    ("\u3041", "\u30ff", Kind.KANA),
    ("\u31f0", "\u31ff", Kind.KANA),
    ("\uff66", "\uff9f", Kind.KANA),
    ("\u3400", "\u9fff", Kind.RARE_HAN),
    ("\uf900", "\ufaff", Kind.RARE_HAN),
    ("\u1100", "\u11ff", Kind.HANGUL),
    ("\uac00", "\ud7a3", Kind.HANGUL),
    ("\ufb1d", "\ufdff", Kind.RIGHT_TO_LEFT),
    ("\ufe70", "\ufefc", Kind.RIGHT_TO_LEFT),
    ("\uff21", "\uff5a", Kind.LATIN),
)
"""Stretches in which letters and marks have a kind of their own; other characters keep their category's."""
_TOLD = 0x1EC00
"""Code points below are told by their category, one by one."""
_BEYOND = (
    (0x1D000, 0x1D7FF, Kind.SYMBOL),  # music, letters of mathematics
    (0x1EC00, 0x1FFFF, Kind.SYMBOL),  # emoji, mathematical Arabic
    (0x20000, 0x3FFFF, Kind.RARE_HAN),
    (0x40000, 0xDFFFF, Kind.GARBAGE),  # unassigned
    (0xE0000, 0xE01EF, Kind.NOTHING),  # tags, variation selectors
    (0xE01F0, 0x10FFFF, Kind.GARBAGE),  # unassigned, private-use planes
)
"""Characters beyond the basic plane, by stretches."""
_FIRST_LEVEL = (("gb2312", 0xB0, 0xD7), ("big5", 0xA4, 0xC6), ("euc_jp", 0xB0, 0xCF))
"""Codecs and the lead bytes of their everyday ideographs."""

WATCHED = "|｜»›><&锟…。，！？；：、,၊། \u3000\t·•‣▶►●○■▪▫□▯?–-:/[]{}=\"();_#\\%'→—"
"""Characters that rules ask for one by one; each is a class of its own."""
_CLASSES = len(Kind) + len(WATCHED)
_FREQUENT = (Kind.LATIN, Kind.HAN, Kind.PUNCTUATION, *(len(Kind) + WATCHED.index(char) for char in " ,，。"))
"""Classes that most text is made of: counted by stretches, not one by one."""
_OFTEN = 128
"""What the table adds to the number of such a class."""


def code_points(text: str) -> Codes:
    """Return the code points of a text, lone surrogates among them, as the smallest numbers that hold all."""
    if text.isascii():
        return np.frombuffer(text.encode(), np.uint8)
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) == 2 * len(text):
        return np.frombuffer(units, np.uint16)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def count_classes(codes: Codes, sizes: Counts) -> Counts:
    """Return how many characters of each kind, and of each watched character, every text has.

    Args:
        codes: code points of all texts, one after the other, unsigned[n].
        sizes: how many of them each text has, int64[texts].

    Returns:
        int64[len(Kind) + len(WATCHED), texts]; the rows of kinds count watched characters too.
    """
    classes, texts = take(_table(), codes), len(sizes)
    ends = np.cumsum(sizes)
    seldom = np.flatnonzero(classes < _OFTEN)
    keys = np.multiply(classes.take(seldom), texts, dtype=np.int64)
    keys += np.repeat(np.arange(texts), np.diff(np.searchsorted(seldom, ends), prepend=0))
    counts = np.bincount(keys, minlength=_CLASSES * texts).reshape(_CLASSES, texts)
    for at in _FREQUENT:
        counts[at] = _in_stretches(classes == at + _OFTEN, ends, sizes)
    for at, kind in enumerate(_kinds_of_watched(), start=len(Kind)):
        counts[kind] += counts[at]
    return counts


def _in_stretches(those: npt.NDArray[np.bool_], ends: Counts, sizes: Counts) -> Counts:
    """Return how many of some characters stand in each stretch, of any size, given where it ends."""
    counts = np.zeros(len(sizes), np.int64)
    if those.any():
        filled = np.flatnonzero(sizes)
        narrow = np.uint16 if sizes.max() < 1 << 16 else np.uint32
        counts[filled] = np.add.reduceat(those.astype(narrow), (ends - sizes)[filled], dtype=narrow)
    return counts


def watched(characters: str) -> list[int]:
    """Return the rows of the counts that belong to some watched characters."""
    return [len(Kind) + WATCHED.index(char) for char in characters]


@cache
def _table() -> npt.NDArray[np.uint8]:
    """Return the class of every code point: its kind, or one of its own if watched; `_OFTEN` is added if frequent."""
    table = _kinds().copy()
    table[[ord(char) for char in WATCHED]] = np.arange(len(Kind), _CLASSES)
    more = np.zeros(_CLASSES, np.uint8)
    more[list(_FREQUENT)] = _OFTEN
    table += more[table]
    return table


@cache
def _kinds_of_watched() -> list[int]:
    kinds: list[int] = _kinds()[[ord(char) for char in WATCHED]].tolist()
    return kinds


@cache
def _kinds() -> npt.NDArray[np.uint8]:
    table = np.zeros(0x110000, np.uint8)
    categories = map(unicodedata.category, map(chr, range(_TOLD)))
    table[:_TOLD] = np.frombuffer(bytes(map(_CATEGORY.__getitem__, categories)), np.uint8)
    letter = table == Kind.ALPHABET
    for first, last, kind in _SCRIPTS:
        stretch = slice(ord(first), ord(last) + 1)
        table[stretch][letter[stretch]] = kind
    for lowest, highest, kind in _BEYOND:
        table[lowest : highest + 1] = kind
    for lowest, highest in ((0xA000, 0xA4CF), (0x10000, _TOLD - 1)):
        rare = np.flatnonzero(table[lowest : highest + 1] == Kind.ALPHABET) + lowest
        table[rare] = Kind.RARE
    table[[ord(char) for char in "\t\n\r"]] = Kind.SPACE
    table[0xFE00:0xFE10] = Kind.NOTHING
    table[0xFFFD] = Kind.GARBAGE
    table[[ord(char) for char in _everyday()]] = Kind.HAN
    return table


def _everyday() -> list[str]:
    chars: set[str] = set()
    for codec, first, last in _FIRST_LEVEL:
        pairs = (bytes((lead, trail)) for lead in range(first, last + 1) for trail in range(0x40, 0xFF))
        chars.update(b"\n".join(pairs).decode(codec, "ignore"))
    return sorted(char for char in chars if "\u3400" <= char <= "\u9fff")
