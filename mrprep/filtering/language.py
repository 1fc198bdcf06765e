"""Latin text without the small words of any language: keyboard mash, random letters, key words, filler.

The words of a text are looked at only when none of the commonest small words is found, so running text costs
one short search.
"""

import re

from mrprep.filtering.complaint import Complaint, too_much
from mrprep.filtering.profile import Profile

_COMMON = (" the ", " of ", " and ", " to ", " de ")
_ENGLISH = "the of and to in is for on with that be have a"
_ROMANCE = "de la le les et des un une est el los las y en que por con il di che e o os da do em"
_GERMANIC = "der die das und ist ein zu het een van og och att det som er på i"
_OTHERS = "je na se że nie w z v ja on ei és az nem ve bir bu và của là ng yang dan"
_SMALL_WORDS = frozenset(f"{_ENGLISH} {_ROMANCE} {_GERMANIC} {_OTHERS}".split())
_LEAST_SHARE = 0.02
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}|[qwrt]{3}|[sdfghjkl]{4}|[zxcvbnm]{4}")
_LEAST_WORDS = 8
_LOREM_EVERY = 1000


def no_small_words(profile: Profile, least: int) -> Complaint | None:
    """Complain about Latin text of ``least`` words and more in which small words are under 2 %."""
    words = _words_if_strange(profile)
    if len(words) < max(1, least):
        return None
    return Complaint("no-small-words", f"hardly a small word among {len(words)}, at least 2.0% wanted")


def mash(profile: Profile, most: float) -> Complaint | None:
    """Complain about Latin words that nobody can pronounce, in text without small words."""
    words = [word for word in _words_if_strange(profile) if len(word) > 3]
    if len(words) < _LEAST_WORDS:
        return None
    odd = sum(_CONSONANTS.search(word) is not None for word in words)
    return too_much("mash", "of the words without vowels", odd / len(words), most)


def _words_if_strange(profile: Profile) -> list[str]:
    """Return the words in lower case if the text is Latin and small words are too few, else nothing."""
    if profile.latin * 3 < profile.inked * 2 or any(word in profile.sample for word in _COMMON):
        return []
    words = [word for word in profile.sample.lower().split() if word.isalpha()]
    small = sum(map(_SMALL_WORDS.__contains__, words))
    return words if small < _LEAST_SHARE * len(words) else []


def filler(profile: Profile, most: int) -> Complaint | None:
    """Complain about *lorem ipsum*, the filler of printers, more than ``most`` times in 1,000 characters."""
    count = profile.sample.count("orem ipsum")
    if count * _LOREM_EVERY <= most * max(_LOREM_EVERY, len(profile.sample)):
        return None
    return Complaint("filler", f"lorem ipsum {count} times, at most {most} in 1,000 characters wanted")
