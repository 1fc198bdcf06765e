"""Kill a build at times spread over an undisturbed run, go on, and compare bytes.

python bench/kills.py [INPUT] [--kills 20] : the whole process group gets SIGKILL; at least 3 kills fall into each
phase that takes over half a second. Each rerun must end with the bytes of the undisturbed run.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tree import SHARED, command, run, tree_hash

LONG_PHASE = 0.5
AT_LEAST = 3


def moments(phases: list[dict], kills: int) -> Iterator[tuple[str, float]]:
    """Yield (phase to wait for, seconds after its start): some in each long phase, the rest anywhere."""
    long = [phase for phase in phases if phase["seconds"] > LONG_PHASE]
    for phase in long:
        for part in range(AT_LEAST):
            yield phase["phase"], phase["seconds"] * (part + 0.5) / AT_LEAST
    rest = random.Random(0)
    for _ in range(kills - AT_LEAST * len(long)):
        phase = rest.choice(phases)
        yield phase["phase"], rest.random() * max(phase["seconds"], 0.05)


def kill_in(phase: str, delay: float, out: Path, arguments: list[object]) -> bool:
    """Start a build, kill its process group in a phase; return whether it was still running."""
    build = subprocess.Popen(
        command(*arguments), start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    home = out.with_name(out.name + ".work") / "phases" / phase
    while build.poll() is None and not home.is_dir():
        time.sleep(0.005)
    time.sleep(delay)
    alive = build.poll() is None
    if alive:
        os.killpg(build.pid, signal.SIGKILL)
    build.wait()
    return alive


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("input", nargs="?", default=SHARED / "corpora/mixfolder", type=Path)
    parser.add_argument("--kills", default=20, type=int)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mrprep-kills-") as folder:
        still = Path(folder) / "undisturbed"
        run("build", options.input, "--out", still)
        wanted = tree_hash(still)
        phases = json.loads((still / "run.json").read_text())["phases"]
        equal = landed = 0
        for phase, delay in moments(phases, options.kills):
            out = Path(folder) / "killed"
            arguments: list[object] = ["build", options.input, "--out", out]
            was_alive = kill_in(phase, delay, out, arguments)
            run(*arguments)
            done = json.loads((out / "run.json").read_text())["phases"]
            again = {p["phase"]: p["units"] - p["reused"] for p in done if p["units"] > p["reused"]}
            same = tree_hash(out) == wanted
            equal, landed = equal + same, landed + was_alive
            print(
                f"{phase:<18} +{delay:5.2f} s  killed: {was_alive}  equal: {same}  units done after: {again}",
                flush=True,
            )
            shutil.rmtree(out)
        print(f"{landed} kills, {equal} of {max(options.kills, landed)} runs equal to the undisturbed one")


if __name__ == "__main__":
    main()
