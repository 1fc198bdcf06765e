"""The rules of the filter written the slow and obvious way: one text, one rule after another, no batch."""

import re
from collections import Counter
from collections.abc import Iterator

import pyarrow as pa

from mrprep.filtering.classes import Kind, _kinds
from mrprep.filtering.composition import _is_code
from mrprep.filtering.garble import _MOJIBAKE, _SCRIPTS
from mrprep.filtering.language import _CONSONANTS, _SMALL_WORDS
from mrprep.filtering.lines import _BULLETS, _TERMINAL, CONTENTS
from mrprep.filtering.profile import _UNIT
from mrprep.stages.filter import Options

MARKUP = re.compile(r"</?[a-zA-Z!][^<>]{0,300}>|&(?:[a-zA-Z]{2,8}|#\d{1,6});")


def _is_hex(token: str) -> bool:
    plain = token.rstrip(",;}").removeprefix("0x")
    marked = len(plain) < len(token.rstrip(",;}"))
    hexadecimal = not plain.strip("0123456789abcdefABCDEF")
    return len(plain) in (2, 4, 8) and hexadecimal and (marked or not plain.isdigit())


def reasons(text: str, o: Options) -> Iterator[str]:
    """Yield the reasons for which rules complain of a text of at most 64 Ki characters, in order."""
    counted = Counter(text)
    kinds = [0] * len(Kind)
    for char, count in counted.items():
        kinds[_kinds()[ord(char)]] += count
    inked = len(text) - kinds[Kind.SPACE] - kinds[Kind.NOTHING]
    wide = kinds[Kind.STACKED] + kinds[Kind.HAN] + kinds[Kind.RARE_HAN] + kinds[Kind.KANA]
    latin = kinds[Kind.LATIN] + kinds[Kind.ACCENTED]
    lines = [line for line in text.split("\n") if line]
    data = text.encode()
    density = len(pa.Codec("lz4_raw").compress(data, asbytes=True)) / max(1, len(data))
    units = _UNIT.findall(text)
    each = max(1, inked)
    if not inked:
        yield "empty"
    if len(text) <= 40 * o.min_units and len(units) < o.min_units:
        yield "short"
    bars = sum(text.count(bar) for bar in ("|", "｜", "»", "›", " > "))
    if len(lines) < 10 and bars >= 8 and len(units) / bars < o.min_units_between_bars:
        yield "menu"
    tags = sum(len(match[0]) for match in MARKUP.finditer(text))
    if (text.count("<") + text.count("&")) * 50 >= len(text) and tags > o.max_markup * len(text):
        yield "markup"
    odd = kinds[Kind.ACCENTED] + kinds[Kind.ALPHABET] > o.max_mojibake / 4 * inked or "锟" in text
    if odd and sum(map(len, _MOJIBAKE.findall(text))) / each > o.max_mojibake:
        yield "mojibake"
    if latin > wide:
        yield from latin_reasons(text, kinds, inked, wide, latin, o)
    yield from kind_reasons(kinds, inked, o)
    yield from line_reasons(lines, text, inked, wide, o)
    yield from repetition_reasons(text, units, density, latin, wide, o)
    marks = sum(map(text.count, "。，！？；：、,၊།"))
    blanks = sum(map(text.count, " \u3000\t|·›>"))
    contents = 2 * len(CONTENTS.findall(text)) > len(lines)
    if not contents and wide >= max(latin / 4, 40) and marks <= 0.01 * inked and blanks / len(text) > o.max_spaced:
        yield "word-list"
    common = sum(map(text.count, (" of ", " and ", " to ", " in ", " de ")))
    if latin * 3 >= inked * 2 and wide * 20 <= inked and max(common, text.count(" the ")) * 300 < len(text):
        yield from word_reasons(text, o)


def latin_reasons(text: str, kinds: list[int], inked: int, wide: int, latin: int, o: Options) -> Iterator[str]:
    if kinds[Kind.SPACE] < 0.1 * len(text) or kinds[Kind.DIGIT] > o.max_encoded * 0.8 * inked:
        code = sum(len(token) for token in text.split() if len(token) >= 40 and _is_code(token))
        code += sum(len(token) for token in text.split() if len(token) <= 11 and _is_hex(token))
        if code / max(1, inked) > o.max_encoded:
            yield "encoded"
    mostly = latin >= 60 and latin * 2 >= inked and wide * 20 <= inked
    if mostly and inked / (kinds[Kind.SPACE] + 1) > o.max_word_length:
        yield "long-words"
    if text.count("orem ipsum") * 1000 > o.max_filler * max(1000, len(text)):
        yield "filler"


def kind_reasons(kinds: list[int], inked: int, o: Options) -> Iterator[str]:
    each = max(1, inked)
    if kinds[Kind.GARBAGE] > 2 and (kinds[Kind.GARBAGE] - 2) / each > o.max_garbled:
        yield "garbled"
    rare, han = kinds[Kind.RARE_HAN], kinds[Kind.RARE_HAN] + kinds[Kind.HAN]
    if han >= 20 and kinds[Kind.LATIN] <= 0.75 * inked and rare / han > o.max_rare_characters:
        yield "rare-characters"
    scripts = [sum(kinds[kind] for kind in script) for script in _SCRIPTS]
    if sum(scripts) >= 50 and sum(count > 0.05 * sum(scripts) for count in scripts) > o.max_scripts:
        yield "mixed-scripts"
    if (kinds[Kind.PUNCTUATION] + kinds[Kind.SYMBOL]) / each > o.max_symbols:
        yield "symbols"
    if kinds[Kind.DIGIT] / each > o.max_digits:
        yield "digits"


def line_reasons(lines: list[str], text: str, inked: int, wide: int, o: Options) -> Iterator[str]:
    if len(lines) >= 5:
        total = sum(map(len, lines))
        if (total - sum(map(len, set(lines)))) / total > o.max_repeated_lines:
            yield "repeated-lines"
    if len(lines) < 10:
        return
    longest = 12 if wide * 2 > inked else 30
    short = [line for line in lines if len(line) <= longest and line[-1] not in _TERMINAL]
    contents = 2 * len(CONTENTS.findall(text)) > len(lines)
    if not contents and inked <= longest * len(lines) and len(short) / len(lines) > o.max_menu:
        yield "menu"
    if sum(line.lstrip()[:1] in _BULLETS for line in lines) / len(lines) > o.max_bullets:
        yield "bullets"
    if sum(line.endswith(("...", "…")) for line in lines) / len(lines) > o.max_ellipses:
        yield "ellipses"


def repetition_reasons(text: str, units: list[str], density: float, latin: int, wide: int, o: Options) -> Iterator[str]:
    dense = density < (0.6 if len(text) < 600 else 0.3)
    if dense and len(units) >= 8 and Counter(units).most_common(1)[0][1] / len(units) > o.max_one_unit:
        yield "one-word"
    if density < o.min_density:
        yield "compressible"
    first = units[:1000]
    few = len(first) >= 8 and len(set(first)) / len(first) < o.min_distinct_units
    few |= latin > wide and len(first) >= 200 and len(set(first[:200])) / 200 < 2 * o.min_distinct_units
    if density < 0.4 and few:
        yield "few-words"
    first = units[:4000]
    n = min(10, max(1, len(first) // 5))
    grams = [tuple(first[at : at + n]) for at in range(len(first) - n + 1)]
    if dense and grams and 1 - len(set(grams)) / len(grams) > o.max_repeated_ngrams:
        yield "repeated-ngrams"


def word_reasons(text: str, o: Options) -> Iterator[str]:
    words = re.findall(r"[^\W\d_]+", text.lower())
    if sum(word in _SMALL_WORDS for word in words) >= 0.02 * len(words):
        return
    long = [word for word in words if len(word) > 3]
    if len(long) >= 8 and sum(bool(_CONSONANTS.search(word)) for word in long) / len(long) > o.max_mash:
        yield "mash"
    first = words[:200]
    if len(first) >= 50 and 1 - len(set(first)) / len(first) < o.min_repeated_words * len(first) / 100:
        yield "word-salad"
