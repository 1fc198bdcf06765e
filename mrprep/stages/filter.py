"""The filter stage: drops documents that are no text worth learning from, each with its reason and number.

The rules of Gopher (Rae et al. 2021, table A1), C4 (Raffel et al. 2020, section 2.2) and FineWeb (Penedo et al.
2024, section 3.6) are restated in units that serve Chinese and English alike: a Han, kana, Thai … character is a
unit, in other scripts a word is. Where a published threshold drops over 1 % of clean books, laws, news or
documentation, ours is wider. A rule is a function in `mrprep.filtering`; rules run in order, the first that
complains gives the reason.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from mrprep.document import Document, Dropped, MapItem
from mrprep.filtering import composition, garble, language, lines, repetition, size
from mrprep.filtering.complaint import Complaint
from mrprep.filtering.profile import PLAIN_SHARE, Profile
from mrprep.options import Options as BaseOptions

VERSION = 1


class Options(BaseOptions):
    """Thresholds; a share of 1 or a least number of 0 switches a rule off.

    Shares are of the characters that are not white space, unless they say of what. Texts of over 65,536
    characters are judged by a sample.
    """

    min_units: int = 5
    """Fewest words or characters. C4 keeps no line of fewer than 5 words; Gopher's 50 would drop most poems."""
    max_garbled: float = 0.03
    """Most U+FFFD, private-use and unassigned characters, two forgiven. Own measurement: clean texts reach 0.9 %."""
    max_mojibake: float = 0.1
    """Most characters in stretches that look wrongly decoded. Own measurement: clean texts stay under 1 %."""
    max_rare_characters: float = 0.3
    """Most ideographs out of everyday use, of all ideographs. Own measurement: poetry reaches 16 %."""
    max_scripts: int = 3
    """Most scripts with over 5 % of the letters each. Own choice."""
    max_symbols: float = 0.55
    """Most punctuation and symbols. For Gopher's symbol-to-word ratio; code documentation reaches 51 %."""
    max_digits: float = 0.5
    """Most digits. For Gopher's 80 % of words with a letter; market reports reach 50 %."""
    max_encoded: float = 0.3
    """Most characters in base64, hashes and hex dumps. Own choice."""
    max_word_length: float = 15
    """Longest mean word of a Latin text, punctuation counted. Gopher has 10; documentation reaches 13."""
    max_markup: float = 0.4
    """Most characters in HTML tags and entities, of all. For C4's code and brace rules."""
    max_repeated_lines: float = 0.45
    """Most characters in repeated lines. Gopher has 0.2, FineWeb 0.1; licences reach 43 %."""
    min_density: float = 0.12
    """Least compressed bytes a byte (LZ4). Own measurement: clean texts have 0.19 and more."""
    max_repeated_ngrams: float = 0.5
    """Most repeated 10-grams of units, of all. For Gopher's share of characters in repeated 10-grams, 0.1."""
    max_one_unit: float = 0.4
    """Most units that are one and the same word or character. For Gopher's top n-grams, 0.2."""
    min_distinct_units: float = 0.1
    """Least different words or characters among the first 1,000. Own measurement: clean documents have 14 %."""
    max_menu: float = 0.9
    """Most short lines without punctuation, of all. For FineWeb's short lines, 0.67, and line ends, 0.12."""
    min_units_between_bars: float = 6
    """Least words or characters from bar (``|``, ``»``) to bar in a text of under 10 lines. Own choice."""
    max_spaced: float = 0.12
    """Most blanks and bars inside the lines of text without sentence marks, in scripts that need none. Own choice."""
    max_bullets: float = 0.95
    """Most lines that begin with a bullet, of all. Gopher has 0.9; tables of contents reach 93 %."""
    max_ellipses: float = 0.3
    """Most lines that end in an ellipsis, of all. Gopher."""
    min_repeated_words: float = 0.08
    """Least words of the first 100 that stood before, in Latin text without *the*, *de*, *und* … For Gopher's two
    stop words, which would drop most of the world's languages; the lowest of 100 languages has 9 %."""
    max_mash: float = 0.3
    """Most words of a Latin text that cannot be pronounced, of those over 3 letters. Own choice."""
    max_filler: int = 1
    """Most *lorem ipsum* in 1,000 characters. C4 has 0 in a document."""


Rule = Callable[[Profile], Complaint | None]
Family = tuple[Callable[[Profile], bool], Sequence[Rule]]
"""Rules, and the cheap test that tells whether any of them could complain."""


def filter_documents(documents: Iterable[Document], options: Options) -> Iterator[MapItem]:
    """Yield each document, or `Dropped` with the reason of the first rule that complains."""
    families = _families(options)
    for document in documents:
        complaint = _judge(document, families)
        yield Dropped(document, complaint.reason, complaint.detail) if complaint else document


def _judge(document: Document, families: Sequence[Family]) -> Complaint | None:
    profile = Profile(document.text, partial=document.may_be_piece)
    for concerns, rules in families:
        if not concerns(profile):
            continue
        for rule in rules:
            complaint = rule(profile)
            if complaint is not None:
                return complaint
    return None


def _families(options: Options) -> Sequence[Family]:
    """Return the rules in the order in which they are asked: what names a fault best comes first."""
    return (
        (_any, _page_rules(options)),
        (_is_latin, _latin_rules(options)),
        (_is_odd if _is_lenient(options) else _any, _character_rules(options)),
        (_is_lined, _line_rules(options)),
        (_is_dense, _repetition_rules(options)),
        (_is_wide, _wide_rules(options)),
        (language.lacks_common_words, _word_rules(options)),
    )


def _page_rules(options: Options) -> Sequence[Rule]:
    return (
        size.empty,
        partial(size.short, least=options.min_units),
        partial(lines.menu_bars, least=options.min_units_between_bars),
        partial(composition.markup, most=options.max_markup),
        partial(garble.mojibake, most=options.max_mojibake),
    )


def _character_rules(options: Options) -> Sequence[Rule]:
    return (
        partial(garble.garbled, most=options.max_garbled),
        partial(garble.rare_characters, most=options.max_rare_characters),
        partial(garble.mixed_scripts, most=options.max_scripts),
        partial(composition.symbols, most=options.max_symbols),
        partial(composition.digits, most=options.max_digits),
    )


def _line_rules(options: Options) -> Sequence[Rule]:
    return (
        partial(repetition.repeated_lines, most=options.max_repeated_lines),
        partial(lines.menus, most=options.max_menu),
        partial(lines.bullets, most=options.max_bullets),
        partial(lines.ellipses, most=options.max_ellipses),
    )


def _wide_rules(options: Options) -> Sequence[Rule]:
    return (partial(lines.word_list, most=options.max_spaced),)


def _repetition_rules(options: Options) -> Sequence[Rule]:
    return (
        partial(repetition.one_unit, most=options.max_one_unit),
        partial(repetition.compressible, least=options.min_density),
        partial(repetition.few_units, least=options.min_distinct_units),
        partial(repetition.repeated_ngrams, most=options.max_repeated_ngrams),
    )


def _latin_rules(options: Options) -> Sequence[Rule]:
    return (
        partial(composition.encoded, most=options.max_encoded),
        partial(composition.long_words, most=options.max_word_length),
        partial(language.filler, most=options.max_filler),
    )


def _word_rules(options: Options) -> Sequence[Rule]:
    return (
        partial(language.mash, most=options.max_mash),
        partial(language.word_salad, least=options.min_repeated_words),
    )


def _any(_: Profile) -> bool:
    return True


def _is_odd(profile: Profile) -> bool:
    return not profile.plain


def _is_lenient(options: Options) -> bool:
    """Tell whether plain text cannot exceed the thresholds on kinds of characters."""
    return min(options.max_symbols, options.max_digits, options.max_rare_characters) >= PLAIN_SHARE


def _is_lined(profile: Profile) -> bool:
    return len(profile.lines) >= repetition.LEAST_LINES


def _is_dense(profile: Profile) -> bool:
    return profile.density < repetition.SUSPICIOUS


def _is_wide(profile: Profile) -> bool:
    return profile.wide >= profile.latin


def _is_latin(profile: Profile) -> bool:
    return profile.latin > profile.wide
