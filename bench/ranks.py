"""Whole runs by the launcher: one rank, two ranks with the same cores, two ranks with ZeRO, in turn.

    python bench/ranks.py [--rounds 2] [--steps 40]

The model of bench/train.py, global batch 4 rows of 512 random tokens. Of each: tokens a second (median of the second
half), time blocked in next(), resident memory of rank 0, optimizer state a rank, and what a checkpoint costs: seconds,
and their share of a minute.
"""

import argparse
import json
import statistics
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
from train import SHAPE

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
CONTENDERS = {"1 rank": (1, 0), "2 ranks": (2, 0), "2, zero": (2, 1)}


def measure(build, config, run, ranks, zero, steps):
    """Train, and return what metrics.jsonl says of it."""
    from mrprep.training import metrics
    from mrprep.training.run import train
    from mrprep.training.settings import LoopOptions

    options = LoopOptions(ranks=ranks, zero=zero, micro_batch=4 // ranks, save_every=steps // 4, keep=1)
    train(build, out=run, model=str(config), steps=steps, options=options, say=lambda _: None)
    lines = metrics.read(run / "metrics.jsonl")
    late = lines[len(lines) // 2 :]
    between = [(b["at"] - a["at"] - b["seconds"], a["step"] % (steps // 4) == 0) for a, b in pairwise(lines)]
    return {
        "rate": statistics.median(m["tokens_per_s"] for m in late),
        "waited": sum(m["waited"] for m in late) / sum(m["seconds"] for m in late),
        "memory": lines[-1]["memory"] / 1e6,
        "saving": statistics.median(gap for gap, saved in between if saved),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    from training_build import write_build

    found = {name: [] for name in CONTENDERS}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        rows = np.random.default_rng(0).integers(3, 8000, (4 * options.steps, 513)).astype(np.int32)
        build = write_build(folder / "b", {"input_ids": rows}, 2, vocab_size=8000)
        (folder / "config.json").write_text(json.dumps(SHAPE | {"model_type": "llama"}))
        for turn in range(options.rounds):
            for name, (ranks, zero) in CONTENDERS.items():
                one = measure(
                    build, folder / "config.json", folder / f"{turn}-{ranks}-{zero}", ranks, zero, options.steps
                )
                found[name].append(one)
                print(
                    f"{name:<8} {one['rate']:,.0f} tok/s, next() {one['waited']:.2%}, {one['memory']:,.0f} MB, "
                    f"a checkpoint {one['saving']:.2f} s = {one['saving'] / 60:.1%} of a minute",
                    flush=True,
                )
    for name, runs in found.items():
        share = statistics.median(a["rate"] / b["rate"] for a, b in zip(runs, found["1 rank"], strict=True))
        print(f"{name:<8} {share:.2f} of one rank")


if __name__ == "__main__":
    main()
