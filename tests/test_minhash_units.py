"""Units: which there are, what folds together, and that hashes never change."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.minhash import units

ALONE = ("CJK UNIFIED", "HIRAGANA", "KATAKANA", "BOPOMOFO", "HANGUL", "THAI", "LAO", "KHMER", "TIBETAN", "MYANMAR")
ALPHABET = "aBcéßΣЖж中文字あカｶＡ１２٣ก็ไລខမབ한ㄅ𠀀𝐀😀 \n.,，。！-'_$"


def hashes_of(text: str) -> list[int]:
    data = text.encode()
    return units.unit_hashes(data, np.array([0, len(data)]))[0].tolist()


def slow_units(text: str) -> list[str]:
    """Split a text character by character, going by Unicode names; no tables, no arrays."""
    found, word = [], ""
    for char in text:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())
        folded = folded if len(folded) == 1 else char
        if unicodedata.category(char) == "Nd":
            folded = str(unicodedata.digit(char))
        alone = unicodedata.name(folded, "").startswith(ALONE)
        letter = unicodedata.category(folded)[0] in "LMN"
        if letter and not alone:
            word += folded
            continue
        found += [word] if word else []
        word = ""
        found += [folded] if letter else []
    return found + ([word] if word else [])


@given(st.lists(st.text(ALPHABET, max_size=40), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_units_are_those_of_a_slow_walk_over_the_characters(texts: list[str]) -> None:
    data = [text.encode() for text in texts]
    found, counts = units.unit_hashes(b"".join(data), np.cumsum([0, *map(len, data)]))
    wanted = [slow_units(text) for text in texts]
    assert counts.tolist() == [len(one) for one in wanted]
    names = [unit for one in wanted for unit in one]
    pairs = set(zip(names, found.tolist(), strict=True))
    assert len(pairs) == len(set(names)) == len(set(found.tolist()))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (" ,.!?，。\n", 0),
        ("Hello, world", 2),
        ("你好，世界", 4),
        ("2023年3月", 4),
        ("我用Python写code。", 6 - 1),
        ("สวัสดี", 6),
        ("안녕", 2),
        ("don't", 2),
        ("नमस्ते दुनिया", 2),
    ],
)
def test_a_character_or_a_word_is_a_unit(text: str, count: int) -> None:
    assert len(hashes_of(text)) == count


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ＨＥＬＬＯ　Ｗｏｒｌｄ", "hello world"),
        ("２０２３年", "2023年"),
        ("٣٤", "34"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("他说：“好。”", "他说好"),
        ("STRASSE Ω", "strasse ω"),
    ],
)
def test_width_case_digits_and_punctuation_fold(one: str, other: str) -> None:
    assert hashes_of(one) == hashes_of(other) != []


@pytest.mark.parametrize(("one", "other"), [("3 May", "4 May"), ("一", "二"), ("ab", "ba"), ("a b", "ab"), ("é", "e")])
def test_what_differs_in_content_stays_apart(one: str, other: str) -> None:
    assert hashes_of(one) != hashes_of(other)


@given(st.text(ALPHABET + "abc中" * 3, min_size=1, max_size=400), st.integers(8, 40))
@settings(max_examples=100, deadline=None)
def test_blocks_give_the_units_of_the_whole(text: str, block: int) -> None:
    whole = hashes_of(text)
    data = "前".encode() + text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(units, "BLOCK", block)
        parts = list(units.unit_blocks(data, 3, len(data)))
    assert np.concatenate(parts).tolist() == whole


def test_a_word_longer_than_a_block_is_cut_in_time() -> None:
    text = b"a" * 3_000_000
    found = np.concatenate(list(units.unit_blocks(text, 0, len(text))))
    assert 1 < found.size <= 3_000_000 // units.BLOCK + 1


def test_a_block_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="use unit_blocks"):
        units.unit_hashes(b"a" * (units.BLOCK + 1), np.array([0, units.BLOCK + 1]))


def test_the_table_of_the_basic_plane_agrees_with_the_code_of_every_character() -> None:
    table = units._basic_plane()
    points = [*range(0, 0x3400, 7), *range(0x3400, 0xFFFF, 97)]
    surrogate = range(0xD800, 0xE000)
    assert all(table[point] == units._code(point) for point in points if point not in surrogate)


def test_hashes_are_pinned() -> None:
    base = 0x9E3779B97F4A7C15
    assert hashes_of("AB 中") == [ord("a") + ord("b") * base % 2**64, ord("中") + 2**31]
    assert hashes_of("hello, 世界 42") == [8087791290074838904, 2147503638, 2147513676, 16633418754873375822]
