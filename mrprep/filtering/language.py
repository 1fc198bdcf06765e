"""Latin text without small words: keyboard mash, random letters, lists of key words; and filler.

The words of a text are looked at only when the very commonest are missing, so running English costs one or two
short searches.
"""

import re

import numpy as np

from mrprep.filtering.batch import Batch, Mask
from mrprep.filtering.complaint import Complaint, Rule, too_much
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


def _may_be_strange(batch: Batch, _: float) -> Mask:
    return batch.once(_is_strange)


def _is_strange(batch: Batch) -> Mask:
    """Mark Latin texts that have next to none of the commonest English and Romance words."""
    mask = (batch.latin * 3 >= batch.inked * 2) & (batch.wide * 20 <= batch.inked)
    asked = np.flatnonzero(mask)
    articles = np.array([batch.samples[index].count(" the ") for index in asked.tolist()], np.int64)
    asked = asked[articles * _COMMON_EVERY < batch.sizes[asked]]
    mask[:] = False
    mask[asked] = [_lacks_common_words(batch.samples[index]) for index in asked.tolist()]
    return mask


def _lacks_common_words(sample: str) -> bool:
    return sum(map(sample.count, _COMMON)) * _COMMON_EVERY < len(sample)


def _word_salad(profile: Profile, least: float) -> Complaint | None:
    """Complain about Latin text without small words in which hardly a word comes twice.

    Running text in any language repeats its function words: of 100 words at least 9 stood before in each of over
    100 Latin-script languages, Greenlandic and Siswati the lowest; of 100 key words 3 to 8. The share grows about
    linearly up to 200 words, and so does the threshold ``least``, which is for 100.
    """
    words = profile.once(_words_if_strange)[:_SALAD_OF]
    wanted = least * len(words) / 100
    repeats = 1 - len(set(words)) / max(1, len(words))
    if len(words) < _LEAST_SALAD or repeats >= wanted:
        return None
    return Complaint("word-salad", f"{repeats:.1%} of {len(words)} words stood before, at least {wanted:.1%} wanted")


def _mash(profile: Profile, most: float) -> Complaint | None:
    words = [word for word in profile.once(_words_if_strange) if len(word) > 3]
    if len(words) < _LEAST_WORDS:
        return None
    if len(_CONSONANTS.findall("\n".join(words))) <= most * len(words):  # at least one for each odd word
        return None
    odd = sum(_CONSONANTS.search(word) is not None for word in words)
    return too_much("mash", "of the words without vowels", odd / len(words), most)


def _has_filler(batch: Batch, _: float) -> Mask:
    return (batch.latin > batch.wide) & batch.containing(_FILLER)


def _filler(profile: Profile, most: float) -> Complaint | None:
    count = profile.sample.count(_FILLER)
    if count * _FILLER_EVERY <= most * max(_FILLER_EVERY, len(profile.sample)):
        return None
    return Complaint("filler", f"lorem ipsum {count} times, at most {most:g} in 1,000 characters wanted")


def _words_if_strange(profile: Profile) -> list[str]:
    small = sum(map(_SMALL_WORDS.__contains__, profile.words))
    return profile.words if small < _LEAST_SHARE * len(profile.words) else []


WORD_SALAD = Rule(_may_be_strange, _word_salad)
"""Latin text without small words in which hardly a word comes twice."""
MASH = Rule(_may_be_strange, _mash)
"""Words that nobody can pronounce, in a text without small words."""
FILLER = Rule(_has_filler, _filler)
"""*Lorem ipsum*, the filler of printers, more often in 1,000 characters than wanted."""
