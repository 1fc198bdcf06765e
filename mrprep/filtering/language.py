"""Latin text without small words: keyboard mash, random letters, lists of key words; and filler.

The words of a text are looked at only when the very commonest are missing, so running English costs one or two
short searches.
"""

import re

from mrprep.filtering.complaint import Complaint, too_much
from mrprep.filtering.profile import Profile

_COMMON = (" of ", " and ", " to ", " in ", " de ")
_COMMON_EVERY = 300
"""Characters in which running text has at least one of the commonest words; English has seven."""
_ENGLISH = "the of and to in is for on with that be have a"
_ROMANCE = "de la le les et des un une est el los las y en que por con il di che e o os da do em"
_GERMANIC = "der die das und ist ein zu het een van og och att det som er på i"
_OTHERS = "je na se że nie w z v ja on ei és az nem ve bir bu và của là ng yang dan"
_SMALL_WORDS = frozenset(f"{_ENGLISH} {_ROMANCE} {_GERMANIC} {_OTHERS}".split())
_LEAST_SHARE = 0.02
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}|[qwrt]{3}|[sdfghjkl]{4}|[zxcvbnm]{4}")
_LEAST_WORDS = 8
_LEAST_SALAD = 50
_SALAD_OF = 200
_FILLER = "orem ipsum"
_FILLER_EVERY = 1000


def lacks_common_words(profile: Profile) -> bool:
    """Tell whether a text is Latin and has next to none of the commonest English and Romance words."""
    sample = profile.sample
    if profile.latin * 3 < profile.inked * 2 or profile.wide * 20 > profile.inked:
        return False
    if sample.count(" the ") * _COMMON_EVERY >= len(sample):
        return False
    return sum(map(sample.count, _COMMON)) * _COMMON_EVERY < len(sample)


def word_salad(profile: Profile, least: float) -> Complaint | None:
    """Complain about Latin text without small words in which hardly a word comes twice.

    Running text in any language repeats its function words: of 100 words at least 9 stood before in each of over
    100 Latin-script languages, Greenlandic and Siswati the lowest; of 100 key words 3 to 8. The share grows about
    linearly up to 200 words, and so does the threshold ``least``, which is for 100.
    """
    words = _words_if_strange(profile)[:_SALAD_OF]
    wanted = least * len(words) / 100
    repeats = 1 - len(set(words)) / max(1, len(words))
    if len(words) < _LEAST_SALAD or repeats >= wanted:
        return None
    return Complaint("word-salad", f"{repeats:.1%} of {len(words)} words stood before, at least {wanted:.1%} wanted")


def mash(profile: Profile, most: float) -> Complaint | None:
    """Complain about words that nobody can pronounce, in a text without small words."""
    words = [word for word in _words_if_strange(profile) if len(word) > 3]
    if len(words) < _LEAST_WORDS:
        return None
    odd = sum(_CONSONANTS.search(word) is not None for word in words)
    return too_much("mash", "of the words without vowels", odd / len(words), most)


def filler(profile: Profile, most: int) -> Complaint | None:
    """Complain about *lorem ipsum*, the filler of printers, more than ``most`` times in 1,000 characters."""
    count = profile.sample.count(_FILLER)
    if count * _FILLER_EVERY <= most * max(_FILLER_EVERY, len(profile.sample)):
        return None
    return Complaint("filler", f"lorem ipsum {count} times, at most {most} in 1,000 characters wanted")


def _words_if_strange(profile: Profile) -> list[str]:
    small = sum(map(_SMALL_WORDS.__contains__, profile.words))
    return profile.words if small < _LEAST_SHARE * len(profile.words) else []
