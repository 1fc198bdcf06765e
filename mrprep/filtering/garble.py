"""Text that is no longer text: lost characters, wrong decodings, random bytes.

Every rule looks at counts first and at the text itself only when they are odd.
"""

import re

from mrprep.filtering.classes import Kind
from mrprep.filtering.complaint import Complaint, too_much
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


def garbled(profile: Profile, most: float) -> Complaint | None:
    """Complain about U+FFFD, private-use, unassigned and control characters beyond the first two."""
    lost = profile.kinds[Kind.GARBAGE]
    if lost <= _FORGIVEN:
        return None
    return too_much("garbled", "lost characters", (lost - _FORGIVEN) / profile.inked, most)


def mojibake(profile: Profile, most: float) -> Complaint | None:
    """Complain about stretches that are the usual results of a wrong decoding."""
    if profile.sample.isascii():
        return None
    kinds = profile.kinds
    odd = kinds[Kind.ACCENTED] + kinds[Kind.ALPHABET] > most / 4 * profile.inked
    if not odd and "锟斤拷" not in profile.sample:
        return None
    wrong = sum(map(len, _MOJIBAKE.findall(profile.sample)))
    return too_much("mojibake", "wrongly decoded characters", wrong / max(1, profile.inked), most)


def rare_characters(profile: Profile, most: float) -> Complaint | None:
    """Complain about ideographs outside everyday use: UTF-8 read as GBK, random bytes."""
    rare = profile.kinds[Kind.RARE_HAN]
    han = rare + profile.kinds[Kind.HAN]
    if han < _LEAST_HAN:
        return None
    return too_much("rare-characters", "of the ideographs rare", rare / han, most)


def mixed_scripts(profile: Profile, most: int) -> Complaint | None:
    """Complain about more scripts, each with over 5 % of the letters, than a text mixes."""
    if max(profile.latin, profile.wide) > (1 - _SCRIPT_SHARE * most) * profile.inked:
        return None
    counts = [sum(profile.kinds[kind] for kind in script) for script in _SCRIPTS]
    letters = sum(counts)
    scripts = sum(count > _SCRIPT_SHARE * letters for count in counts)
    if scripts <= most or letters < 50:
        return None
    return Complaint("mixed-scripts", f"{scripts} scripts, at most {most} wanted")
