"""Text that is no longer text: lost characters, wrong decodings, random bytes.

Every rule looks at counts first and at the text itself only when they are odd.
"""

import re
from collections import Counter

import numpy as np

from mrprep.filtering.batch import Batch
from mrprep.filtering.classes import Kind, watched
from mrprep.filtering.complaint import Complaint, Rule, too_much
from mrprep.filtering.profile import Profile
from mrprep.filtering.tally import Mask

_FORGIVEN = 2
"""Lost characters that any text may have: one U+FFFD does not condemn a short document."""
_BOXES = watched("□■▯▪▫")
_BOXED = re.compile(r"(?<=[^\W\d_])[□■▯▪▫]+(?=[^\W\d_])|(?<=[^\W\d_])[□■▯]|[□■▯]{2}(?=[^\W\d_])")
_STACKED_MARKS = re.compile("[\u0300-\u036f]{3,}")
_CONTINUATION = "\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
_MOJIBAKE = re.compile(
    f"[\xc2-\xf4][{_CONTINUATION}]+"  # UTF-8 read as Latin-1 or Windows-1252
    "|[\xa1-\xff]{4,}"  # GBK, Big5 and other double-byte codes read as Latin-1
    "|(?:[РС][^\\sА-Яа-я]){2,}|(?:[РС][^\\s]){6,}"  # UTF-8 Russian read as Windows-1251
    "|锟斤拷"  # U+FFFD twice in UTF-8 read as GBK
)
_INVERTED, _UPRIGHT = re.compile(r"\b[а-я][А-Я]{2,}\b"), re.compile(r"\b[А-Яа-я][а-я]{2,}\b")
_LEAST_INVERTED = 3
_FIRST_OF_LOST = watched("锟")
_SCRIPTS = (
    (Kind.LATIN, Kind.ACCENTED),
    (Kind.ALPHABET,),
    (Kind.RIGHT_TO_LEFT,),
    (Kind.INDIC,),
    (Kind.STACKED,),
    (Kind.HAN, Kind.RARE_HAN, Kind.KANA),
    (Kind.HANGUL,),
)
_SCRIPT_SHARE = 0.05
_LEAST_HAN = 20
_QUOTING = 0.75
"""Share of Latin letters in a text that quotes its ideographs, rare or not."""
_LEAST_LETTERS = 50
_FEW_LETTERS, _ALPHABETIC = (Kind.ALPHABET, Kind.RIGHT_TO_LEFT), re.compile("[\u0370-\u052f\u05d0-\u05ea\u0620-\u06ff]")
_LEAST_FLAT, _FLAT_OF = 150, 2000


def _may_be_garbled(batch: Batch, _: float) -> Mask:
    boxes, marks = batch.of(*_BOXES) > _FORGIVEN, batch.kinds[Kind.ACCENTED] * 4 > batch.inked
    return (batch.kinds[Kind.GARBAGE] > _FORGIVEN) | boxes | marks


def _garbled(profile: Profile, most: float) -> Complaint | None:
    lost = profile.kinds[Kind.GARBAGE]
    if any(profile.kinds[box] for box in _BOXES):
        lost += len(_BOXED.findall(profile.sample))
    if profile.kinds[Kind.ACCENTED]:
        lost += sum(map(len, _STACKED_MARKS.findall(profile.sample)))
    return too_much("garbled", "lost characters", (lost - _FORGIVEN) / profile.inked, most)


def _may_be_mojibake(batch: Batch, most: float) -> Mask:
    odd = batch.of(Kind.ACCENTED, Kind.ALPHABET) > most / 4 * batch.inked
    return odd | (batch.of(*_FIRST_OF_LOST) > 0)


def _mojibake(profile: Profile, most: float) -> Complaint | None:
    wrong = sum(map(len, _MOJIBAKE.findall(profile.sample)))
    upside_down = len(_INVERTED.findall(profile.sample))
    if upside_down >= _LEAST_INVERTED and upside_down > len(_UPRIGHT.findall(profile.sample)):
        wrong = profile.inked  # KOI8 read as Windows-1251
    return too_much("mojibake", "wrongly decoded characters", wrong / max(1, profile.inked), most)


def _may_be_rare(batch: Batch, most: float) -> Mask:
    han = batch.of(Kind.RARE_HAN, Kind.HAN)
    quoted = batch.kinds[Kind.LATIN] > _QUOTING * batch.inked
    return ~quoted & (han >= _LEAST_HAN) & (batch.kinds[Kind.RARE_HAN] > most * han - 1)


def _rare_characters(profile: Profile, most: float) -> Complaint | None:
    rare = profile.kinds[Kind.RARE_HAN]
    han = rare + profile.kinds[Kind.HAN]
    return too_much("rare-characters", "of the ideographs rare", rare / han, most)


def _may_be_mixed(batch: Batch, most: float) -> Mask:
    counts = np.stack([batch.of(*script) for script in _SCRIPTS])
    letters = counts.sum(axis=0)
    return ((counts > _SCRIPT_SHARE * letters).sum(axis=0) > most) & (letters >= _LEAST_LETTERS)


def _mixed_scripts(profile: Profile, most: float) -> Complaint:
    counts = [sum(profile.kinds[kind] for kind in script) for script in _SCRIPTS]
    scripts = sum(count > _SCRIPT_SHARE * sum(counts) for count in counts)
    return Complaint("mixed-scripts", f"{scripts} scripts, at most {most:g} wanted")


def _may_be_flat(batch: Batch, _: float) -> Mask:
    return batch.of(*_FEW_LETTERS) >= np.maximum(_LEAST_FLAT, batch.inked // 2)


def _flat(profile: Profile, least: float) -> Complaint | None:
    counts = np.array(list(Counter(_ALPHABETIC.findall(profile.sample[:_FLAT_OF].lower())).values()))
    letters = int(counts.sum())
    if letters < _LEAST_FLAT:
        return None
    evenness = float((counts**2).sum()) / letters**2
    if evenness >= least:
        return None
    return Complaint("gibberish", f"two letters are the same by {evenness:.3f}, at least {least:g} wanted")


GARBLED = Rule(_may_be_garbled, _garbled)
"""U+FFFD, private-use, unassigned and control characters beyond the first two."""
MOJIBAKE = Rule(_may_be_mojibake, _mojibake)
"""Stretches that are the usual results of a wrong decoding."""
RARE_CHARACTERS = Rule(_may_be_rare, _rare_characters)
"""Ideographs outside everyday use: UTF-8 read as GBK, random bytes."""
MIXED_SCRIPTS = Rule(_may_be_mixed, _mixed_scripts)
"""More scripts, each with over 5 % of the letters, than a text mixes."""
FLAT = Rule(_may_be_flat, _flat)
"""Greek, Cyrillic, Hebrew or Arabic letters that are all as frequent (Friedman's index of coincidence, 1922)."""
