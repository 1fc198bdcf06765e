"""The report on duplicates: shares within and between sources, the largest clusters, tokens saved."""

import json
from pathlib import Path
from typing import Any

import pytest
from builds import mrprep
from test_dedupe_command import dedupe, jsonl
from test_dedupe_stage import POEM, WORDS, varied


def report(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "report/duplicates.json").read_text("utf-8"))
    return found


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    web = [varied(1), varied(1).upper(), varied(2), POEM, varied(1) + " more", "短", varied(9)]
    books = [POEM + "又及", varied(2), varied(3), "短", "短"]
    folders = []
    for name, texts in (("web", web), ("books", books)):
        (tmp_path / name).mkdir()
        jsonl(tmp_path / name / "x.jsonl", texts)
        folders.append(tmp_path / name)
    return folders


def test_shares_and_largest_clusters_by_hand(inputs: list[Path], tmp_path: Path) -> None:
    jsonl(tmp_path / "old.jsonl", [varied(9), varied(9) + " too"])
    dedupe(tmp_path / "old.jsonl", "--out", tmp_path / "old")
    said = dedupe(*inputs, "--out", tmp_path / "out", "--against", tmp_path / "old").stdout
    words, poem = len(WORDS), len(POEM)
    found = report(tmp_path / "out")
    assert found["sources"] == {
        "web": {
            "documents": 7,
            "units": 5 * words + 1 + poem + 1,
            "removed": 4,
            "removed_units": 3 * words + poem,
            "within": 2,
            "between": {"books": 1},
            "held": {"old": 1},
        },
        "books": {
            "documents": 5,
            "units": poem + 2 + 2 * words + 2,
            "removed": 3,
            "removed_units": words + 2,
            "within": 0,
            "between": {"web": 3},
            "held": {},
        },
    }
    assert (found["documents"], found["removed"]) == (12, 7)
    assert found["units"] == 7 * words + 2 * poem + 6
    first = {"removed": 2, "removed_units": 2 * words, "against": None, "source": "web", "path": "x.jsonl", "line": 5}
    assert found["largest"][0] == {**first, "text": (varied(1) + " more")[:80]}
    assert [(each["removed"], each["against"], each["line"]) for each in found["largest"]] == [
        (2, None, 5),
        (2, None, 6),
        (1, None, 1),
        (1, "old", 1),
        (1, None, 3),
    ]
    share = found["removed_units"] / found["units"]
    assert f"2 within a source, 4 between sources, 1 held by earlier builds; {share:.1%} of the text" in said
    assert "largest clusters: 2 for web/x.jsonl:5, 2 for web/x.jsonl:6, 1 for" in said


@pytest.mark.mindspore
def test_tokens_saved_are_near_what_the_text_would_have_had(inputs: list[Path], tmp_path: Path) -> None:
    model = ("--vocab-size", 400, "--seq", 32)
    (tmp_path / "p.toml").write_text('stages = ["dedupe", "tokenize", "pack", "shard"]\n')
    done = mrprep("build", *inputs, "--out", tmp_path / "a", "--pipeline", tmp_path / "p.toml", *model)
    assert done.returncode == 0, done.stderr
    tokenizer = tmp_path / "a/tokenizer/tokenizer.model"
    whole = mrprep(
        "build", *inputs, "--out", tmp_path / "b", "--pipeline", "raw", "--tokenizer", tokenizer, "--seq", 32
    )
    assert whole.returncode == 0, whole.stderr
    tokens = [json.loads((tmp_path / name / "report/summary.json").read_text())["tokens"] for name in "ab"]
    said = int(done.stdout.split("some ")[1].split(" tokens saved")[0].replace(",", ""))
    assert abs(said - (tokens[1] - tokens[0])) < 0.5 * (tokens[1] - tokens[0])
