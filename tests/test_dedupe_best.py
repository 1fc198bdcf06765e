"""keep = "best": of a cluster the document of the highest score stays, wherever the score was read from."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builds import mrprep
from test_dedupe_command import dedupe, records

from mrprep.sources.texts import score_of

STORY = [f"word{n}" for n in range(150)]
TALE = [f"字{n}" for n in range(150)]
PIPELINE = """
stages = ["clean", "dedupe", "tokenize", "pack", "shard"]
[input]
score = "meta.score"
[dedupe]
keep = "best"
"""


def near(words: list[str], number: int, *more: str) -> str:
    return " ".join([*words[:40], f"x{number}", *words[40:], *more])


RECORDS: list[tuple[str, Any, bool]] = [
    (near(STORY, 0, "a", "longer", "end"), 0.5, False),
    (near(STORY, 1), 2, True),
    (near(STORY, 2), 1.5, False),
    (near(STORY, 3, "longest", "of", "all", "these"), None, False),
    (near(STORY, 4), "9", False),
    (near(STORY, 5), float("nan"), False),
    (near(TALE, 0), -3.0, False),
    (near(TALE, 1, "more"), -1, True),
    (near(TALE, 2), -1, False),
    (near(TALE, 3, "some"), -1.0, False),
    ("One text  \nand its copy", None, False),
    ("One text\nand its copy", 1, True),
    ("One text\nand its copy", 1, False),
    ("alone and without a score", None, True),
]


def jsonl(path: Path) -> Path:
    lines = [json.dumps({"text": text, "meta": {"score": score, "by": "x"}}) for text, score, _ in RECORDS]
    path.write_text("\n".join(lines))
    return path


def parquet(path: Path) -> Path:
    numbers = [score if isinstance(score, int | float) else None for _, score, _ in RECORDS]
    meta = pa.StructArray.from_arrays([pa.array(numbers, pa.float32())], ["score"])
    pq.write_table(pa.table({"text": [text for text, _, _ in RECORDS], "meta": meta}), path, row_group_size=5)
    return path


@pytest.mark.parametrize("write", [jsonl, parquet])
def test_the_highest_stays_then_the_longest_then_the_first(write: Any, tmp_path: Path) -> None:
    source, out = write(tmp_path / f"in.{write.__name__}"), tmp_path / "out"
    (tmp_path / "p.toml").write_text(PIPELINE)
    said = dedupe(source, "--pipeline", tmp_path / "p.toml", "--out", out).stdout
    stay = [number for number, (_, _, stays) in enumerate(RECORDS, 1) if stays]
    assert [record["line"] for record in records(out)] == stay
    assert "no score    5 documents: among duplicates they give way to those that have one\n" in said
    scores = pq.read_table(out / "text/part-00000.parquet")["score"].to_pylist()
    assert scores == [0.5, 2, 1.5, None, None, None, -3, -1, -1, -1, None, 1, 1, None]


def test_inputs_do_not_have_the_score_of_the_sources_whose_place_they_take(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl")
    listed = f'[[source]]\nname = "a"\npath = "{source}"\nscore = "meta.score"\n'
    (tmp_path / "p.toml").write_text(PIPELINE.replace('score = "meta.score"', "") + listed)
    done = mrprep("dedupe", source, "--pipeline", tmp_path / "p.toml", "--out", tmp_path / "out")
    assert done.returncode == 2 and 'write score = "..." under [input] too' in done.stderr
    (tmp_path / "p.toml").write_text(PIPELINE + listed)
    dedupe(source, "--pipeline", tmp_path / "p.toml", "--out", tmp_path / "out")


def test_best_needs_a_field(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(PIPELINE.replace('score = "meta.score"', ""))
    done = mrprep("dedupe", jsonl(tmp_path / "in.jsonl"), "--pipeline", tmp_path / "p.toml", "--out", tmp_path / "out")
    assert done.returncode == 1
    assert 'dedupe.keep: best goes by a field that [input] or a [[source]] names: score = "..."' in done.stderr


@pytest.mark.parametrize(
    ("value", "score"),
    [
        (3, 3.0),
        (Decimal("0.25"), 0.25),
        (True, None),
        ("3", None),
        (float("inf"), None),
        (10**400, None),
        (None, None),
        ([1], None),
    ],
)
def test_what_is_a_score(value: object, score: float | None) -> None:
    assert score_of({"a": {"b": value}}, "a.b") == score
    assert score_of({"a.b": value}, "a.b") == score
    assert score_of({"c": 1}, "a.b") is None
    assert score_of([value], "a.b") is None
    assert score_of({"a": value}, None) is None
