"""What a text is made of: symbols, digits, code for machines, mark-up, words that never end."""

import re
from collections import Counter

from mrprep.filtering.batch import Batch
from mrprep.filtering.classes import Kind, watched
from mrprep.filtering.complaint import Complaint, Rule, too_much
from mrprep.filtering.profile import Profile
from mrprep.filtering.tally import Mask

_STREWN = 0.15
_LONG_TOKEN = 40
_SPACED = 0.1
"""Share of white space below which Latin text is worth a look for long tokens; prose has 0.18."""
_CODE_MARKS = dict.fromkeys(map(ord, "+/-_="))
_HEX = re.compile(
    r"(?=.{2,11}\Z)(?:0x|(?=\d*[a-fA-F]))[\da-fA-F]{2}(?:[\da-fA-F]{2}(?:[\da-fA-F]{4})?)?[,;}]*\Z", re.ASCII
)
"""Two, four or eight hexadecimal digits and nothing else, with 0x or a letter among them."""
_VARIED, _LEAST_DENSE = 20, 4
_ADDRESS = re.compile(r"://|\w/\w+/\w")
_MARKUP = re.compile(r"</?[a-zA-Z!][^<>]{0,300}>|&(?:[a-zA-Z]{2,8}|#\d{1,6});")
_TAG_MARKS = watched("<&")
_LEAST_LATIN = 60


def _may_have_symbols(batch: Batch, most: float) -> Mask:
    return batch.of(Kind.PUNCTUATION, Kind.SYMBOL, Kind.RARE) > most * batch.inked - 1


def _symbols(profile: Profile, most: float) -> Complaint | None:
    symbols = profile.kinds[Kind.SYMBOL]
    count = profile.kinds[Kind.PUNCTUATION] + symbols
    if symbols > _STREWN * profile.inked:  # letters among symbols are symbols too
        count += profile.kinds[Kind.RARE]
    return too_much("symbols", "symbols and punctuation", count / max(1, profile.inked), most)


def _may_have_digits(batch: Batch, most: float) -> Mask:
    return batch.kinds[Kind.DIGIT] > most * batch.inked - 1


def _digits(profile: Profile, most: float) -> Complaint | None:
    return too_much("digits", "digits", profile.kinds[Kind.DIGIT] / max(1, profile.inked), most)


def _may_be_encoded(batch: Batch, most: float) -> Mask:
    dense = batch.kinds[Kind.SPACE] < _SPACED * batch.sizes
    numeric = batch.kinds[Kind.DIGIT] > most * 0.8 * batch.inked
    return (batch.latin > batch.wide) & (dense | numeric)


def _encoded(profile: Profile, most: float) -> Complaint | None:
    tokens = profile.sample.split()
    count = sum(len(token) for token in tokens if len(token) >= _LONG_TOKEN and _is_code(token))
    count += sum(map(len, filter(_HEX.match, tokens)))
    count = max(count, _in_dense_lines(profile.sample))
    return too_much("encoded", "encoded data", count / max(1, profile.inked), most)


def _is_code(token: str) -> bool:
    plain = token.strip("\"',;").translate(_CODE_MARKS)
    return plain.isascii() and plain.isalnum() and not plain.isalpha() and not plain.isdigit()


def _in_dense_lines(sample: str) -> int:
    """Return the characters of lines of one length, of ASCII next to without blanks, of many kinds: uuencode."""
    lines = [line.strip() for line in sample.split("\n")]
    dense = [line for line in lines if len(line) >= _LONG_TOKEN and line.isascii() and line.count(" ") * 16 < len(line)]
    random = Counter(len(line) for line in dense if _looks_random(line))
    return max((length * count for length, count in random.items() if count >= _LEAST_DENSE), default=0)


def _looks_random(line: str) -> bool:
    others = sum(not char.isalpha() for char in line)
    return len(set(line)) >= _VARIED and others * 5 >= len(line) and not _ADDRESS.search(line)


def _may_have_long_words(batch: Batch, most: float) -> Mask:
    latin = (batch.latin >= _LEAST_LATIN) & (batch.latin * 2 >= batch.inked) & (batch.wide * 20 <= batch.inked)
    return latin & (batch.latin > batch.wide) & (batch.inked / (batch.kinds[Kind.SPACE] + 1) > most)


def _long_words(profile: Profile, most: float) -> Complaint:
    length = profile.inked / (profile.kinds[Kind.SPACE] + 1)
    return Complaint("long-words", f"words of {length:.1f} characters on average, at most {most:g} wanted")


def _may_be_markup(batch: Batch, _: float) -> Mask:
    return batch.of(*_TAG_MARKS) * 50 >= batch.sizes


def _markup(profile: Profile, most: float) -> Complaint | None:
    sample = profile.sample
    count = sum(len(match[0]) for match in _MARKUP.finditer(sample))
    return too_much("markup", "mark-up", count / max(1, len(sample)), most)


SYMBOLS = Rule(_may_have_symbols, _symbols)
"""Punctuation and symbols."""
DIGITS = Rule(_may_have_digits, _digits)
"""Digits."""
ENCODED = Rule(_may_be_encoded, _encoded)
"""Base64, hashes and hex dumps in Latin text: tokens of 40 characters that mix letters and digits."""
LONG_WORDS = Rule(_may_have_long_words, _long_words)
"""Latin text whose words are on average longer than wanted."""
MARKUP = Rule(_may_be_markup, _markup)
"""HTML tags and entities, counted in characters."""
