"""Characters that change their kind inside words, as no script does: mixed cases, digits, alphabets."""

from functools import cache

import numpy as np
import numpy.typing as npt

from mrprep.filtering.batch import Batch
from mrprep.filtering.classes import Kind
from mrprep.filtering.complaint import Complaint, Rule, too_much
from mrprep.filtering.profile import Profile
from mrprep.filtering.prose import is_prose
from mrprep.filtering.tally import Mask, Tally

_CHARACTERS, _LEAST_PAIRS = 1500, 100
_LEAST_OTHERS = 11
"""Characters other than ideographs that text must have: each is in two pairs at most."""
_OTHER, _DIGIT, _HAN, _HIRAGANA, _KATAKANA, _HANGUL, _ALPHABETS = 0, 1, 2, 3, 4, 5, 6
_HANGUL_RARE = 0.25


def _is_switching(batch: Batch, most: float) -> Mask:
    return batch.once(_shares) > most


def _shares(batch: Batch) -> npt.NDArray[np.float64]:
    """Return the share of odd neighbours in the first `_CHARACTERS` of each text; 0 for prose and what is short."""
    texts, kinds = len(batch.texts), batch.kinds
    mixed = kinds[Kind.HAN] + kinds[Kind.RARE_HAN] <= batch.inked - _LEAST_OTHERS
    asked = np.flatnonzero((batch.inked >= _LEAST_PAIRS) & mixed & ~batch.once(is_prose))
    samples = [batch.samples[index][:_CHARACTERS] for index in asked.tolist()]
    codes = np.frombuffer("\n".join([*samples, ""]).encode("utf-32-le", "surrogatepass"), np.uint32)
    table = _table().take(np.minimum(codes, 0xFFFF))
    neighbours = (table[:-1].astype(np.uint16) << np.uint16(8)) | table[1:]
    tally = Tally(asked, np.fromiter(map(len, samples), np.int64, len(samples)) + 1, texts)
    pairs, odd = tally((table[:-1] > 0) & (table[1:] > 0)), tally(_odd().take(neighbours))
    return np.where(pairs >= _LEAST_PAIRS, odd / np.maximum(pairs, 1), 0)


def _switches(profile: Profile, most: float) -> Complaint | None:
    share = profile.number(lambda batch: batch.once(_shares))
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


SWITCHES = Rule(_is_switching, _switches)
"""Small letters before capitals, digits among letters, scripts in turns: random characters, wrong decodings."""
