"""Shapes, schedule, and what a run refuses before it starts. No MindSpore."""

import json
import math
import subprocess
import sys

import pytest
from pydantic import ValidationError
from training_build import write_manifest
from typer.testing import CliRunner

from mrprep.cli.app import app
from mrprep.cli.train import _weights
from mrprep.errors import MrprepError, UsageError
from mrprep.training import driver, presets
from mrprep.training.config import ModelConfig
from mrprep.training.run import train
from mrprep.training.schedule import Schedule, ScheduleOptions
from mrprep.training.settings import LoopOptions


@pytest.mark.parametrize(("name", "count"), [("7b", 6_738_415_616), ("1b", 1_100_048_384)])
def test_presets_have_the_published_number_of_parameters(name, count):
    """Llama 2 7B and TinyLlama 1.1B, as their model cards have it."""
    assert presets.preset(name, 32_000, 2048).parameter_count == count


@pytest.mark.parametrize("name", presets.PRESETS)
def test_presets_are_valid(name):
    assert presets.resolve(name, 8000, 256).head_dim % 2 == 0


def _file(tmp_path, **changes):
    shape = {
        "model_type": "llama",
        "vocab_size": 100,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "torch_dtype": "float32",
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(shape | changes))
    return str(path)


def test_a_config_json_is_read_and_written_back(tmp_path):
    read = presets.resolve(_file(tmp_path), 100, 64)
    assert read.num_key_value_heads == 4
    path = tmp_path / "again.json"
    path.write_text(json.dumps(read.to_hf(1, 2, 0)))
    assert presets.resolve(str(path), 100, 64) == read


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"vocab_size": 99}, "vocab_size 99.*100"),
        ({"max_position_embeddings": 63}, "63.*64"),
        ({"mlp_bias": True}, "mlp_bias True"),
        ({"model_type": "gpt2"}, "model_type gpt2"),
        (
            {"model_type": "mixtral"},
            "model_type mixtral is not supported: take a model with model_type llama or mistral or ",
        ),
        ({"model_type": "internlm2"}, "model_type internlm2 is not ours: run mrprep weights import on it"),
        ({"hidden_act": "gelu"}, "hidden_act gelu is not supported: take a model with hidden_act silu"),
        ({"num_local_experts": 8}, "num_local_experts 8: a mixture of experts"),
        ({"quantization_config": {"bits": 4}}, "quantization_config.* is not supported"),
        ({"model_type": "mistral", "max_position_embeddings": 8192}, "sliding_window 4096 is shorter than .* 8192"),
        (
            {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 32, "max_window_layers": 0},
            "sliding_window 32 is shorter than max_position_embeddings 64.*: set max_position_embeddings to 32",
        ),
        ({"rope_scaling": {"type": "linear"}}, r"there is no rope_scaling\.factor"),
        ({"rope_scaling": {"rope_type": "longrope", "factor": 2}}, "longrope"),
        (
            {"rope_scaling": {"rope_type": "llama3", "factor": 2, "low_freq_factor": 4, "high_freq_factor": 1}},
            "not above",
        ),
        ({"eos_token_id": 7}, "eos_token_id 7, the build's documents end with 2"),
        ({"eos_token_id": [7, 8]}, r"eos_token_id \[7, 8\], the build's documents end with 2"),
        ({"pad_token_id": 3}, "pad_token_id 3, the build pads with 0"),
        ({"head_dim": 7}, "width 7"),
        ({"num_attention_heads": 5}, "5 heads"),
        ({"hidden_size": "wide"}, r"config\.json: hidden_size is 'wide': input should be a valid integer[^\n]*$"),
        (
            {"num_hidden_layers": 0},
            r"config\.json: num_hidden_layers is 0: input should be greater than or equal to 1: mend it",
        ),
        (
            {"intermediate_size": None},
            r"config\.json: intermediate_size is null, and what it should be is not guessed: write",
        ),
    ],
)
def test_a_config_json_that_cannot_be_served_is_a_sentence(tmp_path, changes, says):
    with pytest.raises(MrprepError, match=says) as caught:
        presets.resolve(_file(tmp_path, **changes), 100, 64, eod_id=2, pad_id=0)
    assert "\n" not in str(caught.value)
    assert "pydantic" not in str(caught.value)


def test_ids_that_agree_or_are_not_given_pass(tmp_path):
    for given in ({"eos_token_id": 2, "pad_token_id": 0}, {"eos_token_id": [9, 2]}, {"pad_token_id": None}, {}):
        assert presets.resolve(_file(tmp_path, **given), 100, 64, eod_id=2, pad_id=0).vocab_size == 100
    assert presets.resolve(_file(tmp_path, pad_token_id=2), 100, 64, eod_id=2, pad_id=None).vocab_size == 100


@pytest.mark.parametrize(
    "given",
    [
        {"model_type": "mistral", "sliding_window": None, "max_position_embeddings": 8192},
        {"model_type": "mistral", "sliding_window": 64},
        {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 32},  # from layer 28 on, and there is one
        {"model_type": "qwen3", "use_sliding_window": False, "sliding_window": 32, "max_window_layers": 0},
        {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 8, "layer_types": ["full_attention"]},
    ],
)
def test_a_window_that_no_row_reaches_past_is_no_window(tmp_path, given):
    assert presets.resolve(_file(tmp_path, **given), 100, 64).vocab_size == 100


def test_what_transformers_takes_for_absent_is_taken(tmp_path):
    """LlamaConfig and Qwen3Config of transformers 5.24; ``rope_parameters`` is their newer name."""
    rope = {"rope_type": "llama3", "factor": 2.0, "low_freq_factor": 1, "high_freq_factor": 4}
    read = presets.resolve(_file(tmp_path, rope_parameters={"rope_theta": 500.0, **rope}), 100, 64)
    assert (read.rms_norm_eps, read.head_dim, read.rope_theta) == (1e-6, 8, 500.0)
    assert read.rope_scaling.original_max_position_embeddings == 64
    assert presets.resolve(_file(tmp_path, model_type="qwen3"), 100, 64).head_dim == 128


@pytest.mark.parametrize(
    ("shape", "count"),
    [
        (("qwen2", 151936, 896, 4864, 24, 14, 2, 64), 494_032_768),
        (("qwen3", 151936, 1024, 3072, 28, 16, 8, 128), 596_049_920),
    ],
)
def test_qwen_has_the_published_number_of_parameters(shape, count):
    """Qwen2.5-0.5B and Qwen3-0.6B: bytes of their safetensors over two."""
    names = (
        "model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "head_dim",
    )  # fmt: skip
    given = dict(zip(names, shape, strict=True))
    assert ModelConfig(**given, max_position_embeddings=64, tie_word_embeddings=True).parameter_count == count


def test_flops_a_token_by_hand():
    """One layer: 6 x (numbers of q, k, v, o, of gate, up, down, of the output layer) + 12 x heads x width x seq."""
    shape = ModelConfig(
        vocab_size=100, hidden_size=8, intermediate_size=20, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=64,
    )  # fmt: skip
    assert shape.flops_per_token(64) == 6 * (8 * 8 * 2 + 8 * 4 * 2 + 3 * 8 * 20 + 100 * 8) + 12 * 2 * 4 * 64
    llama = presets.preset("7b", 32_000, 4096).flops_per_token(4096)
    assert llama == pytest.approx(6 * 6.6e9 + 12 * 32 * 4096 * 4096, rel=0.01)


def test_an_unknown_model_names_the_known_ones():
    with pytest.raises(MrprepError, match="tiny, 10m"):
        presets.resolve("huge", 100, 64)


def test_cosine_schedule_by_hand():
    plan = Schedule(peak=2.0, warmup=4, total=14, floor=0.1)
    assert [plan.at(k) for k in range(4)] == [0.5, 1.0, 1.5, 2.0]
    assert plan.at(4) == 2.0
    assert plan.at(9) == pytest.approx(2.0 * (0.1 + 0.9 * 0.5))
    assert plan.at(13) == pytest.approx(2.0 * (0.1 + 0.45 * (1 + math.cos(0.9 * math.pi))))
    assert plan.at(20) == pytest.approx(0.2)


def test_other_decays_by_hand():
    assert Schedule(peak=1.0, warmup=0, total=10, floor=0.0, decay="linear").at(5) == 0.5
    assert Schedule(peak=1.0, warmup=0, total=10, decay="constant").at(9) == 1.0


def test_wsd_stays_at_the_peak_and_goes_down_in_a_line_at_the_end():
    plan = Schedule(peak=1.0, warmup=2, total=20, floor=0.0, decay="wsd", tail=0.25)
    assert [plan.at(k) for k in (0, 1, 2, 14, 15)] == [0.5, 1.0, 1.0, 1.0, 1.0]
    assert [plan.at(k) for k in (16, 18, 19)] == pytest.approx([0.8, 0.4, 0.2])


def _manifest(tmp_path, rows):
    (tmp_path / "train").mkdir()
    names = [f"train/train-{k:05d}.mindrecord" for k in range(2)]
    for name in names:
        (tmp_path / name).touch()
        (tmp_path / (name + ".db")).touch()
    first = {"file": names[0], "rows": rows - 1}
    write_manifest(tmp_path, [first, {"file": names[1], "rows": 1}], 16, "flat", 50, 0)


def test_more_rows_a_step_than_there_are_is_refused_before_the_start(tmp_path):
    _manifest(tmp_path, 11)
    with pytest.raises(MrprepError, match=r"12 rows \(micro batch 3 x 2 ranks x accumulation 2\).* 11"):
        train(tmp_path, out=tmp_path / "run", options=LoopOptions(micro_batch=3, ranks=2, accumulate=2))
    assert not (tmp_path / "run").exists()


def test_a_global_batch_that_the_options_do_not_come_to_is_refused(tmp_path):
    _manifest(tmp_path, 11)
    options = LoopOptions(micro_batch=2, ranks=2)
    with pytest.raises(MrprepError, match=r"--global-batch 8 is not 4 \(micro batch 2 x 2 ranks x accumulation 1\)"):
        train(tmp_path, out=tmp_path / "run", options=options, global_batch=8)


def test_a_length_that_does_not_divide_the_rows_is_refused(tmp_path):
    _manifest(tmp_path, 11)
    with pytest.raises(MrprepError, match=r"--train-seq 5 does not divide .* rows of 16 tokens: .* such as 4, or"):
        train(tmp_path, out=tmp_path / "run", options=LoopOptions(micro_batch=2, train_seq=5))


def test_an_ascend_without_a_driver_is_refused_before_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "MANAGER", tmp_path / "davinci_manager")
    _manifest(tmp_path, 11)
    with pytest.raises(MrprepError, match=r"--device Ascend, but .* mrprep doctor says"):
        train(tmp_path, out=tmp_path / "run", options=LoopOptions(device="Ascend"))
    assert not (tmp_path / "run").exists()


def test_no_number_of_a_run_is_infinite_or_none():
    """The ranks read them from JSON, which has no such numbers."""
    made = (LoopOptions(), ScheduleOptions())
    floats = [(type(one), name) for one in made for name, held in one if isinstance(held, float)]
    assert {"weight_decay", "beta1", "peak", "floor"} <= {name for _, name in floats}
    for kind, name in floats:
        for value in (math.inf, math.nan):
            with pytest.raises(ValidationError):
                kind(**{name: value})


@pytest.mark.parametrize("flag", ["lr", "save-minutes", "peak-tflops", "hang-after", "weight-decay", "z-loss"])
@pytest.mark.parametrize("value", ["inf", "nan", "-1"])
def test_flags_that_are_no_numbers_are_wrong_usage(flag, value):
    done = CliRunner().invoke(app, ["train", "b", f"--{flag}={value}"])
    assert (done.exception.exit_code if isinstance(done.exception, MrprepError) else done.exit_code) == 2
    assert flag in f"{done.output} {done.exception}"


def test_weights_of_one_build_are_wrong_usage():
    with pytest.raises(UsageError, match=r"--mix 0\.5 is for several builds, and there is one: leave it out"):
        _weights("0.5", 1)
    assert _weights("1,3", 2) == [1, 3]


def test_a_missing_index_is_refused_before_the_start(tmp_path):
    _manifest(tmp_path, 11)
    (tmp_path / "train/train-00001.mindrecord.db").unlink()
    with pytest.raises(MrprepError, match=r"train-00001.mindrecord.db is missing"):
        train(tmp_path, out=tmp_path / "run")


def test_a_directory_of_something_else_is_left_alone(tmp_path):
    _manifest(tmp_path, 11)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(MrprepError, match="is no training run"):
        train(tmp_path, out=other)
    assert [p.name for p in other.iterdir()] == ["thesis.txt"]


def test_the_entry_does_not_load_mindspore_or_numpy_heavy_parts():
    probe = "import sys, mrprep.training; print('mindspore' in sys.modules, 'safetensors' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", probe], text=True).split() == ["False", "False"]
