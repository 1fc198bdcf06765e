"""A healthy build passes; copies of it with one fault each do not."""

import shutil
from pathlib import Path

import numpy as np
import orjson
import pytest
from audit_builds import TRAIN, audit, bad, make, replant, twin, vouch
from conftest import ROOT

from mrprep.audit.read import blocks, looked_up
from mrprep.builddir.manifest import open_build
from mrprep.cli.app import run
from mrprep.stages.audit import How, Options, json_report, of_build, text_report
from mrprep.stages.audit import audit as judge
from mrprep.tokenizers.of_build import tokenizer_of

pytestmark = pytest.mark.mindspore
CORPUS = ROOT / "samples" / "corpus"
FLAT = {"pack": {"seq": 128}, "shard": {"shards": 3}}


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("audit") / "healthy", CORPUS / "clean", **FLAT)


def test_healthy_build_raises_no_alarm_with_any_seed(healthy):
    for seed in range(2):
        findings = audit(healthy, sample=100, seed=seed)
        assert not bad(findings), findings
        assert findings["alignment"].message.startswith("0 of ")
    assert findings["drift-split"].check  # there are two splits to compare
    assert len(findings) == 33


def test_sampled_tokens_are_counted_as_drawn(healthy):
    build = open_build(healthy)
    rows = sum(split["rows"] for split in build.manifest["splits"].values())
    findings = audit(healthy, sample=10 * rows)
    assert f"of {rows * 129:,} ids" in findings["id-range"].message
    tokens = sum(split["rows"] * 129 - split["padding"] for split in build.manifest["splits"].values())
    assert f"in the {tokens:,} tokens sampled" in findings["unseen-vocabulary"].message


def test_same_seed_same_findings(healthy):
    assert audit(healthy, sample=50, seed=3) == audit(healthy, sample=50, seed=3)


def test_documents_looked_up_for_all_shards_are_those_of_each(healthy):
    subject = of_build(build := open_build(healthy))
    tokenizer = tokenizer_of(build)
    wanted = [(shard, np.arange(min(3, shard["rows"]))) for shard in subject.splits["train"]]
    known = looked_up(subject, wanted)
    assert known is not None
    for shard, rows in wanted:
        (each,), (alone,) = (list(blocks(subject, tokenizer, "train", shard, rows, all_)) for all_ in (known, None))
        assert list(each.found.items()) == list(alone.found.items())
        assert (each.sizes, each.texts) == (alone.sizes, alone.texts)


@pytest.mark.parametrize(
    "tables",
    [
        {"pack": {"seq": 128, "layout": "mcore", "packing": "bestfit"}, "tokenize": {"add_bos": True}},
        {"pack": {"seq": 64}, "tokenize": {"model": "chinese_sp_20k.model"}},
    ],
    ids=["mcore-bestfit-bos", "lossy-normaliser"],
)
def test_other_healthy_builds(tables, tmp_path, shared):
    if "model" in tables["tokenize"]:
        tables["tokenize"]["model"] = shared / "corpora" / "tokenizers" / tables["tokenize"]["model"]
    findings = audit(make(tmp_path / "b", CORPUS / "clean", **tables))
    assert not bad(findings), findings
    assert int(findings["end-of-document"].message.split()[2].replace(",", "")) > 10
    assert ("begin-of-document" in findings) == ("add_bos" in tables["tokenize"])


def test_flipped_byte(healthy, tmp_path):
    path = twin(healthy, tmp_path / "b")
    data = bytearray((path / TRAIN).read_bytes())
    data[-5000] ^= 1
    (path / TRAIN).write_bytes(data)
    found = audit(path)["integrity"]
    assert found.level == "failure"
    assert TRAIN in found.message


def test_swapped_shards_are_not_opened(healthy, tmp_path):
    path = twin(healthy, tmp_path / "b")
    first, second = (path / shard["file"] for shard in open_build(path).manifest["splits"]["train"]["shards"][:2])
    first.rename(tmp_path / "x")
    second.rename(first)
    (tmp_path / "x").rename(second)
    findings = audit(path)
    assert {"integrity", "rows"} <= bad(findings)
    assert findings["rows"].value == 2
    assert findings["alignment"].level == "ok"
    reference = judge(of_build(open_build(healthy)), How(40, against=of_build(open_build(path))), Options())
    assert {f.check: f.value for f in reference.findings}["rows"] == 2


def test_nothing_is_left_of_train(healthy, tmp_path):
    path = twin(healthy, tmp_path / "b")
    for file in (path / "train").glob("*.db"):
        file.write_bytes(b"SQLite format 3")
    found = audit(path)["rows"]
    assert (found.level, found.value) == ("failure", 3)


def test_wrong_tokenizer_is_recognised(healthy, tmp_path, shared):
    path = twin(healthy, tmp_path / "b")
    shutil.copyfile(shared / "corpora" / "tokenizers" / "llama2_32k.model", path / "tokenizer" / "tokenizer.model")
    vouch(path)
    findings = audit(path)
    assert findings["alignment"].level == "failure"
    assert "not the one that made these ids" in findings["alignment"].message
    assert findings["alignment"].value > 0.95


def test_smaller_vocabulary(healthy, tmp_path, shared):
    path = twin(healthy, tmp_path / "b")
    model = shared / "corpora" / "tokenizers" / "spm_test_en_unigram1k.model"
    shutil.copyfile(model, path / "tokenizer" / "tokenizer.model")
    vouch(path)
    assert {"id-range", "alignment"} <= bad(audit(path))


def test_one_token_rows(healthy, tmp_path):
    def plant(rows):
        rows[::4] = 278
        return rows

    path = twin(healthy, tmp_path / "b")
    replant(path, plant)
    findings = audit(path)
    assert findings["monotone-rows"].level == "failure"
    assert findings["identical-rows"].level != "ok"
    assert findings["alignment"].level == "failure"
    assert TRAIN in findings["alignment"].message
    assert findings["monotone-rows"].examples[0].row.startswith("train-00001:")
    assert ":" in findings["monotone-rows"].examples[0].place


def test_repeated_rows(healthy, tmp_path):
    def plant(rows):
        rows[: len(rows) // 2] = rows[-1]
        return rows

    path = twin(healthy, tmp_path / "b")
    replant(path, plant)
    found = audit(path)["identical-rows"]
    assert found.level == "failure"
    assert " = train-0000" in found.examples[0].row


def test_lost_ends_and_planted_control_ids(healthy, tmp_path):
    eod = open_build(healthy).manifest["tokenizer"]["eod_id"]

    def plant(rows):
        rows[rows == eod] = 278
        rows[::3, 64] = eod
        return rows

    path = twin(healthy, tmp_path / "b")
    replant(path, plant)
    assert {"end-of-document", "control-ids"} <= bad(audit(path))


def test_ids_out_of_range(healthy, tmp_path):
    vocabulary = open_build(healthy).manifest["tokenizer"]["vocab_size"]

    def plant(rows):
        rows[5, 7], rows[6, 8] = vocabulary, -1
        return rows

    path = twin(healthy, tmp_path / "b")
    replant(path, plant)
    found = audit(path, sample=10_000)["id-range"]
    assert (found.level, found.value) == ("failure", 2)


def test_one_shard_of_other_text(healthy, tmp_path):
    def plant(rows):
        rng = np.random.default_rng(0)
        return rng.integers(300, 1300, rows.shape, np.int32)

    path = twin(healthy, tmp_path / "b")
    replant(path, plant)
    found = audit(path)["drift-shard"]
    assert found.level != "ok"
    assert found.message.startswith(TRAIN)


def test_shard_of_another_seq(healthy, tmp_path):
    tables = {"tokenize": {"model": healthy / "tokenizer" / "tokenizer.model"}, "shard": {"shards": 3}}
    other = make(tmp_path / "o", CORPUS / "clean", pack={"seq": 64}, **tables)
    path = twin(healthy, tmp_path / "b")
    for ending in ("", ".db"):
        shutil.copyfile(other / (TRAIN + ending), path / (TRAIN + ending))
    manifest = orjson.loads((path / "manifest.json").read_bytes())
    theirs = orjson.loads((other / "manifest.json").read_bytes())["splits"]["train"]["shards"][1]
    assert theirs["file"] == TRAIN
    manifest["splits"]["train"]["rows"] += theirs["rows"] - manifest["splits"]["train"]["shards"][1]["rows"]
    manifest["splits"]["train"]["shards"][1]["rows"] = theirs["rows"]
    vouch(path, splits=manifest["splits"])
    found = audit(path)["rows"]
    assert found.level == "failure"
    assert "has rows of 65 tokens, not of 129" in found.message


def test_text_that_the_vocabulary_cannot_write(tmp_path, shared):
    rng = np.random.default_rng(0)
    words = ["".join(chr(0x10A0 + 0x30 + c) for c in rng.integers(0, 33, 6)) for _ in range(400)]  # Georgian
    (tmp_path / "in").mkdir()
    text = "\n".join(" ".join(rng.choice(words, 12)) + " plain English words stand here too." for _ in range(100))
    (tmp_path / "in" / "a.txt").write_text(text, "utf-8")
    model = shared / "corpora" / "tokenizers" / "chinese_sp_20k.model"
    found = audit(make(tmp_path / "b", tmp_path / "in", "raw", tokenize={"model": model}, pack={"seq": 64}))["unknown"]
    assert found.level == "failure"
    assert found.examples[0].place == "a.txt:1"


def test_command_and_reports(healthy, tmp_path, capsys):
    assert run(["audit", str(healthy), "--sample", "50"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("33 findings: ")
    path = twin(healthy, tmp_path / "b")
    (path / TRAIN).unlink()
    assert run(["audit", str(path), "--json"]) == 4
    said = capsys.readouterr()
    found = orjson.loads(said.out)
    assert found["level"] == "failure"
    assert {f["check"] for f in found["findings"] if f["level"] == "failure"} == {"integrity", "rows"}
    assert "integrity, rows" in said.err


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--html", "/nope/x/y.html"], 1, "no such directory"),
        (["--html", "/"], 1, "it is a directory"),
        (["--seed", "-1"], 2, "--seed"),
        (["--column", "nope"], 2, "--column is for shards without a manifest"),
        (["--ranks", "3"], 2, "not a multiple of 3 ranks: say --batch 24"),
        (["--eval", "/bin/ls"], 1, "is no plain text"),
    ],
)
def test_mistakes_are_told_in_a_sentence(healthy, capsys, options, code, said):
    assert run(["audit", str(healthy), "--sample", "8", *options]) == code
    assert said in capsys.readouterr().err


def test_ranks_and_batch(healthy, capsys):
    rows = open_build(healthy).manifest["splits"]["train"]["rows"]
    assert run(["audit", str(healthy), "--sample", "8", "--ranks", "3", "--batch", "12"]) == 0
    told = next(line for line in capsys.readouterr().out.splitlines() if " rank-batches: " in line)
    assert f" {rows // 12} steps of 12 rows an epoch, the same rows at 3 ranks, {rows % 12} rows" in told


def test_reports_show_what_is_wrong_first(healthy):
    strict = Options(top_token=(0.001, 0.002), ranks=(1, 2), batch=100_000)
    found = judge(of_build(open_build(healthy)), How(50), strict)
    lines = text_report(found.findings).splitlines()
    assert lines[0].startswith("failure  frequent-tokens: ")
    assert lines[1].strip().startswith("-> ")
    levels = [line.split()[0] for line in lines if not line.startswith(" ")][:-1]
    assert levels == sorted(levels, key=["failure", "warning", "note", "ok"].index)
    assert any(line.startswith("warning  rank-batches: ") for line in lines)
    assert orjson.loads(json_report(found))["level"] == "failure"
