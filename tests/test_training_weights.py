"""Whose weights are taken, and with which tokenizer. No MindSpore, no trained weights."""

import json

import numpy as np
import pytest
from training_build import write_manifest

from mrprep.builddir.digest import digest
from mrprep.cli.app import run as mrprep
from mrprep.errors import MrprepError
from mrprep.training import checkpoint
from mrprep.training.evaluate import evaluate
from mrprep.training.generate import generate
from mrprep.training.initial import begin
from mrprep.training.presets import preset
from mrprep.training.shards import read_shards
from mrprep.training.weights import origin_of

CONFIG = preset("tiny", 1000, 32)


def _save(run, step, tokenizer="aa"):
    state = checkpoint.LoopState(
        step=step, rows=4, tokens=4, seed=1, global_batch=4, manifest_sha256="ab", tokenizer_sha256=tokenizer
    )
    weights = {name: np.zeros(shape, np.float32) for name, shape in CONFIG.shapes().items()}
    snapshot = checkpoint.Snapshot(state, weights, {"step": np.ones(1, np.float32)}, CONFIG.to_hf(1, 2, None))
    return checkpoint.save(run / "checkpoints", snapshot, keep=9)


@pytest.fixture
def build(shared, tmp_path):
    """A build of a vocabulary of 1,000 with a tokenizer that no run here knows; its shards are empty files."""
    path, name = tmp_path / "b", "train/train-00000.mindrecord"
    (path / "train").mkdir(parents=True)
    for file in (name, name + ".db"):
        (path / file).touch()
    write_manifest(path, [{"file": name, "rows": 9}], 32, "flat", 1000, None)
    model = shared / "corpora/tokenizers/spm_test_en_unigram1k.model"
    (path / "tokenizer.model").write_bytes(model.read_bytes())
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["tokenizer"] |= {"file": "tokenizer.model", "sha256": digest(model)["sha256"]}
    manifest["files"]["tokenizer.model"] = digest(model)
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def test_a_build_with_another_tokenizer_of_the_same_size_is_refused_with_both_named(build, tmp_path):
    run = tmp_path / "run"
    checked = _save(run, 5)
    sha256 = read_shards(build).tokenizer_sha256
    says = f"step-00000005 was trained with the tokenizer of SHA-256 aa, {build} has that of {sha256}, whose ids"
    with pytest.raises(MrprepError, match=says):
        generate(run, "a", build=build)
    with pytest.raises(MrprepError, match=says):
        evaluate(run, build, split="train")
    for path in (run, checked):
        with pytest.raises(MrprepError, match=says):
            begin(path, None, read_shards(build))


def test_the_same_tokenizer_or_one_that_is_not_said_is_taken(build, tmp_path):
    shards = read_shards(build)
    for name, tokenizer in (("one", shards.tokenizer_sha256), ("two", None)):
        folder = _save(tmp_path / name, 5, tokenizer)
        assert begin(tmp_path / name, None, shards) == (folder, CONFIG)
    (folder / "state.json").unlink()  # as weights that were made elsewhere
    assert begin(folder, None, shards) == (folder, CONFIG)


def test_a_damaged_checkpoint_is_passed_over_aloud_and_refused_when_named(tmp_path):
    sound, damaged = (_save(tmp_path, step) for step in (5, 10))
    (damaged / "model.safetensors").write_bytes(b"damaged")
    said = []
    assert origin_of(tmp_path, said.append).path == sound
    (line,) = said
    assert line.startswith(f"{damaged} is damaged and passed over: model.safetensors does not have the SHA-256")
    with pytest.raises(MrprepError, match=r"step-00000010 is damaged: model\.safetensors does not have the SHA-256"):
        origin_of(damaged)
    assert (origin_of(sound).step, origin_of(sound).tokenizer_sha256) == (5, "aa")


def test_without_the_tokenizer_of_the_build_generate_is_a_sentence(build, tmp_path):
    _save(tmp_path / "run", 5)
    (build / "tokenizer.model").unlink()
    with pytest.raises(MrprepError, match=r"tokenizer\.model is missing: put it back, or name a build"):
        generate(tmp_path / "run", "a", build=build)


def test_a_prompt_that_was_no_utf8_is_a_sentence(tmp_path):
    with pytest.raises(MrprepError, match=r"no Unicode text \(character 2 of it\)"):
        generate(tmp_path, b"a\xff".decode(errors="surrogateescape"))


@pytest.mark.parametrize(
    "options",
    [
        ["generate", "run", "--top-p", "0"],
        ["generate", "run", "--seed", "-1"],
        ["train", "b", "--seed", "-1"],
        ["train", "b", "--hang-after", "0"],
        ["train", "b", "--save-minutes", "-1"],
        ["train", "b", "--lr", "nan"],
    ],
)
def test_a_number_out_of_range_is_a_usage_error_that_names_its_flag(options, capsys):
    assert mrprep(options) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert options[2] in line


def test_ctrl_c_is_one_line(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mrprep.training.generate.generate", interrupted)
    assert mrprep(["generate", "run"]) == 130
    assert capsys.readouterr().err == "mrprep: stopped; the same command goes on from here\n"
    monkeypatch.setattr("mrprep.conversion.importing.import_weights", interrupted)
    assert mrprep(["weights", "import", "hf", "--out", "ours"]) == 130
    assert capsys.readouterr().err == "mrprep: stopped; nothing was written\n"
