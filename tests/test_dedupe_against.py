"""Earlier builds: what they hold is a duplicate, whatever their options were; and who stays by the order of sources."""

import gzip
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from builds import mrprep
from dedupe_helpers import InProcess, all_pairs, shingle_sets
from test_dedupe_command import dedupe, jsonl, records
from test_dedupe_stage import POEM, WORDS, varied

from mrprep.minhash.clusters import components
from mrprep.stages import against
from mrprep.stages.dedupe import Options

LONGER = POEM + "又及又及"


def clusters(out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(out / "dedup/clusters.parquet").to_pylist()
    return rows


def lines_left(out: Path) -> list[int]:
    return [record["line"] for record in records(out)]


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a build that holds POEM, varied(1), a copy that it removed, and a short text."""
    folder = tmp_path_factory.mktemp("old")
    dedupe(jsonl(folder / "in.jsonl", [POEM, varied(1), varied(1) + " again", "短"]), "--out", folder / "june")
    return folder / "june"


def test_what_is_there_wins_even_over_the_longer_and_the_first(old: Path, tmp_path: Path) -> None:
    texts = [LONGER, varied(2), varied(1), "短", varied(2).upper(), POEM, "长", varied(1) + " again"]
    out = tmp_path / "july"
    said = dedupe(jsonl(tmp_path / "new.jsonl", texts), "--out", out, "--against", old).stdout
    assert lines_left(out) == [2, 7]
    rows = {row["doc"]: (row["survivor"], row["against"], row["kind"], row["cluster"]) for row in clusters(out)}
    assert rows == {
        0: (0, "june", "near", 0),
        2: (1, "june", "exact", 2),
        3: (3, "june", "exact", 3),
        4: (1, None, "near", 1),
        5: (0, "june", "exact", 0),
        7: (2, "june", "exact", 7),
    }
    assert np.load(out / "dedup/verdict.npy").tolist() == [-2, -1, -2, -2, 1, -2, -1, -2]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["counts"]["duplicates"]["held"] == 5
    assert manifest["ledger"]["documents"]["duplicates"] == 6
    assert mrprep("verify", out).returncode == 0
    assert "1 within a source, 5 held by earlier builds" in said


def test_why_names_the_build_and_the_document(old: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dedupe(jsonl(tmp_path / "new.jsonl", [LONGER, varied(3), varied(3).upper()]), "--out", out, "--against", old)
    told = mrprep("why", out, "new.jsonl:1").stdout
    assert "in.jsonl:1, which the earlier build june holds" in told and f"+ {LONGER}" in told
    assert "kept, and stands for 1 more" in mrprep("why", out, "new.jsonl:2").stdout
    run = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps({**run, "against": {"june": str(tmp_path)}}))
    assert "of document 0 of the earlier build june" in mrprep("why", out, "new.jsonl:1").stdout


def test_builds_of_other_options_and_of_no_dedupe_are_sketched_again(old: Path, tmp_path: Path) -> None:
    source = jsonl(tmp_path / "new.jsonl", [LONGER, varied(2), varied(1)])
    for name, more in (("same", ()), ("lower", ("--threshold", 0.6)), ("higher", ("--threshold", 0.95))):
        dedupe(source, "--out", tmp_path / name, "--against", old, *more)
    assert lines_left(tmp_path / "same") == lines_left(tmp_path / "lower") == [2]
    assert lines_left(tmp_path / "higher") == [1, 2]
    earlier = against.open_earlier([old])
    used = {}
    for options in (Options(), Options(keep="first", cluster="star"), Options(ngram=4), Options(seed=2)):
        (held,) = against.hold(InProcess(tmp_path / "phases"), earlier, options)
        used[options] = (held.parts[0].path / "bands.npy").is_symlink()
        made = against.HeldUnit(old / "text/part-00000.parquet", (), options)
        again = tmp_path / "again"
        shutil.rmtree(again, ignore_errors=True)
        again.mkdir()
        against.hold_unit(made, again)
        assert (np.load(again / "bands.npy") == np.load(held.parts[0].path / "bands.npy")).all()
    assert list(used.values()) == [True, True, False, False]


@pytest.mark.mindspore
def test_a_build_of_shards_against_one_without_dedupe_and_one_of_documents(old: Path, tmp_path: Path) -> None:
    raw = jsonl(tmp_path / "raw.jsonl", [varied(n) for n in range(10, 20)])
    done = mrprep("build", raw, "--pipeline", "raw", "--seq", 32, "--out", tmp_path / "raw.build")
    assert done.returncode == 0, done.stderr
    new = jsonl(tmp_path / "new.jsonl", [varied(n) for n in range(1, 30)])
    both = ("--against", tmp_path / "raw.build", "--against", old)
    done = mrprep("build", new, "--seq", 32, "--out", tmp_path / "out", *both)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest["ledger"]["documents"] == {
        "dropped": 0, "duplicates": 11, "kept": 18, "sampled_out": 0, "empty": 0,
    }  # fmt: skip
    assert np.load(tmp_path / "out/dedup/verdict.npy").tolist() == [-3] + [-1] * 8 + [-2] * 10 + [-1] * 10
    assert [each["name"] for each in manifest["pipeline"]["against"]] == ["raw.build", "june"]


def test_another_build_in_its_place_is_another_request(old: Path, tmp_path: Path) -> None:
    source = jsonl(tmp_path / "new.jsonl", [LONGER, varied(2)])
    shutil.copytree(old, tmp_path / "june")
    arguments = (source, "--out", tmp_path / "out", "--against", tmp_path / "june")
    dedupe(*arguments)
    dedupe(*arguments)
    shutil.rmtree(tmp_path / "june")
    dedupe(jsonl(tmp_path / "other.jsonl", [varied(2)]), "--out", tmp_path / "june")
    again: subprocess.CompletedProcess[str] = mrprep("dedupe", *arguments)
    assert again.returncode == 1 and "against" in again.stderr
    dedupe(*arguments, "--overwrite")
    assert lines_left(tmp_path / "out") == [1]
    assert mrprep("dedupe", source, "--out", tmp_path / "x", "--against", tmp_path).returncode == 1


def test_a_build_is_not_made_in_place_of_the_one_it_is_compared_with(old: Path, tmp_path: Path) -> None:
    shutil.copytree(old, tmp_path / "june")
    (tmp_path / "link").symlink_to(tmp_path / "june")
    source = jsonl(tmp_path / "new.jsonl", [LONGER, varied(2)])
    before = (tmp_path / "june/manifest.json").read_bytes()
    for named in ("june", "link"):
        done = mrprep("dedupe", source, "--out", "june", "--against", named, "--overwrite", cwd=tmp_path)
        assert done.returncode == 1 and "give another --out" in done.stderr
    assert (tmp_path / "june/manifest.json").read_bytes() == before
    assert not (tmp_path / "june.work").exists()


@pytest.mark.parametrize("gone", ["dedup", "text", "dedup/part-00000/bands.npy"])
def test_a_damaged_earlier_build_is_a_sentence(gone: str, old: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(old, tmp_path / "june")
    if (copy / gone).is_dir():
        shutil.rmtree(copy / gone)
    else:
        (copy / gone).write_bytes((copy / gone).read_bytes()[:-8])
    source = jsonl(tmp_path / "new.jsonl", [LONGER])
    done = mrprep("dedupe", source, "--out", tmp_path / "out", "--against", copy)
    assert done.returncode == 1
    assert f"build {copy} is incomplete ({gone}" in done.stderr
    assert done.stderr.endswith(f": see mrprep verify {copy}\n") and done.stderr.count("\n") == 1


def test_a_chain_to_a_held_text_goes_unless_stars_are_asked_for(tmp_path: Path) -> None:
    chain = [POEM[at:] + "".join(chr(0x5F00 + n) for n in range(at)) for at in range(0, 9, 3)]
    dedupe(jsonl(tmp_path / "a.jsonl", chain[:1]), "--out", tmp_path / "old")
    new = jsonl(tmp_path / "b.jsonl", chain[1:])
    for cluster, left in (("connected", []), ("star", [2])):
        dedupe(new, "--out", tmp_path / cluster, "--against", tmp_path / "old", "--cluster", cluster)
        assert lines_left(tmp_path / cluster) == left
    assert [row["kind"] for row in clusters(tmp_path / "connected")] == ["near", "chain"]


def test_real_news_against_earlier_news_is_what_all_pairs_give(shared: Path, tmp_path: Path) -> None:
    with gzip.open(shared / "corpora/en_reuters/reuters.jsonl.gz") as stream:
        texts = [json.loads(line)["text"] for line in stream]
    old, new = texts[::2], texts[1::2]
    texts = old + new
    dedupe(jsonl(tmp_path / "a.jsonl", old), "--out", tmp_path / "old")
    dedupe(jsonl(tmp_path / "b.jsonl", new), "--out", tmp_path / "out", "--against", tmp_path / "old")
    seen: dict[str, int] = {}
    copies = [(seen.setdefault(text, number), number) for number, text in enumerate(texts)]
    edges = np.array([*all_pairs(shingle_sets(texts), 0.8), *copies], np.int64)
    truth = components(len(texts), edges)
    expected = np.isin(truth[len(old) :], truth[: len(old)])
    found = np.load(tmp_path / "out/dedup/verdict.npy") == -2
    assert expected.sum() > 50
    assert (found == expected).all()
    for row in clusters(tmp_path / "out"):
        if row["against"]:
            assert truth[len(old) + row["doc"]] == truth[row["survivor"]]


def test_the_source_named_first_keeps_its_copy(tmp_path: Path) -> None:
    long = " ".join(WORDS)
    for name, texts in (("crawl", [long + " more", "短", POEM]), ("books", [long, "短", varied(2)])):
        (tmp_path / name).mkdir()
        jsonl(tmp_path / name / "x.jsonl", texts)
    inputs = {"books": tmp_path / "books", "crawl": tmp_path / "crawl"}
    for order in (("books", "crawl"), ("crawl", "books")):
        out = tmp_path / "-".join(order)
        dedupe(*(inputs[name] for name in order), "--out", out, "--keep", "source")
        kept = {(record["source"], record["line"]) for record in records(out)}
        other = order[1]
        assert kept == {(order[0], 1), (order[0], 2), (order[0], 3), (other, 3)}
    dedupe(inputs["books"], inputs["crawl"], "--out", tmp_path / "longest")
    assert ("crawl", 1) in {(record["source"], record["line"]) for record in records(tmp_path / "longest")}
