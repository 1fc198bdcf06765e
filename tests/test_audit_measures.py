"""The numbers behind the findings, against values worked out by hand or by a plain loop."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep import order
from mrprep.audit import foreign
from mrprep.audit.block import Block, Stretches
from mrprep.audit.draw import draw
from mrprep.audit.drift import deal, divergence, main_documents
from mrprep.audit.finding import Tally, grade
from mrprep.audit.frequency import entropy, zipf
from mrprep.audit.ids import Range
from mrprep.audit.leftovers import PATTERNS, Leftovers
from mrprep.audit.limits import Limits
from mrprep.audit.padding import Padding
from mrprep.audit.ranks import rank_batches
from mrprep.audit.repeats import periodic
from mrprep.audit.subject import Subject
from mrprep.audit.unknown import Unknown
from mrprep.provenance.tables import Found
from mrprep.tokenizers.sentencepiece import open_sentencepiece

PATTERN = {pattern.check: pattern for pattern in PATTERNS}


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 300), min_size=1, max_size=6), st.integers(1, 500), st.integers(0, 1 << 40))
def test_draw_takes_from_every_shard_without_repeats(rows, sample, seed):
    drawn = draw({"train": rows, "valid": [40]}, sample, seed)
    for n, found in zip([*rows, 40], [*drawn["train"], *drawn["valid"]], strict=True):
        assert found.size >= min(n, 1)
        assert np.unique(found).size == found.size
        assert found.tolist() == sorted(found.tolist())
        assert all(0 <= row < n for row in found.tolist())
    assert drawn["valid"][0].size >= min(40, sample // 8)


def test_draw_is_proportional_and_goes_by_the_seed():
    drawn = draw({"train": [1000, 3000]}, 400, 0)["train"]
    assert [found.size for found in drawn] == [100, 300]
    assert not np.array_equal(drawn[0], draw({"train": [1000, 3000]}, 400, 1)["train"][0])


def test_draw_is_not_the_order_in_which_rows_were_packed():
    """bestfit orders rows by ``permute(seed, ...)``: the same call here would see full rows alone."""
    packed = order.permute(0, 1000, np.arange(100))
    drawn = draw({"train": [1000]}, 100, 0)["train"][0]
    assert np.intersect1d(packed, drawn).size < 30


def test_entropy_and_zipf():
    assert entropy(np.array([5] * 8)) == pytest.approx(3.0)
    assert entropy(np.array([7, 0])) == 0
    assert entropy(np.zeros(3, np.int64)) == 0
    falling = (1e9 / np.arange(1, 2001) ** 1.3).astype(np.int64)
    assert zipf(falling) == pytest.approx(1.3, abs=1e-3)
    assert zipf(np.array([3, 2])) == 0


def test_divergence_of_equal_disjoint_and_mixed_histograms():
    assert divergence(np.array([1.0, 3]), np.array([2.0, 6])) == pytest.approx(0)
    assert divergence(np.array([1.0, 0]), np.array([0.0, 9])) == pytest.approx(1)
    middle = 0.5 * (1 * math.log2(1 / 0.75)) + 0.5 * (0.5 * math.log2(0.5 / 0.75) + 0.5 * math.log2(0.5 / 0.25))
    assert divergence(np.array([4.0, 0]), np.array([1.0, 1])) == pytest.approx(middle)
    assert divergence(np.zeros(2), np.array([1.0, 1])) == 0


def test_deal_tells_a_foreign_group_from_chance():
    rng = np.random.default_rng(1)
    rows = rng.multinomial(500, np.ones(64) / 64, 90).astype(float)
    seen, chance = deal(rows, np.array([30, 30, 30]), 0)
    assert seen.max() < 1.25 * chance.max()
    rows[:30] = rng.multinomial(500, np.arange(1, 65) / np.arange(1, 65).sum(), 30)
    seen, chance = deal(rows, np.array([30, 30, 30]), 0)
    assert seen.argmax() == 0
    assert seen[0] > 2 * chance.max()


def test_periodic():
    rng = np.random.default_rng(0)
    rows = np.stack(
        [
            np.full(129, 7),
            np.resize(rng.integers(0, 1000, 23), 129),
            rng.integers(0, 1000, 129),
            np.where(np.arange(129) < 20, 7, 1),
        ]
    ).astype(np.int32)
    text = np.ones(rows.shape, bool)
    text[3, 20:] = False
    found = periodic(rows, text)
    assert found[0] == found[1] == 1
    assert found[2] < 0.05
    assert found[3] == 0  # 20 tokens of text: too few to judge


def test_grade_and_tally():
    assert [grade(x, 0.1, 0.5) for x in (0.09, 0.1, 0.5)] == ["ok", "warning", "failure"]
    tally = Tally()
    assert tally.share == 0
    tally.add(1, 4)
    tally.add(2, 4)
    assert tally.share == 3 / 8


def block(*texts: str) -> Block:
    """A row a text, of a document a row."""
    n = len(texts)
    places = np.arange(n)
    return Block(
        split="train",
        shard="train/train-00000.mindrecord",
        rows=places,
        tokens=np.zeros((n, 1), np.int32),
        stretches=Stretches(places, 0 * places, places, 0 * places, 0 * places, places * 0 + 1),
        owner=places.astype(np.int32)[:, None],
        found={i: Found(i, "s", b"f\x1b.txt", 1, 0, i) for i in range(n)},
        sizes={i: len(text.encode()) for i, text in enumerate(texts)},
        decoded=texts,
    )


@pytest.mark.parametrize(
    ("check", "text", "hits"),
    [
        ("odd-characters", "a\x07b", 1),
        ("odd-characters", "zero\u200bwidth", 1),
        ("odd-characters", "bidi \u202e", 1),
        ("odd-characters", "private \ue107", 1),
        ("odd-characters", "lost \ufffd here", 1),
        ("odd-characters", "tab\tline\n ideographic\u3000space, می‌خواهم 👩‍👩‍👧 ﷽ \u0085", 0),
        ("odd-characters", "\ufffdcut at both ends\ufffd", 0),
        ("mojibake", "cafÃ©s â€œquotedâ€\x9d â€™twas ä¸\xadæ–‡", 1),
        ("mojibake", "ÖÐÎÄ×Ö·û ¼¯ºÏ twice only", 0),
        ("mojibake", "ÖÐÎÄ×Ö·û ±àÂë²»¶Ô £¬ÎÒÃÇ¿´²»¶®¡£", 1),
        ("mojibake", "×××人民法院（××××）……执……号 ×××××× ××××", 0),
        ("mojibake", "锟斤拷 与 烫烫烫 和 锟斤拷锟斤拷", 1),
        ("mojibake", "Größe, façade, naïveté, œuvre, Zürich, Ærø, «à la carte» – 中文 русский", 0),
        ("html", "<div class='a'>x</div>" * 10, 1),
        ("html", "&nbsp;" * 20, 1),
        ("html", "one <b>bold</b> word & a < b > c", 0),
        ("html", "if a <b and c> d: " * 30, 0),
        ("markup", "text <script>alert(1)</script>", 1),
        ("markup", "<img src=x onerror=alert(1)> text", 1),
        ("markup", "cell </td> end", 1),
        ("markup", "a broken off <a href='/index'", 1),
        ("markup", "Vec<T>, <b>bold</b>, a <div b, class='A' and x.src='b', <data>, table>", 0),
        ("literal-specials", "so <|endoftext|> it ends", 1),
        ("literal-specials", "<｜begin▁of▁sentence｜>", 1),
        ("literal-specials", "</s>", 1),
        ("literal-specials", "[INST] hello [/INST]", 1),
        ("literal-specials", "<0xE4>", 1),
        ("literal-specials", "a <| b |> c, [1], <s>, Vec<T>, |x|", 0),
    ],
)
def test_leftovers(check, text, hits):
    found = Leftovers(PATTERN[check], (0.4, 0.9))
    found.see(block("nothing here", text))
    (finding,) = found.findings()
    assert finding.value == hits / 2
    assert finding.level == ("warning" if hits else "ok")
    assert [example.row for example in finding.examples] == ["train-00000:1"] * hits


def test_examples_are_safe_to_print():
    shown = block("\x1b]0;title\x07 \u202e").example(0)
    assert shown.place == "f\\x1b.txt:1"
    assert shown.text.isprintable()


def test_main_documents():
    rows = block("a", "b")
    both = Stretches(*(np.array(x) for x in ([0, 0, 0], [0, 5, 9], [4, 8, 6], [0, 0, 0], [0, 0, 0], [5, 9, 2])))
    joined = Block(**{name: getattr(rows, name) for name in Block.__slots__ if name != "stretches"}, stretches=both)
    assert main_documents(joined).tolist() == [8, -1]


def test_rows_of_different_length(monkeypatch, shared):
    """What fills short rows up to a rectangle is no id of the data, nor padding; a -1 of the row itself is both."""
    ragged = [np.array([5, 6, -1]), np.arange(1000, 1040), np.array([7, 8, 9, 10])]
    monkeypatch.setattr(foreign, "read_ragged", lambda *_: iter(ragged))
    tokenizer = open_sentencepiece(shared / "corpora" / "tokenizers" / "llama2_32k.model")
    subject = Subject(Path(), {}, 40, 0)
    (seen,) = foreign.foreign_blocks(subject, tokenizer, "train", {"file": "a", "width": -1}, np.arange(3))
    checks = [Range(tokenizer.vocab_size), Padding(None, (0.05, 0.5))]
    for check in checks:
        check.see(seen)
    ids, padding = (finding for check in checks for finding in check.findings())
    assert ids.message.startswith("1 of 47 ids")
    assert ids.examples[0].text.startswith("-1 in: ")
    assert padding.value == 1 / 47


def test_bytes_of_line_ends_are_no_lost_characters(shared):
    tokenizer = open_sentencepiece(shared / "corpora" / "tokenizers" / "llama2_32k.model")
    ids, _ = tokenizer.encode_batch(["one\ntwo\n\tthree\n"])
    held = replace(block(""), tokens=ids[None], owner=np.zeros((1, ids.size), np.int32))
    assert sum(tokenizer.piece(token) == "<0x0A>" for token in ids.tolist()) == 3
    for text, hits in ((ids, 0), (np.append(ids, tokenizer.encode_batch(["\ua000"])[0][-3:]), 3)):
        check = Unknown(tokenizer, (0.1, 0.2), (0.1, 0.2))
        check.see(replace(held, tokens=text[None], owner=np.zeros((1, text.size), np.int32)))
        assert list(check.findings())[1].value == hits / text.size


def test_batch_and_ranks_must_fit():
    with pytest.raises(ValueError, match="batch 8 must be a multiple of each of ranks, 3"):
        Limits(ranks=(3,))


def test_rank_batches(monkeypatch):
    found = rank_batches(0, 1003, (1, 2, 4), 8)
    assert found.level == "ok"
    assert found.message.startswith("125 steps of 8 rows")
    assert "3 rows sit an epoch out" in found.message
    assert rank_batches(0, 7, (1, 2), 8).level == "warning"
    real = order.rows

    def wrapping(seed, epoch, n, batch, rank, ranks, start, stop=None):
        return real(seed, epoch, n, batch, 0, ranks, start, stop)  # every rank gets rank 0's rows

    monkeypatch.setattr(order, "rows", wrapping)
    found = rank_batches(0, 1003, (1, 2, 4), 8)
    assert found.level == "failure"
    assert "at 2, 4 ranks" in found.message
