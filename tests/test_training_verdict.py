"""Verdicts on made-up runs of every kind, and on what the bar and TensorBoard are told. No MindSpore."""

import math
import re

import numpy as np
import pytest

from mrprep.errors import MrprepError
from mrprep.training import metrics, scalars
from mrprep.training.metrics import Follower
from mrprep.training.progress import Watch
from mrprep.training.verdict import verdict


def _run(losses, waited=0.0, skipped=()):
    return [
        metrics.Metric(
            step=k + 1, loss=float(loss), lr=1e-3, norm=1.0, peak=float(loss) + 1,
            tokens=8, tokens_per_s=8.0, seconds=1.0, waited=waited,
            skipped=k in skipped,
        )
        for k, loss in enumerate(losses)
    ]  # fmt: skip


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
    assert verdict(_run([math.nan] * 30, skipped=range(30))).startswith("100% of the steps were skipped")


def test_the_first_hundred_steps_are_judged_once_and_those_done_before_left_out(tmp_path):
    path, said = tmp_path / "metrics.jsonl", []
    file = metrics.MetricsFile(path)
    for metric in _run(np.linspace(9, 5, 250)):
        file.write(metric)
    file.close()
    with Watch(Follower(path), 50, 250, said.append) as watch:
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
