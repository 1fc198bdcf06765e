"""The diff that ``mrprep why`` shows: short, and never two equal lines."""

import random

import pytest

from mrprep.provenance.difference import difference

ENGLISH = "the quick brown fox jumps over the lazy dog and runs on, "
CHINESE = "春江潮水连海平，海上明月共潮生，滟滟随波千万里，"


@pytest.mark.parametrize("filling", [ENGLISH * 10, CHINESE * 20, "a" * 30_000, "一" * 3000])
@pytest.mark.parametrize(("one", "other"), [(" ALPHA ", " BETA "), ("甲", "乙丙"), ("", "新"), ("\u200b", "")])
def test_a_long_line_is_shown_where_it_differs(filling: str, one: str, other: str) -> None:
    for before, after in ((filling, filling), ("", filling), (filling, "")):
        minus, plus = difference(before + one + after, before + other + after)
        assert minus[:2] == "- " and plus[:2] == "+ " and minus[2:] != plus[2:]
        assert max(len(minus), len(plus)) <= 170
        shown = one.replace("\u200b", "\\u200b").strip(), other.replace("\u200b", "").strip()
        assert shown[0] in minus and shown[1] in plus


def test_each_place_has_its_pair_and_context() -> None:
    old, new = (f"{CHINESE * 9}{a}{CHINESE * 9}{b}{CHINESE * 9}" for a, b in (("甲", "乙"), ("丙", "丁")))
    assert list(difference(old, new)) == [
        "- …生，滟滟随波千万里，甲春江潮水连海平，海上…",
        "+ …生，滟滟随波千万里，丙春江潮水连海平，海上…",
        "- …生，滟滟随波千万里，乙春江潮水连海平，海上…",
        "+ …生，滟滟随波千万里，丁春江潮水连海平，海上…",
    ]


def test_short_sentences_are_shown_whole_and_only_those_that_differ() -> None:
    kept, removed = "Same. Short one. Same again.", "Same. Short two. Same again. More."
    assert list(difference(kept, removed)) == ["-  Short one.", "+  Short two.", "+  More."]


def test_a_difference_far_into_the_text_is_found() -> None:
    for filling in ("Sentence. " * 5000, "x" * 50_000):
        assert [line[-3:] for line in difference(f"{filling} one", f"{filling} two")] == ["one", "two"]


def test_nothing_to_show_is_said_and_much_is_cut() -> None:
    assert list(difference("a", "a")) == ["the texts are equal"]
    assert list(difference("A b.\n\nC.", "A b.\nC.")) == ["the texts differ in white space alone"]
    rng = random.Random(1)
    old, new = (". ".join(f"{rng.random()}" for _ in range(999)) for _ in range(2))
    assert len(list(difference(old, new))) <= 13
