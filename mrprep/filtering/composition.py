"""What a text is made of: symbols, digits, code for machines, mark-up, words that never end."""

import re

from mrprep.filtering.classes import Kind
from mrprep.filtering.complaint import Complaint, too_much
from mrprep.filtering.profile import Profile

_LONG_TOKEN = 40
_SPACED = 0.1
"""Share of white space below which Latin text is worth a look for long tokens; prose has 0.18."""
_CODE_MARKS = dict.fromkeys(map(ord, "+/-_="))
_HEX_LENGTHS = (2, 4, 8)
_MARKUP = re.compile(r"</?[a-zA-Z!][^<>]{0,300}>|&(?:[a-zA-Z]{2,8}|#\d{1,6});")
_LEAST_LATIN = 60


def symbols(profile: Profile, most: float) -> Complaint | None:
    """Complain about punctuation and symbols."""
    count = profile.kinds[Kind.PUNCTUATION] + profile.kinds[Kind.SYMBOL]
    return too_much("symbols", "symbols and punctuation", count / max(1, profile.inked), most)


def digits(profile: Profile, most: float) -> Complaint | None:
    """Complain about digits."""
    return too_much("digits", "digits", profile.kinds[Kind.DIGIT] / max(1, profile.inked), most)


def encoded(profile: Profile, most: float) -> Complaint | None:
    """Complain about base64, hashes and hex dumps: tokens of 40 characters that mix letters and digits."""
    kinds = profile.kinds
    dense = kinds[Kind.SPACE] < _SPACED * len(profile.sample)
    numeric = kinds[Kind.DIGIT] > most * 0.8 * profile.inked
    if profile.wide > profile.latin or not (dense or numeric):
        return None
    tokens = profile.sample.split()
    count = sum([len(token) for token in tokens if len(token) >= _LONG_TOKEN and _is_code(token)])
    count += sum([len(token) for token in tokens if len(token) in _HEX_LENGTHS and _is_hex(token)])
    return too_much("encoded", "encoded data", count / max(1, profile.inked), most)


def _is_code(token: str) -> bool:
    plain = token.strip("\"',;").translate(_CODE_MARKS)
    return plain.isascii() and plain.isalnum() and not plain.isalpha() and not plain.isdigit()


def _is_hex(token: str) -> bool:
    return not token.strip("0123456789abcdefABCDEF") and not token.isdigit()


def long_words(profile: Profile, most: float) -> Complaint | None:
    """Complain about Latin text whose words are on average longer than ``most`` characters."""
    if profile.latin < _LEAST_LATIN or profile.latin * 2 < profile.inked or profile.wide * 20 > profile.inked:
        return None
    length = profile.inked / (profile.kinds[Kind.SPACE] + 1)
    if length <= most:
        return None
    return Complaint("long-words", f"words of {length:.1f} characters on average, at most {most:g} wanted")


def markup(profile: Profile, most: float) -> Complaint | None:
    """Complain about HTML tags and entities, counted in characters."""
    sample = profile.sample
    if (sample.count("<") + sample.count("&")) * 50 < len(sample):
        return None
    count = sum(len(match[0]) for match in _MARKUP.finditer(sample))
    return too_much("markup", "mark-up", count / max(1, len(sample)), most)
