"""Verdicts on made-up runs of every kind, and on what the bar and TensorBoard are told. No MindSpore."""

import re

import numpy as np
import pytest

from mrprep.errors import MrprepError
from mrprep.training import history, memory, metrics, scalars
from mrprep.training.metrics import Follower
from mrprep.training.progress import Watch, Work, line
from mrprep.training.verdict import verdict


def _metric(step, loss, **other):
    return metrics.Metric(
        step=step, at=1.8e9 + step, loss=float(loss), lr=1e-3, norm=1.0, peak=float(loss) + 1, tokens=8,
        tokens_per_s=8.0, seconds=1.0, waited=0.0, communication=0.0, memory=1 << 30, device_memory=None, skipped=False,
    ) | other  # fmt: skip


def _run(losses, skipped=(), **other):
    return [_metric(k + 1, loss, skipped=k in skipped, **other) for k, loss in enumerate(losses)]


def _noise(size, n=100):
    return size * np.random.default_rng(0).standard_normal(n)


@pytest.mark.parametrize(
    ("losses", "word"),
    [
        (np.linspace(9, 5, 100) + _noise(0.1), "falling: the loss went from 8."),
        (np.linspace(5.0, 4.8, 100) + _noise(0.05), "falling"),
        (5 + _noise(0.1), "flat: .* mrprep audit"),
        (np.concatenate([np.linspace(9, 5, 60), np.linspace(5, 8, 40)]) + _noise(0.05), "diverging: .*lower --lr"),
        (5 + np.linspace(0, 2, 100) + _noise(0.1), "diverging"),
        (5 + 2 * np.cos(np.arange(100) * 2.5), "oscillating: .*lower --lr"),
    ],
)
def test_each_kind_of_run_has_its_word(losses, word):
    assert re.match(word, verdict(_run(losses)))


def test_waiting_and_skipping_are_named():
    said = verdict(_run(np.linspace(9, 5, 100), waited=0.2, skipped=range(0, 100, 10)))
    assert said.startswith("falling")
    assert "10% of the steps were skipped" in said
    assert "20% of the time went into waiting for rows" in said


def test_too_few_steps_and_too_few_good_ones():
    assert verdict(_run([1.0] * 19)) is None
    nothing = [_metric(k + 1, 9.0) | {"loss": None, "skipped": True} for k in range(30)]
    assert verdict(nothing).startswith("100% of the steps overflowed")


def test_overflow_is_told_from_steps_far_out():
    run = _run(np.linspace(9, 5, 100))
    for metric in run[::10]:
        metric |= {"skipped": True, "norm": None}
    assert "10% of the steps overflowed" in verdict(run)
    assert "were skipped" not in verdict(run)


def test_sums_over_the_ranks_are_named_and_steps_before_they_were_timed_left_out():
    run = _run(np.linspace(9, 5, 100), communication=0.45)
    for metric in run[:40]:
        metric["communication"] = None
    assert "45% of the time went into sums over the ranks: take more --accumulate" in verdict(run)
    assert verdict(_run(np.linspace(9, 5, 100), communication=0.39)) == verdict(_run(np.linspace(9, 5, 100)))


def test_a_flat_loss_has_the_data_looked_at_and_no_other():
    assert "; unknown: 4 % are unknown, or take" in verdict(_run(5 + _noise(0.1)), lambda: "unknown: 4 % are unknown")
    assert verdict(_run(np.linspace(9, 5, 100)), lambda: pytest.fail("looked")).startswith("falling")


@pytest.mark.parametrize(
    ("used", "grows"),
    [
        (1 << 30, None),
        ((1 << 30) + (np.arange(200) << 20), 1 << 20),
        ((1 << 30) + np.minimum(np.arange(200), 30) * (50 << 20), None),
        ((1 << 30) + np.minimum(np.arange(200), 90) * (9 << 20), None),
        ((1 << 30) + (np.arange(200) << 16), None),
        ((1 << 30) + np.repeat([0, 0, 80, 170, 170], 40) * (1 << 20), None),
    ],
    ids=["still", "growing", "settled at once", "settled", "hardly", "twice"],
)
def test_memory_that_keeps_growing(used, grows):
    used = np.broadcast_to(used, 200).tolist()
    assert memory.growth(used) == (None if grows is None else pytest.approx(grows, rel=0.05))
    run = [_metric(k + 1, 9 - k / 50, memory=used[k]) for k in range(200)]
    assert ("memory keeps growing, by 1,000 MiB" in verdict(run)) == (grows is not None)


def test_the_line_of_a_step():
    work = Work(0, 10, flops=1_000_000)
    metric = _metric(1, 2.5, tokens_per_s=1e6, waited=0.02, communication=0.25)
    assert line(metric, work, grows=False) == (
        "loss 2.500, lr 0.001, 1,000,000 tok/s, 1.00TFLOP/s, waiting 2.0%, sums 25%, 1.0 GiB"
    )
    metric |= {"loss": None, "skipped": True, "communication": 0.0, "device_memory": 3 << 30}
    assert line(metric, Work(0, 10, 1_000_000, peak=4e12), grows=True) == (
        "loss not finite (skipped), lr 0.001, 1,000,000 tok/s, MFU 25.0%, waiting 2.0%, 1.0 GiB and growing, "
        "3.0 GiB on the device"
    )


def test_the_first_hundred_steps_are_judged_once_and_those_done_before_left_out(tmp_path):
    path, said = tmp_path / "metrics.jsonl", []
    file = metrics.MetricsFile(path)
    for metric in _run(np.linspace(9, 5, 250)):
        file.write(metric)
    file.close()
    with Watch(Follower(path), Work(50, 250, 1), said.append) as watch:
        watch.update()
        watch.update()
    (line,) = said
    assert line.startswith("after 100 steps falling: the loss went from 8.1")


def test_scalars_are_written_or_the_extra_named(tmp_path):
    try:
        import tensorboardX  # noqa: F401
    except ImportError:
        with pytest.raises(MrprepError, match=r"mrprep\[tensorboard\]"):
            scalars.Scalars(tmp_path, 0)
        return
    writer = scalars.Scalars(tmp_path, 0)
    writer.write(_run([5.0])[0])
    writer.close()
    (events,) = (tmp_path / "tensorboard").iterdir()
    assert b"train/loss" in events.read_bytes()


def test_the_history_tells_starts_and_ends(tmp_path):
    file = metrics.MetricsFile(tmp_path / "metrics.jsonl")
    with pytest.raises(MrprepError), history.kept(tmp_path, 0, 9, "ranks: 2"):
        file.write(_metric(4, 5.0))
        raise MrprepError("rank-1 was killed")
    with history.kept(tmp_path, 4, 9, "ranks: 1"):
        file.write(_metric(5, 5.0))
    with history.kept(tmp_path, 5, 9, "ranks: 1"):
        file.write(_metric(9, 5.0))
    told = [(event["what"], event["step"], event["told"]) for event in history.events(tmp_path)]
    assert told == [
        ("started", 0, "ranks: 2"), ("failed", 4, "rank-1 was killed"), ("started", 4, "ranks: 1"), ("stopped", 5, ""),
        ("started", 5, "ranks: 1"), ("finished", 9, ""),
    ]  # fmt: skip
