"""Latin text without small words: keyboard mash, random letters, lists of key words; and filler.

The words of a text are looked at only when the very commonest are missing, so running English costs one or two
short searches.
"""

import math
import re
from collections import Counter
from itertools import accumulate, islice

import numpy as np
import numpy.typing as npt

from mrprep.filtering.batch import Batch
from mrprep.filtering.classes import Kind
from mrprep.filtering.complaint import Complaint, Rule, too_much
from mrprep.filtering.model import ENGLISH
from mrprep.filtering.profile import Profile, letter_runs
from mrprep.filtering.prose import is_prose
from mrprep.filtering.tally import Mask
from mrprep.filtering.words import (
    known_neighbours,
    letter_odds,
    order_at_a_glance,
    small_share,
    word_order,
    words_of,
)

_COMMON = (" of ", " and ", " to ", " in ", " de ")
_ARTICLE = " the "
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
_LEAST_JUDGED = 25
_LEAST_COUNTED = 50
_ENGLISH_SHARE = 0.03
_SCATTERED = 0.7
_LEAST_SPECKS = 0.015
_TORN = 2
_FULL, _FEW_UNKNOWN = 0.15, 0.12
"""Share of words of three letters and more from which on, if no more of them are unknown, single letters are names
of variables."""
_FILLERS, _PINYIN, _REVERSED = 4.0, 1.2, 12.0
"""What shares are multiplied by: a likeness of 0.8 is 20 % filler, 67 % Pinyin or 7 % small words backwards."""
_TITLES, _TITLED = 0.7, 3
"""Share of words with capitals in lists of titles, and how many times more small words they need."""
_UNKNOWN_SHARE = 0.5
_STUFFED = 0.5
_STUFFED_OF = 500
_WORD_LENGTH = 8
_NO_ORDER, _WELL_ORDERED = 0.15, 0.6
"""Shares of known pairs of words below which text full of digits needs small words too (tables of earnings have 0.25),
and from which on English needs no closer look."""
_MANY_SMALL, _SOME_SMALL, _FEW_SMALL, _MANY_WORDS, _ORDERLY = 0.2, 0.15, 0.04, 100, 1.8
"""Shares of small words of prose, lists and manuals; words from which on order is certain, and how much more it is."""
_MOSTLY_ENGLISH, _FOREIGN_MOST = 0.6, 0.06
"""Share of words in the English vocabulary from which on order is asked, and of small words of others up to which."""
_VARIABLES = 0.22
"""Share of single letters from which on text is mathematics, whose order says nothing."""
_CLEAR = 0.2
"""Order beyond what is asked for that settles the matter by one comparison."""
_FILLER = "orem ipsum"
_FILLER_EVERY = 1000


def _may_be_strange(batch: Batch, _: float) -> Mask:
    return batch.once(_is_strange)


def _is_strange(batch: Batch) -> Mask:
    """Mark Latin texts that have next to none of the commonest English and Romance words."""
    mask = (batch.latin * 3 >= batch.inked * 2) & (batch.wide * 20 <= batch.inked)
    asked = np.flatnonzero(mask & (words_of(batch).articles * _COMMON_EVERY < batch.sizes))
    asked = asked[[not _has_articles(batch.samples[index]) for index in asked.tolist()]]
    mask[:] = False
    mask[asked] = [_lacks_common_words(batch.samples[index]) for index in asked.tolist()]
    return mask


def _has_articles(sample: str) -> bool:
    """Say whether the commonest English word is there as often as in running text; half the text may tell."""
    wanted = len(sample) / _COMMON_EVERY
    return sample.count(_ARTICLE, 0, len(sample) // 2) >= wanted or sample.count(_ARTICLE) >= wanted


def _lacks_common_words(sample: str) -> bool:
    counts = accumulate(map(sample.count, _COMMON))
    return not any(count * _COMMON_EVERY >= len(sample) for count in counts)


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


def _may_be_mash(batch: Batch, most: float) -> Mask:
    mixed = (batch.wide * 20 > batch.inked) & (batch.latin >= batch.wide) & ~batch.once(is_prose)
    return mixed | _may_be_strange(batch, most)


def _mash(profile: Profile, most: float) -> Complaint | None:
    words = [word for word in profile.once(_words_if_strange) if len(word) > 3]
    if len(words) < _LEAST_WORDS:
        return None
    if len(_CONSONANTS.findall("\n".join(words))) <= most * len(words):  # at least one for each odd word
        return None
    odd = sum(_CONSONANTS.search(word) is not None for word in words)
    return too_much("mash", "of the words without vowels", odd / len(words), most)


def _claims_english(batch: Batch) -> Mask:
    words = words_of(batch)
    alone = batch.wide * 50 <= batch.inked
    return alone & (words.judged >= _LEAST_JUDGED) & (words.english_only > _ENGLISH_SHARE * words.count)


def _is_broken(batch: Batch, most: float) -> Mask:
    words = words_of(batch)
    share = words.unknown / np.maximum(words.judged, 1)
    by_chance = share * (1 - share) * words.known_or_unknown
    return _claims_english(batch) & (share > most) & (words.unknown_after_known > _SCATTERED * by_chance)


def _broken(profile: Profile, most: float) -> Complaint | None:
    """Complain about unknown words, unless those of another language stand among them."""
    words = words_of(profile.batch)
    share = float(words.unknown[profile.index] / words.judged[profile.index])
    if share - 2 * small_share(profile.batch, profile.index, foreign=True) <= most:
        return None
    return too_much("broken-words", "of the words in no vocabulary", share, most)


def _is_smudged(batch: Batch, most: float) -> Mask:
    words = words_of(batch)
    specked = words.specks / np.maximum(words.count, 1)
    strewn = (specked > _LEAST_SPECKS) & (specked + words.unknown / np.maximum(words.judged, 1) > most)
    return _claims_english(batch) & (words.count >= _LEAST_COUNTED) & strewn


def _smudged(profile: Profile, most: float) -> Complaint | None:
    words, index = words_of(profile.batch), profile.index
    share = float(words.specks[index] / words.count[index] + words.unknown[index] / words.judged[index])
    return too_much("broken-words", "of the words with specks inside or in no vocabulary", share, most)


def _is_torn(batch: Batch, most: float) -> Mask:
    words = words_of(batch)
    english = words.english_only > _ENGLISH_SHARE / 2 * words.count
    least = np.where(english, most, max(most, min(1, _TORN * most)))
    known = (words.judged > _FULL * words.count) & (words.unknown <= _FEW_UNKNOWN * words.judged)
    torn = (words.count >= _LEAST_COUNTED) & (words.single > least * words.count)
    return torn & ~_is_numeric(batch) & ~known


def _torn(profile: Profile, most: float) -> Complaint | None:
    words = words_of(profile.batch)
    share = float(words.single[profile.index] / words.count[profile.index])
    return too_much("broken-words", "of the words single letters", share, most)


def _is_numeric(batch: Batch) -> Mask:
    return batch.kinds[Kind.DIGIT] * 10 >= batch.inked


def _is_no_language(batch: Batch, most: float) -> Mask:
    return (words_of(batch).count >= _LEAST_JUDGED) & (batch.once(_likeness) > most)


def _likeness(batch: Batch) -> npt.NDArray[np.float64]:
    """Return how much of each text is filler, Pinyin or English spelt backwards, 1 for all of it."""
    words = words_of(batch)
    parts = np.stack([words.filler * _FILLERS, words.pinyin * _PINYIN, words.reversed * _REVERSED])
    return parts.max(axis=0) / np.maximum(words.count, 1)


def _no_language(profile: Profile, most: float) -> Complaint | None:
    share = profile.number(lambda batch: batch.once(_likeness))
    return too_much("filler", "like lorem ipsum, Pinyin or English backwards", share, most)


def _is_unknown(batch: Batch, _: float) -> Mask:
    words = words_of(batch)
    return (words.judged >= _LEAST_JUDGED) & (words.unknown > _UNKNOWN_SHARE * words.judged)


def _gibberish(profile: Profile, least: float) -> Complaint | None:
    odds = letter_odds(profile.sample)
    if odds >= least:
        return None
    return Complaint("gibberish", f"letters with odds of 2^{odds:.1f}, at least 2^{least:g} wanted")


def _has_few_small_words(batch: Batch, least: float) -> Mask:
    words = words_of(batch)
    wanted = least * np.where(words.capital > _TITLES * words.count, _TITLED, 1)
    numeric = _is_numeric(batch) & (batch.once(known_neighbours) > _NO_ORDER)
    return ~numeric & (words.count >= _LEAST_COUNTED) & (words.small < wanted * words.count)


def _few_small_words(profile: Profile, least: float) -> Complaint | None:
    words = words_of(profile.batch)
    titles = words.capital[profile.index] > _TITLES * words.count[profile.index]
    share, least = small_share(profile.batch, profile.index), least * (_TITLED if titles else 1)
    if share >= least:
        return None
    return Complaint("keywords", f"{share:.1%} small words, at least {least:.1%} wanted")


def _may_be_disordered(batch: Batch, least: float) -> Mask:
    words = words_of(batch)
    mostly_words = words.single <= _VARIABLES * words.count
    asked = mostly_words & (batch.wide * 50 <= batch.inked) & (batch.once(known_neighbours) < _WELL_ORDERED)
    asked &= words.tally((words.flags & ENGLISH) > 0) / np.maximum(words.count, 1) >= _MOSTLY_ENGLISH
    return asked & (order_at_a_glance(batch, asked) <= _ORDERLY * least + _CLEAR)


def _disordered(profile: Profile, least: float) -> Complaint | None:
    """Complain about words out of order; the more small words, the more order is expected of English."""
    batch, index, words = profile.batch, profile.index, words_of(profile.batch)
    if small_share(batch, index, foreign=True) > _FOREIGN_MOST:
        return None
    small, count = float(words.small[index] / words.count[index]), int(words.count[index])
    if small >= _MANY_SMALL and count >= _MANY_WORDS:
        least *= _ORDERLY
    elif _FEW_SMALL <= small < _SOME_SMALL:
        least /= 2  # manuals: many names of options
    order = word_order(batch, index)
    if order >= least:
        return None
    return Complaint("disordered", f"{order:.2f} of the order of English, at least {least:.3g} wanted")


def _may_be_stuffed(batch: Batch, _: float) -> Mask:
    return (words_of(batch).count >= _LEAST_COUNTED) & (batch.densities < _STUFFED)


def _stuffed(profile: Profile, most: float) -> Complaint | None:
    head = letter_runs(profile.sample[: _STUFFED_OF * _WORD_LENGTH])[:_STUFFED_OF]
    words = [word for word in head if len(word) > 3 and word not in _SMALL_WORDS]
    if not words:
        return None
    word, count = Counter(words).most_common(1)[0]
    share = count / len(head)
    return too_much("stuffed", f"of the words are {word!r}", share, most)


def _has_filler(batch: Batch, _: float) -> Mask:
    return (batch.latin > batch.wide) & batch.containing(_FILLER)


def _filler(profile: Profile, most: float) -> Complaint | None:
    count = profile.sample.count(_FILLER)
    if count * _FILLER_EVERY <= most * max(_FILLER_EVERY, len(profile.sample)):
        return None
    return Complaint("filler", f"lorem ipsum {count} times, at most {most:g} in 1,000 characters wanted")


def _words_if_strange(profile: Profile) -> list[str]:
    few = math.ceil(_LEAST_SHARE * len(profile.words))
    small = len(list(islice(filter(_SMALL_WORDS.__contains__, profile.words), few)))
    return profile.words if small < few else []


BROKEN_WORDS = Rule(_is_broken, _broken)
"""English with words that are in no vocabulary strewn over it: bad character recognition, shuffled letters."""
SMUDGED = Rule(_is_smudged, _smudged)
"""English with digits and stray marks inside its words: character recognition that got some words wrong."""
TORN_WORDS = Rule(_is_torn, _torn)
"""Words that fell into letters; languages other than English may have twice as many."""
NO_LANGUAGE = Rule(_is_no_language, _no_language)
"""Words of *lorem ipsum*, Pinyin without tones, English spelt backwards."""
GIBBERISH = Rule(_is_unknown, _gibberish)
"""Text of unknown words whose letters follow each other as in no language."""
FEW_SMALL_WORDS = Rule(_has_few_small_words, _few_small_words)
"""Lists of key words: hardly any small words of any one of 160 languages."""
DISORDERED = Rule(_may_be_disordered, _disordered)
"""English words in an order that is not English: shuffled words, lists of words, clouds of tags."""
STUFFED = Rule(_may_be_stuffed, _stuffed)
"""One word that carries meaning far too often."""
WORD_SALAD = Rule(_may_be_strange, _word_salad)
"""Latin text without small words in which hardly a word comes twice."""
MASH = Rule(_may_be_mash, _mash)
"""Words that nobody can pronounce, in a text without small words."""
FILLER = Rule(_has_filler, _filler)
"""*Lorem ipsum*, the filler of printers, more often in 1,000 characters than wanted."""
