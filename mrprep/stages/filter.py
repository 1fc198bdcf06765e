"""The filter stage: drops documents that are no text worth learning from, each with its reason and number.

The rules of Gopher (Rae et al. 2021, table A1), C4 (Raffel et al. 2020, section 2.2) and FineWeb (Penedo et al.
2024, section 3.6) are restated in units that serve Chinese and English alike: a Han, kana, Thai … character is a
unit, in other scripts a word is. Where a published threshold drops over 1 % of clean books, laws, news or
documentation, ours is wider. A rule is a function in `mrprep.filtering`; rules run in order, the first that
complains gives the reason.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from pydantic import Field, field_validator

from mrprep import extras
from mrprep.document import Document, Dropped, MapItem
from mrprep.filtering import (
    composition,
    garble,
    han,
    langid,
    language,
    lines,
    moulds,
    repetition,
    shapes,
    size,
    switches,
)
from mrprep.filtering.batch import Batch
from mrprep.filtering.complaint import Complaint, Rule, holes
from mrprep.filtering.profile import Profile
from mrprep.options import Options as BaseOptions

VERSION = 6
BATCH_CHARACTERS, BATCH_DOCUMENTS = 1_000_000, 8192
"""Documents are judged together until they come to one of these."""


class Options(BaseOptions):
    """Thresholds; a share of 1 or a least number of 0 switches a rule off.

    Shares are of the characters that are not white space, unless they say of what. Texts of over 65,536
    characters are judged by a sample.
    """

    min_units: int = 5
    """Fewest words or characters. C4 keeps no line of fewer than 5 words; Gopher's 50 would drop most poems."""
    max_garbled: float = 0.03
    """Most U+FFFD, private-use and unassigned characters, two forgiven. Own measurement: clean texts reach 0.9 %."""
    max_mojibake: float = 0.04
    """Most characters in stretches that look wrongly decoded. Own measurement: clean texts stay under 1 %."""
    max_rare_characters: float = 0.3
    """Most ideographs out of everyday use, of all ideographs. Own measurement: poetry reaches 16 %."""
    max_scripts: int = 3
    """Most scripts with over 5 % of the letters each. Own choice."""
    min_coincidence: float = 0.042
    """Least chance that two letters of a Greek, Cyrillic, Hebrew or Arabic text are the same; random ones have 0.033.
    Own measurement: 33 languages have 0.052 and more."""
    max_switches: float = 0.22
    """Most neighbours inside words of different scripts, cases, or a letter and a digit. Own choice."""
    max_symbols: float = 0.55
    """Most punctuation and symbols. For Gopher's symbol-to-word ratio; code documentation reaches 51 %."""
    max_digits: float = 0.5
    """Most digits. For Gopher's 80 % of words with a letter; market reports reach 50 %."""
    max_encoded: float = 0.3
    """Most characters in base64, hashes and hex dumps. Own choice."""
    max_word_length: float = 15
    """Longest mean word of a Latin text, punctuation counted. Gopher has 10; documentation reaches 13."""
    max_holes: float = 0.1
    """Most places where clean took ``(cid:12)`` out, of all that is left and they: what remains are stubs of words."""
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
    max_unended: float = 150
    """Most characters from one end of a sentence to the next in Chinese or Japanese, verse and contents apart."""
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
    max_log: float = 0.4
    """Most characters in lines of logs, stack traces and listings, in text without prose. Own choice."""
    max_remains: float = 0.4
    """Most characters in templates, wikitext, JSON, scripts …; 0.7 where prose stands beside it. For C4's braces."""
    max_links: float = 0.9
    """Most characters in Markdown links and addresses. Own measurement: chapters of documentation reach 85 %."""
    max_barred: float = 0.65
    """Most characters in short pieces between bars, arrows, dots … For FineWeb's short lines, 0.67."""
    max_unknown_words: float = 0.18
    """Most words of English that are in no vocabulary, less twice the small words of other languages. For CCNet's
    perplexity (Wenzek et al. 2020). Own measurement: Python's documentation has up to 10 %; drops 2 of 500 manuals."""
    max_smudged: float = 0.055
    """Most words of English with stray marks inside or in no vocabulary. Own measurement: drops 1 of 500 manuals."""
    max_single_letters: float = 0.22
    """Most words of one letter in English, twice that in other languages. Own measurement: manuals have 21 %."""
    max_likeness: float = 0.8
    """Most likeness to lorem ipsum (0.8 is 20 % of the words), Pinyin (67 %) or English backwards (7 %). Of 137
    languages none is over half of it; books about Pinyin need 1."""
    min_letter_odds: float = -13.9
    """Least mean log2 of the frequency of three letters in a row, asked where most words are unknown; -99 switches it
    off. For CCNet's perplexity; drops none of 137 languages, which it was fitted to; shuffled letters have -14.1."""
    min_small_words: float = 0.04
    """Least words that are small words (the, of, der, la …) of the language that fits best; lists of titles need three
    times as many. For Gopher's two stop words; Finnish manuals have 5 %."""
    max_stuffed: float = 0.17
    """Most words that are one and the same word with a meaning, in text that compresses well. For Gopher's top
    n-grams, 0.2; of 99 % of READMEs it is under 17 %."""
    min_order: float = 0.15
    """Least order of Chinese: 0 for shuffled characters, 1 if all neighbours are known pairs; -1 switches it off.
    Own measurement: drops no chapter of 1,883 of novels."""
    min_modern_order: float = 0.4
    """The same for modern Chinese; -1 switches it off. Own measurement: drops 0.3 % of an encyclopedia."""
    min_small_characters: float = 0.055
    """Least ideographs that are small words (的, 是, 之 …), modern or classical; 0.088 where order is under 0.6. For
    Gopher's stop words; laws and novels have 8 %, lists of key words 1 to 5 %; verse is not asked."""
    min_triples: float = 0.32
    """Least known ones of three ideographs in a row that are two known pairs, asked where these are the rule. For
    CCNet's perplexity."""
    max_specks: float = 0.006
    """Most strokes, parts of ideographs and stray marks, an ideograph. Own measurement: laws reach 0.35 %."""
    max_gaps: float = 0.1
    """Most ideographs after a blank, in text with sentence marks. Own measurement: news reaches 7 %."""
    min_word_order: float = 0.05
    """Least order of English: 0 for shuffled words, 1 if all neighbours are known pairs; -1 switches it off."""
    max_moulded: float = 0.7
    """Most characters in lines that differ from others in numbers and names only. For FineWeb's repeated lines."""
    max_echo: float = 0.25
    """Most words or ideographs that are the one before again. Own choice."""
    max_questions: float = 0.65
    """Most sentences that ask, of all, from ten questions on. Own choice; answers to frequent questions have 50 %."""
    languages: tuple[str, ...] = ()
    """Languages that are kept, by their codes, such as ``["zh", "en"]``; empty keeps all. Needs mrprep[langid]."""
    min_language: float = Field(0.05, ge=0, le=1)
    """Least probability that a text is in one of ``languages``. Own measurement: 4 % of market tables are below."""

    @field_validator("languages")
    @classmethod
    def _known(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        if languages and not extras.has("langid"):
            raise ValueError(f"telling languages apart {extras.advice('langid')}")
        unknown = sorted(set(languages) - langid.known_languages()) if languages else []
        if unknown:
            raise ValueError(f"no language is known as {unknown[0]!r}; use codes of ISO 639-1 such as zh, en")
        return languages


Checks = Sequence[tuple[Rule, float]]
"""Rules with their thresholds, in the order in which they are asked."""


def filter_documents(documents: Iterable[Document], options: Options) -> Iterator[MapItem]:
    """Yield each document, or `Dropped` with the reason of the first rule that complains.

    Documents are taken in by batches of about a million characters and given back in their order.
    """
    checks = _checks(options)
    for taken in _batches(documents):
        batch = Batch([document.text for document in taken], [document.may_be_piece for document in taken])
        complaints = _complaints(batch, checks)
        for index, document in enumerate(taken):
            complaint = complaints.get(index) or _holes(document, options.max_holes)
            yield Dropped(document, complaint.reason, complaint.detail) if complaint else document


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    taken: list[Document] = []
    characters = 0
    for document in documents:
        taken.append(document)
        characters += len(document.text)
        if characters >= BATCH_CHARACTERS or len(taken) >= BATCH_DOCUMENTS:
            yield taken
            taken, characters = [], 0
    if taken:
        yield taken


def _holes(document: Document, most: float) -> Complaint | None:
    taken = document.edits.get("cid", 0)
    return holes(taken, len(document.text), most) if taken else None


def _complaints(batch: Batch, checks: Checks) -> dict[int, Complaint]:
    """Return the first complaint about each text that has one, by its index."""
    suspects = np.stack([rule.suspects(batch, threshold) for rule, threshold in checks])
    found: dict[int, Complaint] = {}
    for index in np.flatnonzero(suspects.any(axis=0)).tolist():
        profile = Profile(batch, index)
        asked = (checks[at] for at in np.flatnonzero(suspects[:, index]).tolist())
        complaints = (rule.complaint(profile, threshold) for rule, threshold in asked)
        first = next(filter(None, complaints), None)
        if first is not None:
            found[index] = first
    return found


def _checks(options: Options) -> Checks:
    """Return the rules in the order in which they are asked: what names a fault best first, what costs most last."""
    in_language = [(langid.language_rule(options.languages), options.min_language)] if options.languages else []
    return (
        (size.EMPTY, 0),
        (size.SHORT, options.min_units),
        (lines.MENU_BAR, options.min_units_between_bars),
        (composition.MARKUP, options.max_markup),
        (shapes.LOG, options.max_log),
        (shapes.REMAINS, options.max_remains),
        (shapes.LINKS, options.max_links),
        (shapes.BARRED, options.max_barred),
        (garble.MOJIBAKE, options.max_mojibake),
        (composition.ENCODED, options.max_encoded),
        (composition.LONG_WORDS, options.max_word_length),
        (language.FILLER, options.max_filler),
        (garble.GARBLED, options.max_garbled),
        (garble.RARE_CHARACTERS, options.max_rare_characters),
        (garble.MIXED_SCRIPTS, options.max_scripts),
        (composition.SYMBOLS, options.max_symbols),
        (composition.DIGITS, options.max_digits),
        (repetition.REPEATED_LINES, options.max_repeated_lines),
        (garble.FLAT, options.min_coincidence),
        (switches.SWITCHES, options.max_switches),
        (lines.MENU, options.max_menu),
        (lines.UNENDED, options.max_unended),
        (lines.BULLETS, options.max_bullets),
        (lines.ELLIPSES, options.max_ellipses),
        (repetition.ONE_UNIT, options.max_one_unit),
        (repetition.COMPRESSIBLE, options.min_density),
        (repetition.FEW_UNITS, options.min_distinct_units),
        (repetition.REPEATED_NGRAMS, options.max_repeated_ngrams),
        (moulds.ECHO, options.max_echo),
        (moulds.MOULDED, options.max_moulded),
        (moulds.QUESTIONS, options.max_questions),
        (lines.WORD_LIST, options.max_spaced),
        (language.MASH, options.max_mash),
        (language.WORD_SALAD, options.min_repeated_words),
        (language.BROKEN_WORDS, options.max_unknown_words),
        (language.SMUDGED, options.max_smudged),
        (language.TORN_WORDS, options.max_single_letters),
        (language.NO_LANGUAGE, options.max_likeness),
        (language.GIBBERISH, options.min_letter_odds),
        (language.FEW_SMALL_WORDS, options.min_small_words),
        (language.DISORDERED, options.min_word_order),
        (language.STUFFED, options.max_stuffed),
        (han.SHUFFLED, options.min_order),
        (han.MISREAD, options.min_modern_order),
        (han.PIECED, options.min_triples),
        (han.SPECKED, options.max_specks),
        (han.GAPPY, options.max_gaps),
        (han.KEY_CHARACTERS, options.min_small_characters),
        *in_language,
    )
