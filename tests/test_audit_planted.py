"""Faults planted in real text, each found, and none of them on the healthy twin."""

import shutil
from pathlib import Path

import numpy as np
import orjson
import pytest
from audit_builds import (
    FOOTER,
    TRAIN,
    as_gb18030,
    as_latin,
    audit,
    bad,
    build_documents,
    of_shards_alone,
    real_documents,
    replant,
    some,
    twin,
    valid_documents,
    with_special,
)

from mrprep.builddir.manifest import open_build
from mrprep.cli.app import run
from mrprep.stages.audit import How, Options, of_build, of_shards
from mrprep.stages.audit import audit as judge

pytestmark = pytest.mark.mindspore


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Path:
    return build_documents(tmp_path_factory.mktemp("planted") / "healthy", real_documents(shared), shared)


@pytest.mark.slow
def test_real_text_raises_no_alarm(healthy):
    findings = audit(healthy)
    assert not bad(findings), findings
    assert len(findings) == 33


def test_duplicates_and_leaks(healthy, tmp_path, shared):
    documents = real_documents(shared)[::2]
    more = {"again": documents[::3], "leaked": valid_documents(healthy)}
    findings = audit(build_documents(tmp_path / "b", documents, shared, **more), sample=200)
    assert {"repeated-text", "leaked-text"} <= bad(findings)
    assert findings["repeated-text"].level == "failure"
    assert 0.4 < findings["repeated-text"].value < 0.65  # a third comes twice: 2/3 of 4/3 of the text
    assert " ~ train-0000" in findings["leaked-text"].examples[0].row
    assert findings["leaked-text"].examples[0].place.endswith(tuple("0123456789"))


@pytest.mark.slow
def test_mojibake_special_tokens_and_a_source_of_boilerplate(tmp_path, shared):
    documents = real_documents(shared)
    dirty = some(some(some(documents, 0.02, as_latin), 0.05, with_special), 0.01, as_gb18030)
    findings = audit(build_documents(tmp_path / "b", dirty, shared, boiler=[t[200:260] + FOOTER for t in dirty[::2]]))
    assert {"mojibake", "literal-specials", "filling-ngrams"} <= bad(findings)
    assert "/boiler" in findings["filling-ngrams"].message
    assert "All rights reserved" in findings["filling-ngrams"].examples[0].text
    assert "<|endoftext|>" in findings["literal-specials"].examples[0].text


@pytest.mark.slow
def test_one_bad_shard_of_eight(healthy, tmp_path):
    path = twin(healthy, tmp_path / "b")
    replant(path, lambda rows: np.random.default_rng(0).integers(300, 5000, rows.shape, np.int32))
    found = audit(path)["drift-shard"]
    assert found.level != "ok"
    assert found.message.startswith(TRAIN)
    assert found.examples[0].row.startswith("train-00001:")


def test_shards_without_a_manifest(healthy, tmp_path, shared):
    folder = of_shards_alone(healthy, tmp_path / "old")
    model = healthy / "tokenizer" / "tokenizer.model"
    found = judge(of_shards(folder), How(200, tokenizer=model), Options())
    assert not [f.check for f in found.findings if f.level in ("warning", "failure")]
    assert {"canonical", "repeated-text", "leaked-text", "drift-shard"} <= {f.check for f in found.findings}
    other = shared / "corpora" / "tokenizers" / "llama2_32k.model"
    wrong = {f.check: f for f in judge(of_shards(folder), How(100, tokenizer=other), Options()).findings}
    assert wrong["canonical"].level == "failure"
    assert "not the one that made these ids" in wrong["canonical"].message


def test_shards_without_a_manifest_need_to_be_told(healthy, tmp_path, capsys):
    folder = of_shards_alone(healthy, tmp_path / "old")
    assert run(["audit", str(folder)]) == 1
    assert "--tokenizer" in capsys.readouterr().err
    model = str(healthy / "tokenizer" / "tokenizer.model")
    assert run(["audit", str(folder), "--tokenizer", model, "--column", "ids"]) == 1
    assert "columns of integers: input_ids" in capsys.readouterr().err
    assert run(["audit", str(folder), "--tokenizer", model, "--eod", "<end>"]) == 1
    assert "has no piece <end>" in capsys.readouterr().err
    assert run(["audit", str(healthy), "--eod", "</s>"]) == 2
    assert "--eod is for shards without a manifest" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert run(["audit", str(tmp_path / "empty"), "--tokenizer", model]) == 1


def test_shards_without_a_manifest_that_are_swapped_or_damaged(healthy, tmp_path, capsys):
    """MindRecord's library crashes over the first two; the others are judged all the same."""
    folder = of_shards_alone(healthy, tmp_path / "old")
    first, second, third = (folder / "train" / f"train-0000{n}.mindrecord" for n in range(3))
    first.rename(tmp_path / "x")
    second.rename(first)
    (tmp_path / "x").rename(second)
    third.write_bytes(b"no MindRecord")
    model = str(healthy / "tokenizer" / "tokenizer.model")
    assert run(["audit", str(folder), "--tokenizer", model, "--sample", "40", "--json"]) == 4
    found = {f["check"]: f for f in orjson.loads(capsys.readouterr().out)["findings"]}
    assert (found["rows"]["level"], found["rows"]["value"]) == ("failure", 3)
    assert "train-00000.mindrecord cannot be read as MindRecord (its .db does not fit it" in found["rows"]["message"]
    assert found["canonical"]["level"] == "ok"
    for file in folder.rglob("*.mindrecord"):
        file.write_bytes(b"no MindRecord")
    assert run(["audit", str(folder), "--tokenizer", model]) == 1
    assert "cannot be read as MindRecord" in capsys.readouterr().err


def test_contamination(healthy, tmp_path):
    news, rest = valid_documents(healthy)[0], "nothing of this stands in any of the texts that were read for this build"
    file = tmp_path / "eval.jsonl"
    file.write_bytes(b"\n".join(orjson.dumps({"question": text}) for text in (rest, news[:400])))
    how = How(50, evaluation=(file,))
    found = {f.check: f for f in judge(of_build(open_build(healthy)), how, Options()).findings}["contamination"]
    assert found.level == "warning"
    assert "eval.jsonl:2" in found.message
    assert found.examples[0].text.startswith("eval.jsonl:2 <> ")
    assert ".jsonl:" in found.examples[0].place
    file.write_bytes(orjson.dumps({"question": rest}))
    found = {f.check: f for f in judge(of_build(open_build(healthy)), how, Options()).findings}["contamination"]
    assert (found.level, found.value) == ("ok", 0)


@pytest.mark.slow
def test_reference(healthy, tmp_path, shared):
    same = judge(of_build(open_build(healthy)), How(100, against=of_build(open_build(healthy))), Options())
    assert {f.check: f.level for f in same.findings}["drift-reference"] == "ok"
    english = [text for text in real_documents(shared) if text.isascii()][:100]
    other = build_documents(tmp_path / "b", english, shared)
    found = judge(of_build(open_build(healthy)), How(100, against=of_build(open_build(other))), Options())
    assert {f.check: f.level for f in found.findings}["drift-reference"] != "ok"


def test_thresholds_of_a_pipeline(healthy, tmp_path, capsys):
    file = tmp_path / "strict.toml"
    file.write_text("[audit]\ntop_token = [0.001, 0.002]\n")
    assert run(["audit", str(healthy), "--sample", "40", "--pipeline", str(file)]) == 4
    assert "frequent-tokens" in capsys.readouterr().err
    file.write_text("[audit]\ntop_tokens = [0.001, 0.002]\n")
    assert run(["audit", str(healthy), "--sample", "40", "--pipeline", str(file)]) == 1
    assert "did you mean 'top_token'?" in capsys.readouterr().err


def test_two_builds_and_the_page(healthy, tmp_path, capsys):
    path = twin(healthy, tmp_path / "b<script>")
    replant(path, lambda rows: np.full_like(rows, 1000))
    page = tmp_path / "page.html"
    assert run(["audit", str(healthy), "--compare", str(path), "--sample", "40", "--html", str(page)]) == 4
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["healthy", "b<script>"]
    assert next(line for line in lines if line.startswith("monotone-rows")).endswith("<")
    html = page.read_text("utf-8")
    assert "b&lt;script&gt;" in html
    assert "<script" not in html
    assert run(["audit", str(path), "--sample", "40", "--json", "--html", str(page)]) == 4
    found = orjson.loads(capsys.readouterr().out)
    assert found["figures"]["shard_heat"]["names"][1] == TRAIN
    html = page.read_text("utf-8")
    assert html.index("failure: ") < html.index("Tokens by rank")
    assert "http" not in html.split("</style>")[1]
    shutil.rmtree(path)
