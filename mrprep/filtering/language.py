"""Latin text without the small words of any language: keyboard mash, random letters, key words, filler.

The words of a text are looked at only when none of the commonest small words is found, so running text costs
one short search.
"""

import re

from mrprep.filtering.classes import Kind
from mrprep.filtering.complaint import Complaint, too_much
from mrprep.filtering.profile import Profile

_COMMON = (" the ", " of ", " and ", " to ", " de ", " la ", " der ", " die ", " que ", " en ")
_SMALL_WORDS = re.compile(
    r"\b(?:the|of|and|to|in|is|for|on|with|that|be|have|a"  # English
    r"|de|la|le|les|et|des|un|une|est|el|los|las|y|en|que|por|con|il|di|che|e|o|os|da|do|em"  # Romance
    r"|der|die|das|und|ist|ein|zu|het|een|van|og|och|att|det|som|er|på|i"  # Germanic
    r"|je|na|se|że|nie|w|z|v|a|ja|on|ei|és|az|nem|ve|bir|bu|và|của|là|ng|yang|dan|di)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5,}|(?:[qwrt]{3}|[sdfghjkl]{4}|[zxcvbnm]{4})", re.IGNORECASE)
_LEAST_WORDS = 8
_LOREM = re.compile("lorem ipsum", re.IGNORECASE)
_LOREM_EVERY = 1000


def no_small_words(profile: Profile, least: int) -> Complaint | None:
    """Complain about Latin text of ``least`` words and more in which small words are under 2 %."""
    if not _is_latin(profile) or any(word in profile.sample for word in _COMMON):
        return None
    words = len(_WORD.findall(profile.sample))
    small = len(_SMALL_WORDS.findall(profile.sample))
    if words < least or small * 50 >= words:
        return None
    return Complaint("no-small-words", f"{small} small words among {words}, at least 2.0% wanted")


def mash(profile: Profile, most: float) -> Complaint | None:
    """Complain about Latin words that nobody can pronounce; looks at text without common small words only."""
    if not _is_latin(profile) or any(word in profile.sample for word in _COMMON):
        return None
    words = [word for word in _WORD.findall(profile.sample) if len(word) > 3 and not word.isupper()]
    if len(words) < _LEAST_WORDS:
        return None
    odd = sum(_CONSONANTS.search(word) is not None for word in words)
    return too_much("mash", "of the words without vowels", odd / len(words), most)


def filler(profile: Profile, most: int) -> Complaint | None:
    """Complain about *lorem ipsum*, the filler of printers, more than ``most`` times in 1,000 characters."""
    if "orem ipsum" not in profile.sample and "OREM IPSUM" not in profile.sample:
        return None
    count = len(_LOREM.findall(profile.sample))
    if count * _LOREM_EVERY <= most * max(_LOREM_EVERY, len(profile.sample)):
        return None
    return Complaint("filler", f"lorem ipsum {count} times, at most {most} in 1,000 characters wanted")


def _is_latin(profile: Profile) -> bool:
    return profile.latin * 3 > profile.inked * 2 and profile.kinds[Kind.SPACE] > 0
