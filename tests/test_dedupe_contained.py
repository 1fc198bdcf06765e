"""Texts inside longer texts: by hand, against all pairs of sets, and what it must not depend on."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from dedupe_helpers import deduped, edited, shingle_sets
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.duplicates import contained, set_writer
from mrprep.minhash import winnow
from mrprep.stages.dedupe import Options

ON = Options(contained=0.9)


def words(start: int, count: int) -> str:
    return " ".join(f"word{number}" for number in range(start, start + count))


def rows(out: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(out / "clusters.parquet").to_pylist()
    return found


def verdict(out: Path) -> list[int]:
    found: list[int] = np.load(out / "verdict.npy").tolist()
    return found


PAGE = words(1000, 300)
LONG = f"{words(5000, 400)} {PAGE} {words(6000, 400)}"
BOOK = f"{words(7000, 2000)} {LONG} {words(9500, 2000)}"


def test_a_page_goes_for_the_longest_that_holds_it(tmp_path: Path) -> None:
    texts = [PAGE, words(20_000, 500), LONG, BOOK, PAGE, PAGE.upper() + " end", "short"]
    out = deduped(tmp_path / "on", texts, ON)
    assert verdict(out) == [3, -1, 3, -1, 3, 3, -1]
    found = {row["doc"]: (row["kind"], row["survivor"], row["share"], row["jaccard"]) for row in rows(out)}
    page, book = 296, 5096
    assert found[5] == ("contained", 3, page / (page + 1), page / (book + 1))
    assert found[2] == ("contained", 3, 1.0, 1096 / book)
    assert found[0][0] == found[4][0] == "chain" and found[0][3] is None  # went for the longer one, document 5
    counts = json.loads((out / "counts.json").read_text())
    assert (counts["contained"], counts["chain"], counts["near"], counts["exact"]) == (2, 2, 0, 0)
    assert verdict(deduped(tmp_path / "off", texts)) == [5, -1, -1, -1, 5, -1, -1]


def test_the_share_decides_and_short_texts_stay(tmp_path: Path) -> None:
    half = words(1000, 150) + " " + words(30_000, 150)
    assert verdict(deduped(tmp_path / "a", [half, LONG], ON)) == [-1, -1]
    most = words(1000, 280) + " " + words(30_000, 20)
    assert verdict(deduped(tmp_path / "b", [most, LONG], ON)) == [1, -1]
    assert verdict(deduped(tmp_path / "c", [most, LONG], Options(contained=0.95))) == [-1, -1]
    assert verdict(deduped(tmp_path / "d", [words(1000, 60), LONG], ON)) == [-1, -1]
    assert verdict(deduped(tmp_path / "e", [LONG, PAGE], Options(contained=0.9, keep="first"))) == [-1, 0]


def test_chapters_and_their_excerpts_are_what_all_pairs_give(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(3)
    table = pq.read_table(shared / "corpora/zh_classics/zh_classics_chapters.parquet", columns=["text"])
    chapters = [text for text in table.column("text").to_pylist() if len(text) > 3000][:150]
    excerpts = []
    for text in chapters:
        length = rng.randint(100, 1500)
        at = rng.randrange(len(text) - length)
        excerpts.append(edited(text[at : at + length], rng.choice([0, 0, 0.005, 0.01, 0.03, 0.1]), rng))
    texts = chapters + excerpts
    sets = shingle_sets(texts)
    expected = {
        number
        for number, own in enumerate(sets)
        if any(
            len(other) > len(own) and np.isin(own, other, assume_unique=True).mean() >= 0.9
            for at, other in enumerate(sets)
            if at != number
        )
    }
    out = deduped(tmp_path / "a", texts, ON)
    removed = {row["doc"] for row in rows(out)}
    inside = [row for row in rows(out) if row["kind"] == "contained"]
    assert len(expected) > 80
    assert {row["doc"] for row in inside} <= expected
    assert len(expected & removed) >= 0.98 * len(expected), sorted(expected - removed)
    for row in inside:
        own, other = sets[row["doc"]], sets[row["survivor"]]
        assert row["share"] == np.isin(own, other, assume_unique=True).mean()
    monkeypatch.setattr(contained, "PRINTS_A_UNIT", 500)
    monkeypatch.setattr(set_writer, "LONG", 2000)
    split = deduped(tmp_path / "b", texts, ON, parts=4, group_rows=7)
    assert rows(split) == rows(out) and verdict(split) == verdict(out)
    assert len(list((tmp_path / "b/dedupe.shared").iterdir())) > 5


@given(st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=12), max_size=5))
@settings(max_examples=200, deadline=None)
def test_prints_are_the_least_of_each_window(texts: list[list[int]]) -> None:
    was, winnow.WINDOW = winnow.WINDOW, 4
    try:
        hashes = np.array([shingle for text in texts for shingle in text], np.uint64)
        found, of = winnow.prints(hashes, np.array([len(text) for text in texts], np.int64))
    finally:
        winnow.WINDOW = was
    for number, text in enumerate(texts):
        least = [min(text[at : at + 4]) for at in range(len(text) - 3)]
        once = [value for at, value in enumerate(least) if at == 0 or value != least[at - 1]]
        assert found[of == number].tolist() == once
