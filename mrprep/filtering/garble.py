"""Text that is no longer text: lost characters, wrong decodings, random bytes.

Every rule looks at counts first and at the text itself only when they are odd.
"""

import re

import numpy as np

from mrprep.filtering.batch import Batch, Mask
from mrprep.filtering.classes import Kind, watched
from mrprep.filtering.complaint import Complaint, Rule, too_much
from mrprep.filtering.profile import Profile

_FORGIVEN = 2
"""Lost characters that any text may have: one U+FFFD does not condemn a short document."""
_CONTINUATION = "\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
_MOJIBAKE = re.compile(
    f"[\xc2-\xf4][{_CONTINUATION}]+"  # UTF-8 read as Latin-1 or Windows-1252
    "|[\xa1-\xff]{4,}"  # GBK, Big5 and other double-byte codes read as Latin-1
    "|(?:[РС][^\\sА-Яа-я]){2,}|(?:[РС][^\\s]){6,}"  # UTF-8 Russian read as Windows-1251
    "|锟斤拷"  # U+FFFD twice in UTF-8 read as GBK
)
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


def _may_be_garbled(batch: Batch, _: float) -> Mask:
    return batch.kinds[Kind.GARBAGE] > _FORGIVEN


def _garbled(profile: Profile, most: float) -> Complaint | None:
    lost = profile.kinds[Kind.GARBAGE]
    return too_much("garbled", "lost characters", (lost - _FORGIVEN) / profile.inked, most)


def _may_be_mojibake(batch: Batch, most: float) -> Mask:
    odd = batch.of(Kind.ACCENTED, Kind.ALPHABET) > most / 4 * batch.inked
    return odd | (batch.of(*_FIRST_OF_LOST) > 0)


def _mojibake(profile: Profile, most: float) -> Complaint | None:
    wrong = sum(map(len, _MOJIBAKE.findall(profile.sample)))
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


GARBLED = Rule(_may_be_garbled, _garbled)
"""U+FFFD, private-use, unassigned and control characters beyond the first two."""
MOJIBAKE = Rule(_may_be_mojibake, _mojibake)
"""Stretches that are the usual results of a wrong decoding."""
RARE_CHARACTERS = Rule(_may_be_rare, _rare_characters)
"""Ideographs outside everyday use: UTF-8 read as GBK, random bytes."""
MIXED_SCRIPTS = Rule(_may_be_mixed, _mixed_scripts)
"""More scripts, each with over 5 % of the letters, than a text mixes."""
