"""The documents of a build as files for others: who is in them, in which split, with which ids."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from builds import mrprep as run
from interop_builds import small_build, texts

import mrprep


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> mrprep.OpenBuild:
    return small_build(tmp_path_factory.mktemp("flat"))


def read_jsonl(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_jsonl_holds_every_document_once_and_in_the_split_of_its_rows(flat: mrprep.OpenBuild, tmp_path: Path) -> None:
    out = tmp_path / "texts"
    done = run("export", "jsonl", flat.path, "--out", out)
    assert done.returncode == 0, done.stderr
    train, valid = (read_jsonl(out / f"{name}-00000.jsonl") for name in ("train", "validation"))
    assert sorted(record["text"] for record in train + valid) == sorted(texts(120))
    for split, records in (("train", train), ("valid", valid)):
        rows = flat.splits[split]
        assert {r["id"] for r in records} == {s.id for row in range(rows) for s in flat.provenance(row, split)}
    assert [record["line"] for record in train] == sorted(record["line"] for record in train)
    facts = json.loads((out / "export.json").read_text())
    assert facts["splits"]["train"]["rows"] == len(train) and f"train: {len(train)} documents" in done.stdout
    again = run("export", "jsonl", flat.path, "--out", out)
    assert again.returncode == 1 and "exists: give another --out" in again.stderr


def test_parquet_has_the_ids_that_sentencepiece_gives(flat: mrprep.OpenBuild, tmp_path: Path) -> None:
    import sentencepiece

    done = run("export", "parquet", flat.path, "--out", tmp_path / "texts", "--tokens")
    assert done.returncode == 0, done.stderr
    encode = sentencepiece.SentencePieceProcessor(model_file=str(flat.path / "tokenizer/tokenizer.model")).encode
    files = sorted((tmp_path / "texts").glob("*.parquet"))
    assert [file.name for file in files] == ["train-00000.parquet", "validation-00000.parquet"]
    records = [record for file in files for record in pq.read_table(file).to_pylist()]
    assert len(records) == 120
    assert all(record["input_ids"] == encode(record["text"]) for record in records)


def test_what_dedupe_wrote_can_go_out_too_but_has_no_tokens(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts(9) + texts(4)))
    assert run("dedupe", tmp_path / "in.jsonl", "--out", tmp_path / "build").returncode == 0
    done = run("export", "parquet", tmp_path / "build", "--out", tmp_path / "out", "--tokens")
    assert done.returncode == 1 and "has no tokenizer" in done.stderr and not (tmp_path / "out").exists()
    assert run("export", "parquet", tmp_path / "build", "--out", tmp_path / "out").returncode == 0
    assert pq.read_table(tmp_path / "out/train-00000.parquet")["text"].to_pylist() == texts(9)


_LOAD = """
import sys, datasets
for form in sys.argv[2:]:
    found = datasets.load_dataset(f"{sys.argv[1]}/{form}", cache_dir=f"{sys.argv[1]}/cache")
    print({name: (part.num_rows, len(set(part["id"])), part.column_names) for name, part in found.items()})
"""


def test_datasets_loads_both(flat: mrprep.OpenBuild, tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    for form in ("jsonl", "parquet"):
        assert run("export", form, flat.path, "--out", tmp_path / form, "--tokens").returncode == 0
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, tmp_path, "jsonl", "parquet"], capture_output=True, text=True, check=True
    )
    first, second = done.stdout.splitlines()
    assert first == second and "'train': (1" in first and "'validation': (" in first and "input_ids" in first
