"""The stage on real text, against all pairs by exact Jaccard."""

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from dedupe_helpers import deduped, edited, quality, shingle_sets

from mrprep.stages import dedupe


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        yield from map(json.loads, lines)


def texts_of(path: Path) -> list[str]:
    return [record["text"] for record in records(path)]


def good(found: dict[str, Any]) -> None:
    """Hold what the project promises of removals."""
    assert found["joined"] >= 0.99, found
    assert found["one survivor"] >= 0.99, found
    assert found["outside"] == 0 and found["none left"] == 0, found


@pytest.mark.parametrize(("name", "planted"), [("articles_100", 5), ("articles_1000", 10)])
def test_labelled_articles_give_exactly_their_planted_pairs(
    shared: Path, tmp_path: Path, name: str, planted: int
) -> None:
    folder = shared / "corpora/neardup_labelled_articles"
    ids = [str(record["id"]) for record in records(folder / f"{name}.jsonl")]
    truth = {frozenset(line.split("\t")[:2]) for line in (folder / f"{name}.truth.tsv").read_text().split("\n") if line}
    truth = {pair for pair in truth if pair <= set(ids)}
    verdict = np.load(deduped(tmp_path, texts_of(folder / f"{name}.jsonl")) / "verdict.npy")
    found = {frozenset((ids[doc], ids[verdict[doc]])) for doc in np.flatnonzero(verdict >= 0)}
    assert len(found) == planted
    assert found == truth


def test_chinese_without_spaces(shared: Path, tmp_path: Path) -> None:
    case = shared / "cases/32-zh-no-spaces-neardup"
    verdict = np.load(deduped(tmp_path, texts_of(case / "in/z.jsonl")) / "verdict.npy")
    kept = np.where(verdict < 0, np.arange(verdict.size), verdict)
    pairs = json.loads((case / "expect.json").read_text())["pairs"]
    for pair in pairs:
        similarity = max(pair["J_char5_raw"], pair["J_char5_nfkc_nospace"])
        copy_but_for_punctuation = pair["b"] == 8
        joined = kept[pair["a"] - 1] == kept[pair["b"] - 1]
        assert joined == (similarity >= 0.8 or copy_but_for_punctuation), pair


def test_repeated_characters(shared: Path, tmp_path: Path) -> None:
    out = deduped(tmp_path, texts_of(shared / "cases/16-repeated-char/in/r.jsonl"))
    assert np.load(out / "verdict.npy").tolist() == [-1, 0, *[-1] * 7]


def test_tiny_documents_go_by_their_exact_text(shared: Path, tmp_path: Path) -> None:
    case = shared / "cases/30-many-tiny-docs"
    verdict = np.load(deduped(tmp_path, texts_of(case / "in/tiny.jsonl.gz")) / "verdict.npy")
    expected = json.loads((case / "expect.json").read_text())
    assert verdict.size == expected["n_in"]
    assert np.count_nonzero(verdict < 0) == expected["distinct_texts"]


def oracle_pairs_apart(oracle: Path, ids: list[str], verdict: np.ndarray) -> list[tuple[str, str]]:
    """Return the pairs of character Jaccard of 0.95 and more that were not joined."""
    number = {name: at for at, name in enumerate(ids)}
    kept = np.where(verdict < 0, np.arange(verdict.size), verdict)
    lines = [line.split("\t") for line in oracle.read_text().splitlines()[1:]]
    assert len(lines) > 500
    return [
        (one, other)
        for one, other, similarity, *_ in lines
        if float(similarity) >= 0.95 and kept[number[one]] != kept[number[other]]
    ]


def test_licences(shared: Path, tmp_path: Path) -> None:
    folder = shared / "corpora/neardup_licences"
    texts = texts_of(folder / "spdx_licences.jsonl")
    sets = shingle_sets(texts)
    out = deduped(tmp_path / "connected", texts, parts=2)
    found = quality(texts, sets, out)
    good(found)
    assert found["pairs"] == 394 and found["clusters"] == 60
    counts = json.loads((out / "counts.json").read_text())
    assert round(found["direct"] * found["removed"]) == counts["exact"] + counts["near"]
    ids = [record["id"] for record in records(folder / "spdx_licences.jsonl")]
    assert not oracle_pairs_apart(folder / "spdx_licences.oracle.tsv", ids, np.load(out / "verdict.npy"))
    star = quality(texts, sets, deduped(tmp_path / "star", texts, dedupe.Options(cluster="star")))
    assert star["direct"] == 1.0 and star["outside"] == 0 and star["none left"] == 0


def test_reuters(shared: Path, tmp_path: Path) -> None:
    folder = shared / "corpora/en_reuters"
    texts = texts_of(folder / "reuters.jsonl.gz")
    out = deduped(tmp_path, texts, parts=2)
    found = quality(texts, shingle_sets(texts), out)
    good(found)
    assert found["pairs"] > 200
    ids = [record["id"] for record in records(folder / "reuters.jsonl.gz")]
    apart = oracle_pairs_apart(folder / "oracle.tsv", ids, np.load(out / "verdict.npy"))
    assert apart == [("test/15870", "training/3334")]  # a table of crops: three of its numbers differ


@pytest.mark.slow
def test_laws(shared: Path, tmp_path: Path) -> None:
    folder = shared / "corpora/zh_laws"
    texts = texts_of(folder / "laws.jsonl.gz")
    out = deduped(tmp_path, texts, parts=2)
    good(quality(texts, shingle_sets(texts), out))
    ids = [record["id"] for record in records(folder / "laws.jsonl.gz")]
    assert not oracle_pairs_apart(folder / "oracle.tsv", ids, np.load(out / "verdict.npy"))


@pytest.mark.slow
def test_edited_chapters(shared: Path, tmp_path: Path) -> None:
    rng = random.Random(5)
    table = pq.read_table(shared / "corpora/zh_classics/zh_classics_chapters.parquet", columns=["text"])
    chapters = [text for text in table.column("text").to_pylist() if len(text) > 200][:2000]
    copies = [edited(text, share, rng) for share in (0.02, 0.05, 0.1) for text in chapters[int(share * 100) :: 3]]
    texts = chapters + copies
    found = quality(texts, shingle_sets(texts), deduped(tmp_path, texts, parts=3))
    good(found)
    assert found["pairs"] > 500 and found["direct"] == 1.0


def test_documents_of_two_languages(shared: Path, tmp_path: Path) -> None:
    rng = random.Random(6)
    english = [text for text in texts_of(shared / "corpora/en_reuters/reuters.jsonl.gz") if len(text) > 300][:1200]
    table = pq.read_table(shared / "corpora/zh_classics/zh_classics_chapters.parquet", columns=["text"])
    chinese = table.column("text").to_pylist()
    texts = [f"{chinese[n][: rng.randint(100, 800)]}\n{text}" for n, text in enumerate(english)]
    for share in (3, 8, 20, 40):
        for text in texts[share : share + 60]:
            middle = len(text) // 2
            texts.append(text[:middle] + "新增的几句话" * (share // 3) + " added words" * share + text[middle:])
    found = quality(texts, shingle_sets(texts), deduped(tmp_path, texts))
    good(found)
    assert found["pairs"] > 100


def test_different_poems_stay(shared: Path, tmp_path: Path) -> None:
    folder = shared / "corpora/zh_poetry"
    poems = list(records(folder / "yuding_tang.jsonl.gz"))[:12_000]
    texts = [poem["text"] for poem in poems]
    sets = shingle_sets(texts)
    out = deduped(tmp_path, texts)
    good(quality(texts, sets, out))
    table = pq.read_table(out / "clusters.parquet").to_pylist()
    assert 20 < len(table) < 600
    lengths = [len(set(text)) for text in texts]
    for row in table:
        common = set(texts[row["doc"]]) & set(texts[row["survivor"]])
        assert len(common) >= 0.75 * min(lengths[row["doc"]], lengths[row["survivor"]]), row
