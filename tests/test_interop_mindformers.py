"""What mindformers is given, read by PyYAML; docs/interop.md says what was tried with mindformers itself."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from builds import mrprep as run
from interop_builds import small_build

import mrprep
from mrprep.interop.yaml import dump

QWEN3 = {
    "model_type": "qwen3",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 128,
    "rope_theta": 1e6,
    "rms_norm_eps": 1e-6,
}


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> mrprep.OpenBuild:
    return small_build(tmp_path_factory.mktemp("flat"))


@pytest.fixture(scope="module")
def mcore(tmp_path_factory: pytest.TempPathFactory) -> mrprep.OpenBuild:
    return small_build(tmp_path_factory.mktemp("mcore"), layout="mcore")


def qwen3(build: mrprep.OpenBuild, folder: Path) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps({**QWEN3, "vocab_size": build.manifest["tokenizer"]["vocab_size"]}))
    return path


def rows_of(dataset: dict) -> list[dict]:
    """Return the rows that MindDataset finds with what the YAML says, in order."""
    import mindspore.dataset as ds

    loader = dataset["data_loader"]
    rows = ds.MindDataset(loader["dataset_files"], columns_list=dataset["input_columns"], shuffle=False)
    return list(rows.create_dict_iterator(num_epochs=1, output_numpy=True))


@pytest.mark.mindspore
def test_the_legacy_stack_gets_flat_rows_and_a_llama(flat: mrprep.OpenBuild, tmp_path: Path) -> None:
    out = tmp_path / "mf"
    options = ("--model", "tiny", "--devices", 4, "--dp", 4, "--micro", 2, "--accum", 3, "--zero", 0, "--recompute")
    done = run("export", "mindformers", flat.path, "--out", out, *options)
    assert done.returncode == 0, done.stderr
    found = yaml.safe_load((out / "train.yaml").read_text())
    assert found["use_legacy"] and found["train_dataset"] is found["train_dataset_task"]["dataset_config"]
    wanted = [row["input_ids"] for row in flat.rows()]
    assert np.array_equal([row["input_ids"] for row in rows_of(found["train_dataset"])], wanted)
    runner = found["runner_config"]
    assert (runner["batch_size"], runner["gradient_accumulation_steps"]) == (2, 3)
    assert found["parallel"]["dataset_strategy"] == [[4, 1]] and not found["parallel"]["enable_parallel_optimizer"]
    assert found["recompute_config"]["recompute"] and found["optimizer"]["eps"] == 1e-8
    model = found["model"]["model_config"]
    shape = {name: model[name] for name in ("hidden_size", "num_layers", "num_heads", "n_kv_heads", "seq_length")}
    assert shape == {"hidden_size": 128, "num_layers": 2, "num_heads": 4, "n_kv_heads": 2, "seq_length": 32}
    assert model["eos_token_id"] == flat.manifest["tokenizer"]["eod_id"] and not model["input_sliced_sig"]
    steps = flat.splits["train"] // 24
    assert f"24 rows a step, {steps} steps an epoch, {flat.splits['train'] - 24 * steps} rows left out" in done.stdout
    assert (out / "shards.txt").read_text().split() == [str(file) for file in flat.shards()]
    script = out / "train.sh"
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0 and "--worker_num=4 " in script.read_text()


@pytest.mark.mindspore
def test_the_mcore_stack_gets_its_columns_and_a_qwen3(mcore: mrprep.OpenBuild, tmp_path: Path) -> None:
    model = qwen3(mcore, tmp_path)
    for name, more in (("plain", ("--pp", 2, "--accum", 2)), ("masks", ("--document-mask",))):
        done = run(
            "export", "mindformers", mcore.path, "--out", tmp_path / name, "--model", model, "--devices", 4, *more
        )
        assert done.returncode == 0, done.stderr
    plain, masks = (yaml.safe_load((tmp_path / name / "train.yaml").read_text()) for name in ("plain", "masks"))
    assert plain["parallel_config"]["pipeline_stage"] == plain["parallel_config"]["micro_batch_num"] == 2
    assert plain["runner_config"]["gradient_accumulation_steps"] == 1 and not plain["use_legacy"]
    assert "use_eod_reset" not in plain["model"]["model_config"] and masks["model"]["model_config"]["use_eod_reset"]
    assert masks["train_dataset"]["input_columns"][-1] == "actual_seq_len"
    assert masks["parallel"]["dataset_strategy"] == [[4, 1]] * 5
    assert masks["model"]["model_config"]["rms_norm_eps"] == 1e-6
    for row, wanted in zip(rows_of(masks["train_dataset"]), mcore.rows(), strict=True):
        assert all(np.array_equal(row[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--devices", 6, "--tp", 4), "6 devices are not filled by --tp 4, --pp 1"),
        (("--devices", 4, "--dp", 3), "--dp 3: make dp * tp * pp equal"),
        (("--devices", 3, "--tp", 3), "--tp 3 does not divide num_attention_heads 4, num_key_value_heads 2"),
        (("--devices", 3, "--pp", 3), "--pp 3 does not divide 2 layers"),
        (("--devices", 2, "--pp", 2), "give --accum 2 or more"),
        (("--devices", 8, "--micro", 1000), "one step takes 8000"),
        (("--stack", "mcore"), "build it with --layout mcore"),
        (("--stack", "pynative"), "legacy or mcore"),
        (("--document-mask",), "needs layout mcore"),
    ],
)
def test_what_does_not_fit_is_told(flat: mrprep.OpenBuild, tmp_path: Path, options: tuple, told: str) -> None:
    done = run("export", "mindformers", flat.path, "--out", tmp_path / "mf", "--model", "tiny", *options)
    assert done.returncode == 1 and told in done.stderr and not (tmp_path / "mf").exists()


def test_mcore_does_not_train_a_llama(mcore: mrprep.OpenBuild, tmp_path: Path) -> None:
    done = run("export", "mindformers", mcore.path, "--out", tmp_path / "mf", "--model", "tiny")
    assert done.returncode == 1 and "trains qwen3, not llama" in done.stderr


def test_yaml_gives_back_what_was_written() -> None:
    values = {
        "a": {"b": 1e-8, "c": [], "d": 'it\'s: #1 \u6c34 "x"', "e": None, "f": True},
        "g": [{"h": 1}, {"h": 3e-5}],
        "i": list(range(20)),
        "j": 1e6,
        "k": "1e5",
    }
    assert yaml.safe_load(dump(values)) == values
