"""Whole runs through the launcher, shared by the tests: a few seconds of training each, 5-10 s of starting."""

import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
import pytest
from builds import started
from training_build import write_build

from mrprep.errors import MrprepError
from mrprep.training import checkpoint, history, metrics
from mrprep.training.config import ModelConfig
from mrprep.training.evaluate import evaluate
from mrprep.training.run import train
from mrprep.training.schedule import ScheduleOptions
from mrprep.training.settings import LoopOptions
from mrprep.training.stopping import TerminatedRunError

pytestmark = pytest.mark.mindspore

VOCAB, STEPS = 64, 30
SCHEDULE = ScheduleOptions(peak=3e-3, warmup=3)


def _train(build, out, steps=STEPS, say=lambda line: None, model="tiny", new_data=False, init_from=None, **options):
    return train(
        build,
        out=out,
        model=model,
        steps=steps,
        schedule=SCHEDULE,
        options=LoopOptions(**{"save_every": 10, **options}),
        new_data=new_data,
        init_from=init_from,
        say=say,
    )


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Rows that follow one fixed permutation of the ids: each id says which comes next."""
    follow = np.random.default_rng(0).permutation(VOCAB)
    rows = np.empty((203, 33), np.int32)
    rows[:, 0] = np.arange(203) % VOCAB
    for place in range(1, 33):
        rows[:, place] = follow[rows[:, place - 1]]
    return write_build(tmp_path_factory.mktemp("build") / "b", {"input_ids": rows}, 2, vocab_size=VOCAB, pad_id=None)


@pytest.fixture(scope="module")
def alone(build, tmp_path_factory):
    """One rank on whole batches, undisturbed."""
    return _train(build, tmp_path_factory.mktemp("alone"), micro_batch=8)


def _losses(run):
    return [m["loss"] for m in metrics.read(run / "metrics.jsonl")]


def test_the_loss_falls(alone):
    losses = _losses(alone.run)
    assert len(losses) == STEPS
    assert losses[0] == pytest.approx(math.log(VOCAB), abs=0.3)
    assert losses[-1] < 0.5 * losses[0]
    assert (alone.first_loss, alone.last_loss, alone.steps) == (losses[0], losses[-1], STEPS)
    assert alone.tokens == STEPS * 8 * 32


def test_logs_of_a_good_run_are_clean(alone):
    log = (alone.run / "logs/rank-0.log").read_text()
    assert "Traceback" not in log
    assert "NumPy" not in log


def _signal_after(step, run, number):
    """Send this process, the launcher, a signal once ``step`` steps are done."""

    def wait_and_send():
        while len(metrics.read(run / "metrics.jsonl")) < step:
            time.sleep(0.02)
        os.kill(os.getpid(), number)

    threading.Thread(target=wait_and_send, daemon=True).start()


def test_stopped_by_a_signal_and_resumed_it_is_equal_to_the_last_bit(alone, build, tmp_path):
    """Nothing is lost by SIGTERM; a damaged checkpoint costs the steps since the one before."""
    run, said = tmp_path / "run", []
    _signal_after(22, run, signal.SIGTERM)
    with pytest.raises(TerminatedRunError, match=r"stopped after step \d+ of 30, with a checkpoint") as caught:
        _train(build, run, micro_batch=8)
    assert caught.value.exit_code == 143
    (stopped,) = [int(word) for word in re.findall(r"step (\d+)", str(caught.value))]
    assert 22 <= stopped < STEPS
    assert len(_losses(run)) == stopped
    assert _losses(run) == _losses(alone.run)[:stopped]

    (run / f"checkpoints/step-{stopped:08d}/model.safetensors").write_bytes(b"damaged")
    again = _train(build, run, micro_batch=8, say=said.append)
    assert any(f"step-{stopped:08d} is damaged and passed over" in line for line in said)
    assert "going on after step 20" in said
    assert [event["what"] for event in history.events(run)] == ["started", "stopped", "started", "finished"]
    assert f"step-{stopped:08d} is damaged and passed over" in history.events(run)[2]["told"]
    assert _losses(run) == _losses(alone.run)
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert (again.checkpoint / name).read_bytes() == (alone.checkpoint / name).read_bytes()


def test_other_data_seed_or_batch_than_the_checkpoint_s_is_refused(alone, build):
    with pytest.raises(MrprepError, match="the seed 0, now it is 1"):
        _train(build, alone.run, micro_batch=8, seed=1)
    with pytest.raises(MrprepError, match="the global batch 8, now it is 4"):
        _train(build, alone.run, micro_batch=4)
    with pytest.raises(MrprepError, match="hidden_size 128, now it is 256"):
        _train(build, alone.run, micro_batch=8, model="10m")


def test_a_finished_run_is_not_run_again(alone, build):
    began = time.monotonic()
    assert _train(build, alone.run, micro_batch=8) == alone
    assert time.monotonic() - began < 1
    with pytest.raises(MrprepError, match=r"has 30 steps done and this command asks for 20 \(--steps"):
        _train(build, alone.run, steps=20, micro_batch=8)
    assert _train(build, alone.run, micro_batch=8) == alone


@pytest.mark.slow
def test_a_new_run_begins_with_the_weights_of_another(alone, build, tmp_path):
    """All rows in one step: its loss, before the update, is the loss of those weights."""
    said = []
    begun = _train(build, tmp_path / "run", steps=1, micro_batch=203, model=None, init_from=alone.run, say=said.append)
    assert f"beginning with the weights in {alone.checkpoint}" in said
    assert begun.first_loss == pytest.approx(evaluate(alone.run, build, split="train")["loss"], abs=1e-5)
    assert checkpoint.latest(tmp_path / "run/checkpoints")[1].tokens == 203 * 32


def _kill_a_rank_after(step, run, seen):
    """Kill rank 1 once ``step`` steps are done; note when, and which processes there were."""
    while len(metrics.read(run / "metrics.jsonl")) < step:
        time.sleep(0.05)
    ranks = started()
    victim = next(p for p in ranks if p.environ().get("MS_NODE_ID") == "1")
    seen.update(ranks=ranks, at=time.monotonic())
    victim.kill()


def test_two_ranks_killed_and_gone_on_with_by_one_give_the_losses_of_one(alone, build, tmp_path):
    """Rank 1 is killed after step 12; the run ends in a sentence, one rank goes on from step 10 with the same rows."""
    run, seen, said = tmp_path / "run", {}, []
    killer = threading.Thread(target=_kill_a_rank_after, args=(12, run, seen), daemon=True)
    killer.start()
    with pytest.raises(MrprepError, match=r"rank-1 was killed by SIGKILL.*rank-1\.log"):
        _train(build, run, ranks=2, micro_batch=4)
    assert time.monotonic() - seen["at"] < 5
    assert len(seen["ranks"]) == 3
    assert not psutil.wait_procs(seen["ranks"], timeout=2)[1]

    again = _train(build, run, ranks=1, micro_batch=4, accumulate=2, spikes_in_a_row=4, say=said.append)
    assert again.steps == STEPS
    assert "going on after step 10" in said
    assert [line for line in said if "other settings" in line] == [
        "going on with other settings than the checkpoint's: --ranks 2 -> 1, --accumulate 1 -> 2, "
        "--spikes-in-a-row 5 -> 4; rows come in the same order"
    ]
    assert np.abs(np.subtract(_losses(run), _losses(alone.run))).max() < 1e-5  # fp32 sums in another order
    assert not started()


@pytest.mark.slow
def test_zero_gives_the_losses_of_one_rank_and_goes_on_on_another_number_of_ranks(alone, build, tmp_path):
    """Two ranks of two micro-batches hold half the state each; their checkpoint is one rank's too, without ZeRO."""
    run, said = tmp_path / "run", []
    split = _train(build, run, ranks=2, micro_batch=2, accumulate=2, zero=1, say=said.append)
    assert np.abs(np.subtract(_losses(run), _losses(alone.run))).max() < 1e-5
    sizes = {p.name: p.stat().st_size for p in split.checkpoint.glob("*.safetensors")}
    assert sizes == {p.name: p.stat().st_size for p in alone.checkpoint.glob("*.safetensors")}
    shape = json.loads((run / "settings.json").read_bytes())["model"]
    whole = 8 * ModelConfig(**shape).parameter_count / 1e6
    assert f"zero 1: {whole / 2:,.1f} MB of optimizer state a rank, of {whole:,.1f} MB" in said

    shutil.rmtree(run / "checkpoints/step-00000030")
    assert _train(build, run, ranks=1, micro_batch=8).steps == STEPS
    assert np.abs(np.subtract(_losses(run), _losses(alone.run))).max() < 1e-5
    assert not started()


@pytest.mark.slow
def test_float16_goes_on_with_its_loss_scale_to_the_last_bit(build, tmp_path):
    """A scale too large by far: the first steps overflow and are counted, are no incidents, and it grows again."""
    options = {"micro_batch": 8, "amp": "O2", "loss_scale": 2.0**25, "loss_scale_window": 2, "save_every": 8, "keep": 9}
    said = []
    whole = _train(build, tmp_path / "whole", steps=12, say=said.append, **options)
    lines = metrics.read(tmp_path / "whole/metrics.jsonl")
    overflows = [m["overflow"] for m in lines]
    assert overflows[0]
    assert whole.overflows == sum(overflows)
    assert any(b["loss_scale"] > a["loss_scale"] for a, b in pairwise(lines))
    assert not (whole.run / "incidents").exists()
    assert any("float16 (O2) with a dynamic loss scale" in line for line in said)

    part = tmp_path / "part"
    shutil.copytree(whole.run, part)
    shutil.rmtree(part / "checkpoints/step-00000012")
    again = _train(build, part, steps=12, **options)
    assert [(m["loss"], m["loss_scale"]) for m in metrics.read(part / "metrics.jsonl")] == [
        (m["loss"], m["loss_scale"]) for m in lines
    ]
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert (again.checkpoint / name).read_bytes() == (whole.checkpoint / name).read_bytes()


@pytest.mark.slow
def test_under_an_msrun_of_the_user_s_own_the_same_command_just_runs(alone, build, tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    scripts = Path(sys.executable).parent
    subprocess.run(
        [
            "msrun", "--worker_num=2", "--local_worker_num=2", f"--master_port={port}", "--join=True",
            f"--log_dir={tmp_path / 'logs'}",
            scripts / "mrprep", "train", build, "--out", tmp_path / "run", "--micro-batch", "4",
            "--steps", str(STEPS), "--lr", "3e-3", "--warmup", "3",
        ],
        check=True, capture_output=True, timeout=120, env=os.environ | {"PATH": f"{scripts}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert np.abs(np.subtract(_losses(tmp_path / "run"), _losses(alone.run))).max() < 1e-5
    assert checkpoint.latest(tmp_path / "run/checkpoints")[1].step == STEPS


def test_an_error_in_a_rank_is_one_sentence_with_its_log(tmp_path):
    """Rows with ids that the vocabulary does not have."""
    rows = np.full((8, 33), VOCAB, np.int32)
    broken = write_build(tmp_path / "b", {"input_ids": rows}, 1, vocab_size=VOCAB)
    with pytest.raises(
        MrprepError, match=r"rank-0: .*holds id 64, the vocabulary has 64.*log: .*rank-0\.log"
    ) as caught:
        _train(broken, tmp_path / "run", micro_batch=8, steps=2)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("flip", r"train-00001\.mindrecord has changed since it was built \(its SHA-256"),
        ("cut", r"train-00001\.mindrecord has \d+ bytes, \d+ in the manifest: run mrprep verify"),
        ("index", r"train-00001\.mindrecord\.db is missing: run mrprep verify"),
        ("rename", r"train-00001\.mindrecord is missing: .* put it back under its name"),
        ("valid", r"valid-00000\.mindrecord is missing: run mrprep verify"),
        ("swap", r"train-0000\d\.mindrecord (has \d+ bytes|has changed)"),
    ],
)
def test_a_damaged_shard_is_a_sentence_before_the_first_step(build, tmp_path, damage, says):
    broken = tmp_path / "b"
    shutil.copytree(build, broken)
    one, two = (broken / f"train/train-0000{k}.mindrecord" for k in range(2))
    data = bytearray(two.read_bytes())
    if damage == "flip":
        data[-1] ^= 1
        two.write_bytes(data)
    elif damage == "cut":
        two.write_bytes(data[:-1])
    elif damage == "index":
        two.with_name(two.name + ".db").unlink()
    elif damage == "valid":
        manifest = json.loads((broken / "manifest.json").read_text())
        shard = manifest["splits"]["train"]["shards"][0] | {"file": "valid/valid-00000.mindrecord"}
        manifest["splits"]["valid"] = manifest["splits"]["train"] | {"shards": [shard], "rows": shard["rows"]}
        manifest["files"][shard["file"]] = {"bytes": 1, "sha256": "ab" * 32}
        manifest["files"][shard["file"] + ".db"] = {"bytes": 1, "sha256": "ab" * 32}
        (broken / "manifest.json").write_text(json.dumps(manifest))
    elif damage == "rename":
        two.rename(two.with_name("mine.mindrecord"))
    else:
        two.write_bytes(one.read_bytes())
        one.write_bytes(data)
    began = time.monotonic()
    with pytest.raises(MrprepError, match=says):
        _train(broken, tmp_path / "run", micro_batch=8, steps=2)
    assert time.monotonic() - began < 5
    assert not started()
