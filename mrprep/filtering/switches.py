"""Characters that change their kind inside words, as no script does: mixed cases, digits, alphabets."""

from functools import cache

import numpy as np
import numpy.typing as npt

from mrprep.filtering.batch import Batch, Mask
from mrprep.filtering.complaint import Complaint, Rule, too_much
from mrprep.filtering.profile import Profile
from mrprep.filtering.prose import is_prose

_CHARACTERS, _LEAST_PAIRS = 1500, 100
_OTHER, _DIGIT, _HAN, _HIRAGANA, _KATAKANA, _HANGUL, _ALPHABETS = 0, 1, 2, 3, 4, 5, 6
_HANGUL_RARE = 0.25


def _may_switch(batch: Batch, _: float) -> Mask:
    return (batch.inked >= _LEAST_PAIRS) & ~batch.once(is_prose)


def _switches(profile: Profile, most: float) -> Complaint | None:
    codes = np.frombuffer(profile.sample[:_CHARACTERS].encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = _table().take(np.minimum(codes, 0xFFFF))
    first, second = kinds[:-1], kinds[1:]
    pairs = int(((first > 0) & (second > 0)).sum())
    if pairs < _LEAST_PAIRS:
        return None
    share = float(_odd().take(first.astype(np.int64) * 256 + second).sum() / pairs)
    return too_much("switches", "of the neighbours of different scripts or cases", share, most)


@cache
def _table() -> npt.NDArray[np.uint8]:
    """Return the class of every code point of the basic plane: 0, a script, or a script's upper case (odd numbers)."""
    table = np.zeros(1 << 16, np.uint8)
    for number, (first, last) in enumerate(
        (("A", "\u024f"), ("\u0370", "\u03ff"), ("\u0400", "\u052f"), ("\u0530", "\u058f"))
    ):
        for code in range(ord(first), ord(last) + 1):
            char = chr(code)
            table[code] = (_ALPHABETS + 2 * number + char.isupper()) * char.isalpha()
    for number, first, last in (
        (_DIGIT, "0", "9"),
        (_HAN, "\u3400", "\u9fff"),
        (_HIRAGANA, "\u3041", "\u3096"),
        (_KATAKANA, "\u30a1", "\u30fa"),
        (_KATAKANA, "\uff66", "\uff9d"),
        (_HANGUL, "\uac00", "\ud7a3"),
    ):
        table[ord(first) : ord(last) + 1] = number
    return table


@cache
def _odd() -> npt.NDArray[np.bool_]:
    """Return which classes are odd beside each other, by 256 times the first and the second."""
    odd = ~np.eye(256, dtype=bool)
    odd[_OTHER] = odd[:, _OTHER] = False
    for native in ({_HAN, _HIRAGANA}, {_HAN, _KATAKANA}, {_HAN, _DIGIT}, {_HAN, _HANGUL}, {_DIGIT, _HANGUL}):
        first, second = sorted(native)
        odd[first, second] = odd[second, first] = False
    for lower in range(_ALPHABETS, 14, 2):
        odd[lower + 1, lower] = False  # a capital before a small letter
    return odd.ravel()


SWITCHES = Rule(_may_switch, _switches)
"""Small letters before capitals, digits among letters, scripts in turns: random characters, wrong decodings."""
