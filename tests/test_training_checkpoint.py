"""Checkpoints and metrics on disk. No MindSpore."""

import json
import resource
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from mrprep.errors import MrprepError
from mrprep.training import checkpoint, metrics, rundir


def _snapshot(step, valid=None):
    state = checkpoint.LoopState(
        step=step, rows=step * 4, tokens=step * 100, seed=1, global_batch=4, manifest_sha256="ab", valid_loss=valid
    )
    weights = {"model.norm.weight": np.full(3, step, np.float32)}
    return checkpoint.Snapshot(state, weights, {"step": np.array(step, np.float32)}, {"model_type": "llama"})


def test_what_is_saved_is_what_is_loaded_and_old_ones_go(tmp_path):
    for step in (5, 10, 15):
        checkpoint.save(tmp_path, _snapshot(step), keep=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-00000010", "step-00000015"]
    path, state = checkpoint.latest(tmp_path)
    assert (path.name, state.step, state.rows, state.tokens) == ("step-00000015", 15, 60, 1500)
    weights, optimizer = checkpoint.load(path)
    assert weights["model.norm.weight"].tolist() == [15, 15, 15]
    assert optimizer["step"] == 15
    assert json.loads((path / "config.json").read_text()) == {"model_type": "llama"}
    assert set(load_file(path / "model.safetensors")) == {"model.norm.weight"}


@pytest.mark.parametrize("damage", ["flip", "cut", "no-state", "missing"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path, damage):
    checkpoint.save(tmp_path, _snapshot(5), keep=2)
    path = checkpoint.save(tmp_path, _snapshot(10), keep=2)
    weights = path / "model.safetensors"
    if damage == "flip":
        data = bytearray(weights.read_bytes())
        data[-1] ^= 1
        weights.write_bytes(data)
    elif damage == "cut":
        weights.write_bytes(weights.read_bytes()[:-1])
    else:
        (path / "state.json" if damage == "no-state" else weights).unlink()
    said = []
    assert checkpoint.latest(tmp_path, said.append)[1].step == 5
    (line,) = said
    culprit = "state.json" if damage == "no-state" else "model.safetensors"
    assert f"step-00000010 is damaged and passed over: {culprit}" in line


def test_the_best_and_the_milestones_stay_besides_the_newest(tmp_path):
    losses = {4: 5.0, 6: 3.0, 8: 4.0, 9: None, 10: 3.5, 11: None}
    for step, loss in losses.items():
        checkpoint.save(tmp_path, _snapshot(step, loss), keep=2, keep_every=4)
    assert sorted(int(p.name[5:]) for p in tmp_path.iterdir()) == [4, 6, 8, 10, 11]


def test_a_half_written_one_is_no_checkpoint_and_is_replaced(tmp_path):
    assert checkpoint.latest(tmp_path) is None
    half = tmp_path / ".step-00000005.tmp"
    half.mkdir()
    (half / "model.safetensors").write_text("half")
    assert checkpoint.latest(tmp_path) is None
    checkpoint.save(tmp_path, _snapshot(5), keep=1)
    assert [p.name for p in tmp_path.iterdir()] == ["step-00000005"]


def test_one_that_cannot_be_written_is_a_sentence_and_leaves_nothing(tmp_path):
    """As on a full disk; here no file may grow beyond a thousand bytes."""
    checkpoint.save(tmp_path, _snapshot(5), keep=1)
    big = checkpoint.Snapshot(_snapshot(10).state, {"a": np.zeros(1 << 16, np.float32)}, {}, {})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(MrprepError, match=r"the checkpoint of step 10 cannot be written to .*: make room there"):
            checkpoint.save(tmp_path, big, keep=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [p.name for p in tmp_path.iterdir()] == ["step-00000005"]
    assert checkpoint.latest(tmp_path)[1].step == 5


def _metric(step, loss=1.0):
    return metrics.Metric(
        step=step, loss=loss, lr=0.1, norm=1.0, tokens=8, tokens_per_s=2.0, seconds=4.0, waited=0.1, skipped=False
    )


def test_a_follower_waits_for_whole_lines(tmp_path):
    path = tmp_path / "metrics.jsonl"
    follower = metrics.Follower(path)
    assert list(follower.new()) == []
    path.write_bytes(b'{"step": 1}\n{"st')
    assert [m["step"] for m in follower.new()] == [1]
    with path.open("ab") as file:
        file.write(b'ep": 2}\n')
    assert [m["step"] for m in follower.new()] == [2]


def test_metrics_are_cut_back_to_a_checkpoint_and_hold_nothing_that_is_not_json(tmp_path):
    path = tmp_path / "metrics.jsonl"
    file = metrics.MetricsFile(path)
    for step in range(1, 6):
        file.write(_metric(step, float("nan") if step == 2 else 1.0))
    file.close()
    metrics.cut_after(path, 3)
    assert [json.loads(line)["loss"] for line in path.read_text().splitlines()] == [1.0, None, 1.0]
    metrics.cut_after(tmp_path / "layers.jsonl", 3)
    assert not (tmp_path / "layers.jsonl").exists()


def test_only_one_trainer_in_a_run(tmp_path):
    with (
        rundir.held(tmp_path / "run"),
        pytest.raises(MrprepError, match="another mrprep train"),
        rundir.held(tmp_path / "run"),
    ):
        pass
    with rundir.held(tmp_path / "run"):
        pass


def test_a_checkpoint_told_of_its_loss_is_sound_and_may_be_the_best(tmp_path):
    checkpoint.save(tmp_path, _snapshot(1, 5.0), keep=1)
    checkpoint.save(tmp_path, _snapshot(2), keep=1)
    checkpoint.tell(tmp_path, 2, {"valid_loss": 6.0, "best_loss": 5.0}, keep=1)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-00000001", "step-00000002"]
    checkpoint.save(tmp_path, _snapshot(3), keep=1)
    checkpoint.tell(tmp_path, 3, {"valid_loss": 4.0, "best_loss": 4.0}, keep=1)
    (path,) = tmp_path.iterdir()
    assert sorted(p.name for p in path.iterdir()) == [
        *("config.json", "model.safetensors", "optimizer.safetensors", "state.json")
    ]
    state = checkpoint.named(path)
    assert (state.step, state.valid_loss, state.best_loss) == (3, 4.0, 4.0)


def test_a_directory_that_cannot_be_made_is_a_sentence():
    with (
        pytest.raises(MrprepError, match=r"cannot be written to /proc/x1 .*: name another --out"),
        rundir.held(Path("/proc/x1")),
    ):
        pass
