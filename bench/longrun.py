"""A 10m model on mixfolder and zh_laws for ten minutes of training, killed three times on the way.

    python bench/longrun.py [--minutes 10] [--ranks 2] [--every 25] [--work DIR]

Four legs of equal time, counted from a leg's first step: ended by kill -9 of the parent, kill -9 of a rank, SIGTERM,
and the last by reaching its steps. Prints a row a leg, the validation losses, and what must hold: every step once in
metrics.jsonl, the validation loss lower at the end, no process left. Exit code 1 if it does not.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from faults import left_of
from tree import SHARED, command

SHAPE = ["--model", "10m", "--micro-batch", 2, "--lr", "1e-3", "--warmup", 30, "--decay", "wsd"]
KEEPING = ["--save-minutes", 0.5, "--valid-rows", 32, "--keep-every", 200]
UNENDING = 1_000_000
INPUTS = [SHARED / "corpora/mixfolder", SHARED / "corpora/zh_laws"]


def lines(file):
    """Return the whole lines of a file of JSON lines."""
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


class Leg:
    """One ``mrprep train``, from its start to its end."""

    def __init__(self, build, run, ranks, every, steps):
        self.metrics, self.log = run / "metrics.jsonl", run.parent / "stderr"
        self.began, before = time.monotonic(), self.metrics.stat().st_mtime_ns if self.metrics.exists() else 0
        self.had = len(lines(self.metrics))
        with self.log.open("w") as log:
            options = ["--out", run, "--ranks", ranks, "--steps", steps, "--save-every", every, "--valid-every", every]
            options += [*SHAPE, *KEEPING]
            self.popen = subprocess.Popen(command("train", build, *options), stdout=subprocess.DEVNULL, stderr=log)
        while self.popen.poll() is None and (not self._ready() or self.metrics.stat().st_mtime_ns == before):
            time.sleep(0.05)
        while self.popen.poll() is None and len(lines(self.metrics)) <= self.on():
            time.sleep(0.05)
        self.first = time.monotonic()

    def _ready(self):
        return self.metrics.exists() and "global batch" in self.log.read_text()

    def on(self):
        """Return the step after which this leg goes on."""
        said = [line for line in self.log.read_text().splitlines() if line.startswith("going on after step ")]
        return int(said[0].split()[-1]) if said else 0

    def children(self):
        """Return the processes of the ranks."""
        return psutil.Process(self.popen.pid).children(recursive=True)

    def end(self, how, number):
        """End the leg by a fault, or by waiting; print its row."""
        ranks = self.children() if self.popen.poll() is None else []
        at = time.monotonic()
        if how == "kill -9 parent":
            self.popen.kill()
        elif how == "kill -9 rank":
            next(p for p in ranks if p.environ().get("MS_ROLE") != "MS_SCHED").kill()
        elif how == "SIGTERM":
            self.popen.terminate()
        self.popen.wait()
        ended = time.monotonic()
        left = left_of(ranks)
        mine = [line for line in lines(self.metrics) if line["step"] > self.on()]
        if not mine:
            sys.exit(f"{number}  no step was made:\n{self.log.read_text()}")
        rate = sum(line["tokens"] for line in mine) / (at - self.first)
        lost = max(0, self.had - self.on())
        print(
            f"{number}  after {self.on():>5}  lost {lost:>3}  first step {self.first - self.began:5.1f} s  "
            f"to step {mine[-1]['step']:>5}  loss {mine[0]['loss']:.3f} -> {mine[-1]['loss']:.3f}  {rate:6.0f} tok/s  "
            f"{how:<14} {ended - at:4.1f} s  exit {self.popen.returncode:>3}  left {len(left)}",
            flush=True,
        )
        said = [line for line in self.log.read_text().replace("\r", "\n").splitlines() if line.startswith("mrprep: ")]
        print("".join(f"   {line}\n" for line in said), end="", flush=True)
        return len(mine) / (at - self.first), not left


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--every", type=int, default=25, help="steps between checkpoints and validations")
    parser.add_argument("--work", type=Path, help="where build and run are left; a temporary directory by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mrprep-longrun-") as folder:
        work = options.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        sys.exit(go(work, options.ranks, options.every, 60 * options.minutes / 4))


def go(work, ranks, every, seconds):
    """Build, train in four legs, and say what holds; return the exit code."""
    build, run = work / "build", work / "run"
    if not build.exists():
        shape = ["--seq", 512, "--vocab-size", 8000, "--valid", 0.01]
        subprocess.run(command("build", *INPUTS, "--out", build, *shape), check=True, capture_output=True)
    clean = True
    for number, how in enumerate(["kill -9 parent", "kill -9 rank", "SIGTERM"], 1):
        leg = Leg(build, run, ranks, every, UNENDING)
        time.sleep(max(0, leg.first + seconds - time.monotonic()))
        rate, none_left = leg.end(how, number)
        clean &= none_left
    done = len(lines(run / "metrics.jsonl"))
    leg = Leg(build, run, ranks, every, done + max(10, round(rate * seconds)))
    leg.popen.wait()
    leg.end("its last step", 4)
    return judge(run, clean, leg.popen.returncode)


def judge(run, clean, code):
    """Print validation losses and what must hold; return the exit code."""
    steps = [line["step"] for line in lines(run / "metrics.jsonl")]
    valid = lines(run / "valid.jsonl")
    print("validation  " + ", ".join(f"{line['step']}: {line['loss']:.3f}" for line in valid))
    holds = {
        f"every step from 1 to {len(steps)} once": steps == [*range(1, len(steps) + 1)],
        f"validation loss {valid[0]['loss']:.3f} -> {valid[-1]['loss']:.3f}": valid[-1]["loss"] < valid[0]["loss"],
        "no process left": clean,
        "the last leg ended well": code == 0,
    }
    for what, held in holds.items():
        print(f"{'holds' if held else 'FAILS'}  {what}")
    subprocess.run(command("report", run), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return 0 if all(holds.values()) else 1


if __name__ == "__main__":
    main()
