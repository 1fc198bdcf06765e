"""What holds for cleaning on any text: once is enough, nothing visible goes, no fault takes long."""

import json
import random
import re
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.cleaning.cleaner import SAFE
from mrprep.cleaning.forms import COMPOSED
from mrprep.cleaning.rule import Rule
from mrprep.cleaning.whitespace import BLANK
from mrprep.document import Document, Place
from mrprep.stages import clean as stage
from mrprep.stages.clean import Options, clean

PLACE = Place("s", b"a.txt", 0, 1)
EVERY = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
TROUBLE = list(
    "aE1#_ \t\n\r\x0b\x0c\x1b[m]\x07\b\x85\x9b()cid:5\xad\xa0\u3000\u2028\ufeff\ufffe\ufffd\ue000"
    "\u200b\u200c\u200d\u200e\u202e\u2060\ufe0e\ufe0f\U000e0100\U000e0067\U000e007f\U0001f3f4"
    "👨🏽❤\u0301\u0323\u0300\u3099かが가\u1100\u1161\u11a8中葛क\u094d\u093cশابی\u0653ᠠ\u180b\u180eÅ\u212b\u2adc\u0338∋="
)
REQUESTED = [name for name, field in Options.model_fields.items() if field.default is False]


def cleaned(text: str, **options: object) -> Document:
    (document,) = clean([Document(PLACE, text)], Options.model_validate(options))
    assert isinstance(document, Document)
    return document


@settings(max_examples=800, deadline=None)
@given(st.text(max_size=60) | st.text(st.sampled_from(TROUBLE), max_size=40))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = cleaned(text)
    twice = Document(PLACE, once.text)
    assert next(iter(clean([twice], Options()))) is twice
    assert bool(once.edits) == (once.text != text)


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.sampled_from([*TROUBLE, *"<b>/p&amp;lt;@.+86-："]), max_size=40),
    st.sets(st.sampled_from(REQUESTED)),
    st.sampled_from(["nfc", "nfkc"]),
)
def test_cleaning_twice_with_rules_on_request(text: str, chosen: set[str], form: str) -> None:
    options = {**dict.fromkeys(chosen, True), "unicode": form}
    once = cleaned(text, **options)
    assert cleaned(once.text, **options).text == once.text


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from(TROUBLE), max_size=40))
def test_result_is_nfc_and_holds_no_control(text: str) -> None:
    result = cleaned(text).text
    assert unicodedata.is_normalized("NFC", result)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\u202e\u2028]|[ \u3000]\n|\n{4}", result)


def test_every_character_of_unicode_by_itself() -> None:
    """Only invisible characters vanish from between two letters, and whatever stays is what NFC makes of it."""
    alone = [char for char in EVERY if char not in "\n\r\x0b\x0c\x85\u2028\u2029"]
    lines = cleaned("\n".join(f"x{char}y" for char in alone)).text.split("\n")
    gone = {char for char, line in zip(alone, lines, strict=True) if line == "xy"}
    assert all(
        char in gone or line == unicodedata.normalize("NFC", f"x{char}y")
        for char, line in zip(alone, lines, strict=True)
    )
    marks = {char for char in gone if unicodedata.category(char) == "Mn"}
    assert {unicodedata.category(char) for char in gone - marks} == {"Cc", "Cf", "Cn"}
    selectors = [*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
    assert marks == set(map(chr, selectors)) - {"\u180e"}


def test_all_of_unicode_in_one_text_stays_clean() -> None:
    shuffled = list(EVERY)
    random.Random(1).shuffle(shuffled)
    once = cleaned("".join(shuffled)).text
    assert cleaned(once).edits == {}


def test_composed_ranges_are_composed() -> None:
    """The quick ranges hold starters alone, which NFC leaves alone and which never join what is before them."""
    second = {unicodedata.normalize("NFD", char)[-1] for char in EVERY if unicodedata.normalize("NFD", char) != char}
    for char in re.findall(f"[\x00-\xff{COMPOSED}]", EVERY):
        assert unicodedata.combining(char) == 0
        assert unicodedata.normalize("NFC", char) == char
        assert char not in second or unicodedata.normalize("NFC", "e" + char) == "e" + char
        assert not "\u1161" <= char <= "\u11c2"


@pytest.mark.parametrize("rule", [rule for rule in stage._CHARACTERS if rule.trigger], ids=lambda rule: rule.name)
def test_triggers_find_all_that_a_rule_changes(rule: Rule) -> None:
    assert rule.trigger is not None
    assert not rule.trigger.search("".join(re.findall(f"[{SAFE}]", EVERY)))
    others = rule.trigger.sub("", EVERY)
    assert rule.change("x" + "yx".join(others) + "y")[1] == 0


@pytest.mark.parametrize("case", ["34-scripts-emoji", "12-full-half-width", "10-pua-fffd-nonchar"])
def test_shared_cases_unchanged(shared: Path, case: str) -> None:
    expected = json.loads((shared / "cases" / case / "expect.json").read_bytes())
    for entry in expected["docs"]:
        text = re.sub(r"\(cid:\d+\)|[\ufffe\uffff\ufdd0\U0010ffff]", "", entry["text"])
        assert cleaned(entry["text"]).text == text


def test_shared_case_of_normal_forms(shared: Path) -> None:
    expected = json.loads((shared / "cases" / "11-nfc-nfd" / "expect.json").read_bytes())
    assert len({cleaned(entry["text"]).text for entry in expected["docs"]}) == 4
    assert all(cleaned(entry["text"]).text == entry.get("nfc", entry["text"]) for entry in expected["docs"])
    widths = json.loads((shared / "cases" / "12-full-half-width" / "expect.json").read_bytes())
    assert all(cleaned(entry["text"], unicode="nfkc").text == entry["nfkc"] for entry in widths["docs"])


def test_shared_case_of_control_characters(shared: Path) -> None:
    text = (shared / "cases" / "07-control-chars" / "in" / "ctl.txt").read_bytes()
    assert cleaned(text.decode()).text == "NAME\nred text\tTab\nbelldel\nnelc1\npage1\npage2\nvt"


MANY = 1 << 18
HARD = {
    "one letter": "a" * MANY,
    "blanks inside a line": "x" + " " * MANY + "y",
    "line ends": "x" + "\n" * MANY + "y",
    "escapes": "\x1b[" * MANY,
    "titles": "\x1b]" * MANY,
    "backspaces": "a\b" * MANY,
    "joiners": "\u200d" * MANY,
    "marks": "\u0301" * MANY,
    "nested cid": "(cid:" * MANY + "1" + ")" * MANY,
    "open tags": "<script><a " * MANY,
    "ampersands": "&amp;" * MANY,
    "e-mail": "a.b@" * MANY,
    "digits": "138" * MANY,
    "colons": "a:" * MANY,
    "keys": "-----BEGIN PRIVATE KEY-----" * (MANY // 8),
}


@pytest.mark.parametrize("text", HARD.values(), ids=HARD.keys())
def test_no_rule_is_quadratic(text: str) -> None:
    """A million characters of trouble take a second or two; quadratic time would be hours."""
    start = time.process_time()
    cleaned(text, **dict.fromkeys(REQUESTED, True))
    assert time.process_time() - start < 20


def test_blank_is_all_white_space_but_the_line_end() -> None:
    assert set(BLANK) == {char for char in EVERY if char.isspace()} - {"\n"}


def test_many_texts_together_come_out_as_each_by_itself() -> None:
    """Texts of all lengths in one batch, across the windows of the look, with and without what rules object to."""
    chance = random.Random(3)
    kinds = [
        TROUBLE,
        ["word ", "中文", "\n", " "],
        [*chance.sample(TROUBLE, 4), *["plain text "] * 6],
        ["\r\n", "a", " "],
    ]
    texts = ["".join(chance.choices(chance.choice(kinds), k=chance.choice([0, 1, 2, 8, 60]))) for _ in range(800)]
    texts[400:400] = ["plain text\n" * 12_000 + "\n\n\n" + "more\n" * 30_000, "x" * ((1 << 17) - 1) + " \ny", "", ""]
    documents = [Document(PLACE, text) for text in texts]
    together = list(clean(documents, Options()))
    alone = [cleaned(text) for text in texts]
    asked = [stage._tools(Options())[1](text) for text in texts]
    assert [(one.text, one.edits) for one in together if isinstance(one, Document)] == asked
    assert [one.text for one in alone] == [text for text, _ in asked]
    assert all(
        (one is document) == (not edits) for one, document, (_, edits) in zip(together, documents, asked, strict=True)
    )
