"""Verdicts do not depend on the batch, and are those of the rules written the slow and obvious way."""

import random
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from filter_oracle import _is_hex, reasons
from hypothesis import given as drawn
from hypothesis import strategies as st
from test_filter_corpora import texts
from test_filter_rules import CHINESE, ENGLISH, GARBAGE, KEPT

from mrprep.document import Document, Dropped, Place
from mrprep.filtering.batch import Batch
from mrprep.filtering.classes import Kind
from mrprep.filtering.composition import _HEX
from mrprep.filtering.moulds import _echoed
from mrprep.filtering.tally import Tally
from mrprep.filtering.words import words_of
from mrprep.stages import filter as filter_stage
from mrprep.stages.filter import Options, filter_documents

STRICT = Options(
    min_units=50,
    max_rare_characters=0.05,
    max_scripts=2,
    max_symbols=0.2,
    max_digits=0.1,
    max_word_length=9,
    max_repeated_lines=0.1,
    min_density=0.3,
    max_repeated_ngrams=0.05,
    max_one_unit=0.1,
    min_distinct_units=0.3,
    max_menu=0.5,
    max_spaced=0.02,
    max_bullets=0.1,
    max_ellipses=0.05,
)
WITHOUT_STATISTICS = {
    **dict.fromkeys(("max_log", "max_remains", "max_links", "max_barred"), 1.0),
    **dict.fromkeys(("max_unknown_words", "max_single_letters", "max_stuffed"), 1.0),
    **dict.fromkeys(("min_small_words", "min_small_characters"), 0.0),
    **dict.fromkeys(("min_letter_odds", "min_order", "min_modern_order"), -99.0),
    **dict.fromkeys(("min_triples", "min_word_order"), -99.0),
    **dict.fromkeys(("max_specks", "max_gaps", "max_smudged", "max_moulded", "max_echo", "max_questions"), 1.0),
    **dict.fromkeys(("max_switches", "max_mash"), 1.0),
    "min_coincidence": 0.0,
    "max_unended": 1e9,
    "max_likeness": 99.0,
}
"""What `test_filter_statistics` compares with slow implementations of its own."""
PLACE = Place("s", b"a", 0, 1)


def verdicts(texts: list[str], options: Options) -> list[str]:
    """Return the reason for each text, empty for those kept."""
    items = filter_documents([Document(PLACE, text) for text in texts], options)
    return [item.reason if isinstance(item, Dropped) else "" for item in items]


def mixtures(count: int) -> list[str]:
    """Return garbage, text, and pieces of both stuck together, which lie about every threshold."""
    rng = random.Random(5)
    garbage = [make(rng)[:5000] for make, _ in GARBAGE.values() for _ in range(4)]
    text = [*KEPT.values(), ENGLISH * 3, CHINESE * 3, "\U0001f600 \U00020000" * 9, ""]
    mixed = []
    for _ in range(count):
        a, b = rng.choice(garbage + text), rng.choice(text)
        at = rng.randrange(len(a) + 1)
        lines = (a[at : at + rng.randrange(900)] + rng.choice(["\n", " ", ""]) + b[: rng.randrange(600)]).split("\n")
        lines *= rng.choice([1, 1, 2])
        rng.shuffle(lines)
        mixed.append("\n".join(lines))
    return mixed


@pytest.mark.parametrize("options", [Options(), STRICT], ids=["default", "strict"])
def test_the_slow_rules_say_the_same(shared: Path, options: Options) -> None:
    given = mixtures(1500)
    for corpus in ("en_reuters", "zh_poetry/yuding_tang.jsonl.gz", "mixfolder/docs", "mixfolder/wiki"):
        given += islice((text for text in texts(shared / "corpora" / corpus) if len(text) < 4000), 400)
    options = options.model_copy(update=WITHOUT_STATISTICS)
    expected = [next(reasons(text, options), "") for text in given]
    assert verdicts(given, options) == expected
    assert len(set(expected)) > 18


def test_verdicts_do_not_depend_on_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [*mixtures(500), ENGLISH * 1000, " " * 200_000, CHINESE * 1000]
    together = verdicts(given, Options())
    monkeypatch.setattr(filter_stage, "BATCH_DOCUMENTS", 1)
    assert verdicts(given, Options()) == together


def test_documents_come_back_in_their_order() -> None:
    documents = [Document(PLACE, text) for text in mixtures(5000)]
    items = list(filter_documents(iter(documents), Options()))
    assert [item.document if isinstance(item, Dropped) else item for item in items] == documents


def test_columns_of_a_batch_by_hand() -> None:
    batch = Batch(["ab c\n\n文字。\nab c", "", "\U0001f600\U00020000\ufffd|"], [False, False, True])
    assert batch.sizes.tolist() == [14, 0, 4]
    assert batch.inked.tolist() == [9, 0, 4]
    assert batch.kinds[Kind.LATIN].tolist() == [6, 0, 0]
    assert batch.kinds[[Kind.SYMBOL, Kind.RARE_HAN, Kind.GARBAGE], 2].tolist() == [2, 1, 1]
    assert batch.wide.tolist() == [2, 0, 1]
    assert batch.lines.tolist() == [3, 0, 1]
    assert batch.line_sizes.tolist() == [4, 3, 4, 4]
    assert batch.repeated.tolist() == [4, 0, 0]


def test_no_word_is_a_neighbour_of_the_next_texts_first() -> None:
    texts = [" ".join(["pear", *(f"{a}{b}x" for a in "abcdefg" for b in "klmnopq"), "pear"])] * 3
    whole, (alone,) = _echoed(Batch(texts, [False] * 3)), _echoed(Batch(texts[:1], [False]))
    assert whole.tolist() == [alone] * 3 == [0.0] * 3


@drawn(
    st.lists(st.tuples(st.integers(0, 5), st.lists(st.booleans(), min_size=1, max_size=9)), max_size=8),
    st.integers(1, 4),
)
def test_tallies_by_hand(stretches: list[tuple[int, list[bool]]], most: int) -> None:
    stretches = sorted(dict(stretches).items())
    owners = np.array([owner for owner, _ in stretches], np.int64)
    tally = Tally(owners, np.array([len(flags) for _, flags in stretches], np.int64), 6)
    flags = np.array([flag for _, flags in stretches for flag in flags], bool)
    asked = np.arange(6) % 2 == 0
    assert tally(flags).tolist() == [sum(dict(stretches).get(owner, [])) for owner in range(6)]
    kept = [flag for owner, those in stretches if asked[owner] for flag in those]
    assert flags[tally.entries(asked)].tolist() == kept
    assert tally.only(asked)(np.array(kept, bool)).tolist() == np.where(asked, tally(flags), 0).tolist()
    first = [asked[owner] and at < most for owner, those in stretches for at in range(len(those))]
    assert tally.entries(asked, most).tolist() == first


@drawn(
    st.lists(st.lists(st.sampled_from([" the", " the ", "the", "tHe", " ", "\n", "a", "é"])).map("".join), max_size=9)
)
def test_never_more_articles_are_found_than_there_are(given: list[str]) -> None:
    found = words_of(Batch(given, [False] * len(given))).articles.tolist()
    assert all(count <= text.count(" the ") for count, text in zip(found, given, strict=True))
    assert words_of(Batch(["x the y the the z the"], [False])).articles.tolist() == [2]


def test_hexadecimal_tokens_are_those_of_the_slow_way() -> None:
    draw = random.Random(7)
    pieces = ("0x", "0x", "12", "a1", "F", "0", ",", ";", "}", "g", "é", "０", "ab12", "12345678")
    tokens = {"".join(draw.choices(pieces, k=draw.randint(1, 5))) for _ in range(5000)}
    hexadecimal = [token for token in tokens if len(token) <= 11 and _is_hex(token)]
    assert [token for token in tokens if _HEX.match(token)] == hexadecimal
    assert len(hexadecimal) > 50
