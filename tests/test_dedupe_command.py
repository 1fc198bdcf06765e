"""``mrprep dedupe``: what it writes, what it refuses, and that nothing disturbs it."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from builds import hashes, kill_when, mrprep, phases
from test_dedupe_stage import POEM, varied

from mrprep.builddir.layout import work_of
from mrprep.cli.app import run

CORPUS = Path(__file__).resolve().parent.parent / "samples" / "corpus"


def dedupe(*arguments: object) -> subprocess.CompletedProcess[str]:
    done = mrprep("dedupe", *arguments)
    assert done.returncode == 0, done.stderr
    return done


def jsonl(path: Path, texts: list[str], field: str = "text") -> Path:
    path.write_text("".join(json.dumps({field: text}, ensure_ascii=False) + "\n" for text in texts), "utf-8")
    return path


def records(out: Path) -> list[dict[str, Any]]:
    files = sorted((out / "documents").iterdir())
    if files[0].suffix == ".parquet":
        return [record for file in files for record in pq.read_table(file).to_pylist()]
    return [json.loads(line) for file in files for line in file.read_text("utf-8").split("\n")[:-1]]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dedupe") / "out"
    dedupe(CORPUS, "--out", out)
    return out


def test_what_stays_is_written_as_it_was_in_the_order_of_the_input(tmp_path: Path) -> None:
    odd = "\u2028 tab\t and \U0001f600 \x00 \\ end"
    texts = [varied(1), odd, POEM, varied(1).upper(), "短", "短", POEM + "又及", varied(2)]
    source = jsonl(tmp_path / "in.jsonl", texts, "body")
    out = tmp_path / "out"
    said = dedupe(source, "--out", out, "--text-field", "body").stdout
    kept = [1, 2, 5, 7, 8]
    assert [record["line"] for record in records(out)] == kept
    assert [record["text"] for record in records(out)] == [texts[line - 1] for line in kept]
    assert {record["path"] for record in records(out)} == {"in.jsonl"}
    assert "exact 1, near 2" in said or "near 2, exact 1" in said
    assert "documents/part-00000.jsonl" in said
    assert mrprep("verify", out).returncode == 0
    assert "documents/part-00000.jsonl, line 4" in mrprep("why", out, "in.jsonl:7").stdout
    assert "Jaccard 0.9" in mrprep("why", out, "in.jsonl:3").stdout
    dedupe(source, "--out", tmp_path / "parquet", "--text-field", "body", "--format", "parquet")
    assert records(tmp_path / "parquet") == records(out)
    assert mrprep("build", out / "documents", "--dry-run", cwd=tmp_path).returncode == 0


def test_options_reach_the_stage(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [POEM, POEM + "又及又及又及", varied(1)])
    dedupe(source, "--out", tmp_path / "first", "--keep", "first")
    assert [record["line"] for record in records(tmp_path / "first")] == [1, 3]
    dedupe(source, "--out", tmp_path / "high", "--threshold", 0.95)
    assert [record["line"] for record in records(tmp_path / "high")] == [1, 2, 3]


def test_a_pipeline_cleans_and_filters_before(sample: Path, tmp_path: Path) -> None:
    as_they_are = json.loads((sample / "manifest.json").read_text())
    assert as_they_are["counts"]["read"]["left_out"].keys() <= {"read"}
    assert as_they_are["counts"]["read"]["edited"] == 0
    dedupe(CORPUS, "--out", tmp_path / "out", "--pipeline", "zh-web")
    said = json.loads((tmp_path / "out/manifest.json").read_text())
    assert said["counts"]["read"]["left_out"]["filter"] and said["counts"]["read"]["edited"]
    assert said["ledger"]["documents"]["kept"] == len(records(tmp_path / "out"))


def test_jobs_and_kills_change_no_byte(sample: Path, tmp_path: Path) -> None:
    dedupe(CORPUS, "--out", tmp_path / "one", "--jobs", 1)
    assert hashes(tmp_path / "one") == hashes(sample)
    out = tmp_path / "killed"
    home = work_of(out) / "phases" / "dedupe.candidates"
    assert kill_when(home.is_dir, signal.SIGKILL, "dedupe", CORPUS, "--out", out) == -signal.SIGKILL
    assert not out.exists()
    dedupe(CORPUS, "--out", out)
    assert hashes(out) == hashes(sample)
    assert phases(out)["read"] == (phases(out)["read"][0],) * 2


def test_the_ledger_counts_what_was_written(sample: Path) -> None:
    manifest = json.loads((sample / "manifest.json").read_text())
    books = manifest["ledger"]["documents"]
    verdict = np.load(sample / "dedup/verdict.npy")
    assert books["kept"] == (verdict == -1).sum() == len(records(sample)) == manifest["ledger"]["written"]["pieces"]
    assert books["duplicates"] == (verdict >= 0).sum() > 0
    assert manifest["ledger"]["read"]["documents"] == sum(books.values())


@pytest.mark.parametrize("command", [["audit"], ["train"], ["show", "train-00000:1"]])
def test_what_needs_shards_says_so(command: list[str], sample: Path) -> None:
    done = mrprep(command[0], sample, *command[1:])
    assert done.returncode == 1
    assert "holds documents and no shards" in done.stderr and "mrprep build" in done.stderr


def test_mistakes_are_sentences(sample: Path, tmp_path: Path) -> None:
    assert "--out" in mrprep("dedupe", CORPUS).stderr
    assert mrprep("dedupe", CORPUS).returncode == 2
    assert "jsonl or parquet" in mrprep("dedupe", CORPUS, "--out", tmp_path / "x", "--format", "csv").stderr
    again = mrprep("dedupe", CORPUS, "--out", sample, "--format", "parquet")
    assert again.returncode == 1
    assert 'form: "jsonl" -> "parquet"' in again.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--recall", "2"], "--recall: input should be less than 1"),
        (["--permutations", "0"], "--permutations: input should be greater"),
        (["--threshold", "0.001"], "--threshold: recall 0.998 at 0.001 needs"),
        (["--threshold", "0.5", "--recall", "0.9999", "--permutations", "4"], "--threshold with --recall with --perm"),
        (["--contained", "0.1"], "--contained: input should be greater than 0.5"),
        (["--keep", "last"], "--keep: input should be"),
        (["--keep", "best"], "--keep: best goes by a field"),
        (["--cluster", "moon"], "--cluster: input should be"),
    ],
)
def test_a_bad_value_is_blamed_on_its_flag(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    curve = arguments[0] == "--recall" or "--permutations" in arguments
    command = ["dedupe", "curve"] if curve else ["dedupe", str(CORPUS), "--out", str(tmp_path / "x")]
    assert run([*command, *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and "default.toml" not in error


def test_the_curve_is_drawn_with_the_numbers_of_the_formula(tmp_path: Path) -> None:
    drawn = mrprep("dedupe", "curve").stdout.splitlines()
    assert drawn[0] == "12 bands of 4 rows: 48 permutations, 96 bytes a document"
    half = next(line for line in drawn if line.startswith(" 0.500"))
    chance = 1 - (1 - 0.5**4) ** 12
    assert half.split()[1] == f"{chance:.4f}" and half.count("█") == round(50 * chance)
    assert next(line for line in drawn if line.endswith("<- threshold")).startswith(" 0.800   0.9982")
    other = mrprep("dedupe", "curve", "--threshold", 0.5, "--recall", 0.9, "--permutations", 256).stdout
    bands, rows = (int(other.split()[place]) for place in (0, 3))
    assert bands * rows <= 256 and 1 - (1 - 0.5**rows) ** bands >= 0.9
    refused = mrprep("dedupe", "curve", "--permutations", 3)
    assert (
        refused.returncode == 2 and "--permutations: recall 0.998 at 0.8 needs 4 permutations or more" in refused.stderr
    )
