"""Tells legacy encodings apart, and says so when it cannot: a wrong guess is worse than none.

Text in Latin letters goes by alphabets: an encoding fits if the letters of one language cover what it makes
of the bytes, and it is sure if all encodings that fit make the same text of them. For other scripts chardet,
which knows languages by their letter pairs, proposes; what it proposes must then look like text of its
script. Figures and the comparison with other detectors: tests/test_sources_encoding.py.
"""

import codecs
import re
from collections import Counter
from dataclasses import dataclass

_LOOK = 200_000
"""Bytes of a sample that are decoded for a look."""
_LEAST_CONFIDENCE = 0.25
"""Of chardet, whose figures are low by nature: 0.4 to 1 where it is right, under 0.15 where it guesses."""


@dataclass(frozen=True, slots=True)
class _Language:
    """The letters beyond ASCII of a language that is written in Latin letters."""

    encodings: tuple[str, ...]
    letters: str
    core: str = ""
    """Of these, those that tell it from others: two of them occur, and are a twentieth of its letters."""


_WEST, _CENTRE = ("cp1252",), ("cp1250", "iso8859-2")
_LANGUAGES = (
    _Language(_WEST, "àáâäåèéêëìíîïòóôöùúûüñçœæß"),  # Romance, German, Dutch, and most others
    _Language(_WEST, "áâãàçéêíóôõúü"),  # Portuguese
    _Language(_WEST, "åäöæøéèêóòôüà"),  # Nordic
    _Language(_WEST, "áéíóúýþæöð"),  # Icelandic
    _Language(_WEST, "õäöüšž", "õäöü"),  # Estonian
    _Language(_CENTRE, "ąćęłńóśźż", "ąęłśż"),  # Polish
    _Language(_CENTRE, "áčďéěíňóřšťúůýžöü", "ěřůčšž"),  # Czech
    _Language(_CENTRE, "áäčďéíĺľňóôŕšťúýžöü", "čšžťľ"),  # Slovak
    _Language(_CENTRE, "áéíóöőúüűä", "őű"),  # Hungarian
    _Language(_CENTRE, "čćđšžäöü", "čćđšž"),  # Croatian, Bosnian, Serbian, Slovene
    _Language(_CENTRE, "ăâîşţé", "ăşţ"),  # Romanian
    _Language(("cp1257",), "ąčęėįšųūžé", "ąčęėįšųūž"),  # Lithuanian
    _Language(("cp1257",), "āčēģīķļņōŗšūž", "āēīļņšž"),  # Latvian
    _Language(("cp1254",), "çğıiöşüâîû", "ğış"),  # Turkish
)
_LATIN_ENCODINGS = ("cp1252", "cp1250", "iso8859-2", "cp1257", "cp1254")

_MARKS = "\xa0¡¢£¤¥¦§©«¬\xad®°±²³´¶·¸¹»¼½¾¿ªº×÷€‚„…†‡‰‹›‘’“”•–—™"
_HAN = "\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0003ffff"
_CJK = _HAN + "\u2010-\u266f\u3000-\u303f\u3200-\u33ff\uff01-\uffef·×÷°±§¨Α-ωА-я"
_JOINING = "\xa0\xad’‘´·"
"""Of the marks, those that may stand inside a word."""
_BEYOND = re.compile(r"[^\0-\x7f]")
_INSIDE = re.compile(rf"(?<=[^\W\d_])[{re.sub(f'[{_JOINING}]', '', _MARKS)}](?=[^\W\d_])")
_ODD_MARKS = re.compile(r"[¡-¿]{2}|¡[A-Z]\b|[^\W\d_][¡¢£¤¥¿‚„†‡‰]")
_AFTER = re.compile(r"[^\W\d_][ª°±²³´µ¶¹º¼½¾¬¦§]")
"""What may follow a word now and then, but not often."""
_ALONE = re.compile(r"(?<!\w)(?![àáâäåéèêëíìîóòôöúùûüæø])[^\W\d_a-zA-Z](?!\w)")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r\x1b"))


@dataclass(frozen=True, slots=True)
class _Script:
    """What text in encodings of another script consists of, beyond ASCII."""

    encodings: tuple[str, ...]
    letters: str
    """Class of the letters by which it is known."""
    share: float
    """At least so much of all are such letters."""
    others: str = _MARKS
    """Class of what else may come."""
    alphabetic: bool = True
    """Whether its words are of its own letters alone, none of them more than a quarter of a text."""


_EAST_SLAVIC = frozenset("абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґў")
_SOUTH_SLAVIC = frozenset("абвгдежзиклмнопрстуфхцчшђѓѕјљњћќџ")
_GREEK_SIGMA = re.compile("ς(?=[\u0386-\u03ce])|σ(?![\u0386-\u03ce’΄'])")
"""A final sigma inside a word, or the other one at its end: the letters of another encoding."""

_SCRIPTS = (
    _Script(("cp1251", "koi8-r", "koi8-u", "iso8859-5", "cp866"), "\u0401-\u045f\u0490\u0491", 0.9, _MARKS + "№"),
    _Script(("cp1253", "iso8859-7"), "\u0386-\u03ce", 0.9, _MARKS + "΄΅―"),
    _Script(("cp1255", "iso8859-8"), "\u05d0-\u05ea", 0.8, _MARKS + "\u05b0-\u05c3₪\u200e\u200f"),
    _Script(("cp1256", "iso8859-6"), "\u0621-\u0652\u067e-\u06af", 0.9, _MARKS + "،؛؟\u200c-\u200f"),
    _Script(("cp874",), "\u0e01-\u0e5b", 0.9, alphabetic=False),
    _Script(("gb18030", "big5hkscs"), "\u4e00-\u9fff", 0.6, _CJK, alphabetic=False),
    _Script(("cp932", "euc_jis_2004"), "\u3041-\u30fe", 0.15, _CJK + "\uff61-\uff9f", alphabetic=False),
    _Script(("cp949",), "\uac00-\ud7a3", 0.7, _CJK, alphabetic=False),
)


def detect(data: bytes, whole: bool) -> tuple[str, float]:
    """Return the encoding of text that is not UTF-8 and how sure that is; an empty name if it is not.

    Args:
        data: a sample of it.
        whole: whether the sample is all; if not, it may end inside a character.
    """
    return _latin(data) or _other_script(data, whole) or ("", 0.0)


def _latin(data: bytes) -> tuple[str, float] | None:
    """Return the first of the Latin encodings that fit, if they all make the same text of the data."""
    if data.count(b"\0") * 100 > len(data):
        return None
    texts = {name: text for name in _LATIN_ENCODINGS if (text := _decoded(data[:_LOOK], name)) is not None}
    fits = [name for name, text in texts.items() if _is_latin(text, name)]
    if len({texts[name] for name in fits}) > 1:
        fits = [name for name in fits if len(_AFTER.findall(texts[name])) * 10 <= len(_BEYOND.findall(texts[name]))]
    if len({texts[name] for name in fits}) != 1:
        return None
    return fits[0], 0.9 if len(_BEYOND.findall(texts[fits[0]])) >= 20 else 0.6


def _is_latin(text: str, name: str) -> bool:
    """Return whether the letters beyond ASCII are those of one language, and the rest is where it belongs."""
    beyond = Counter(_BEYOND.findall(text))
    total = beyond.total()
    letters = Counter[str]()
    for char, count in beyond.items():
        if char.isalpha() and char not in "ªº":
            letters[char.lower()[0]] += count
    odd = sum(count for char, count in beyond.items() if not char.isalpha() and char not in _MARKS)
    if odd or _misplaced(text) * 50 > total or len(re.findall("[A-Za-z]", text)) < 2 * total:
        return False
    return any(name in language.encodings and _covers(language, letters) for language in _LANGUAGES)


def _covers(language: _Language, letters: Counter[str]) -> bool:
    total = letters.total()
    covered = sum(letters[char] for char in language.letters)
    core = [letters[char] for char in language.core if letters[char]]
    return covered >= 0.99 * total and (not language.core or (len(core) >= 2 and sum(core) >= 0.05 * total))


def _misplaced(text: str) -> int:
    """Count what right text hardly has: marks in or after words, two marks together, capitals after small letters.

    And letters beyond ASCII on their own, save for small vowels, which are words in some languages.
    """
    capitals = len([pair for pair in re.findall(r"[a-zß-öø-ÿ][^\0-\x7f]", text) if pair[1].isupper()])
    return sum(len(pattern.findall(text)) for pattern in (_INSIDE, _ODD_MARKS, _ALONE)) + capitals


def _other_script(data: bytes, whole: bool) -> tuple[str, float] | None:
    """Return what chardet proposes, if the text that it makes is of its script."""
    import chardet

    names = [name for script in _SCRIPTS for name in script.encodings]
    look = data[:_LOOK].translate(None, _CONTROLS)
    guess = chardet.detect(look, compat_names=False, include_encodings=names, no_match_encoding=names[0])
    name, confidence = guess["encoding"] or "", float(guess["confidence"] or 0.0)
    script = next((script for script in _SCRIPTS if name in script.encodings), None)
    if script is None or confidence < _LEAST_CONFIDENCE:
        return None
    text = _decoded(data, name, whole)
    return (name, confidence) if text is not None and _is_of(script, text) else None


def _is_of(script: _Script, text: str) -> bool:
    beyond = "".join(re.findall(r"[^\0-\x7f]+", text))
    letters = re.findall(f"[{script.letters}]", beyond)
    usual = len(re.findall(f"[{script.letters}{script.others}]", beyond))
    if usual < 0.99 * len(beyond) or len(letters) < script.share * len(beyond):
        return False
    if not script.alphabetic:
        return True
    if not (_is_slavic(text) and _is_greek(text)):
        return False
    most: int = max(Counter(letters).values())
    ascii_letter = "[A-HJ-Za-hj-z]"  # Belarusian and Ukrainian are often typed with a Latin i
    mixed = len(re.findall(f"{ascii_letter}[{script.letters}]|[{script.letters}]{ascii_letter}", text))
    pairs = re.findall(f"([{script.letters}])(?=([{script.letters}]))", text)
    humps = len([a for a, b in pairs if a.islower() and b.isupper()])
    return max(mixed, humps * 3) * 50 <= len(letters) and (most * 4 <= len(letters) or len(letters) < 100)


def _is_slavic(text: str) -> bool:
    """Return whether the Cyrillic letters, if any, are those of Slavic languages: Mac Cyrillic as cp1251 has others."""
    letters = Counter(re.findall("[\u0400-\u045f\u0490\u0491]", text.lower()))
    covered = max(sum(letters[char] for char in alphabet) for alphabet in (_EAST_SLAVIC, _SOUTH_SLAVIC))
    return (letters.total() - covered) * 200 <= letters.total() and letters["ґ"] * 100 <= letters.total()


def _is_greek(text: str) -> bool:
    """Return whether the two small sigmas, if any, stand where they belong, as they do not in Mac Greek as cp1253."""
    return len(_GREEK_SIGMA.findall(text)) * 20 <= text.count("σ") + text.count("ς")


def _decoded(data: bytes, name: str, whole: bool = True) -> str | None:
    try:
        return codecs.getincrementaldecoder(name)().decode(data, final=whole)
    except UnicodeDecodeError:
        return None
