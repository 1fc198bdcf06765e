"""Faults done to real training runs: each must end in a sentence, leave no process, and the same command must go on.

    python bench/faults.py [--build BUILD] [--only WORD]

Two ranks of a tiny model, a checkpoint every 10 steps of 60. Prints a row a fault: seconds from the fault to the exit,
processes left, whether the same command then finished, and the sentence. As root, a full disk is a tmpfs of 80 MB.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

MRPREP = [sys.executable, "-m", "mrprep"]
STEPS, LONG = 60, 300


class Run:
    """One ``mrprep train``, started and watched."""

    def __init__(self, build, out, *more, launcher=None):
        self.out, self.log = out, out.parent / f"{out.name}.stderr"
        options = [
            "--ranks",
            2,
            "--micro-batch",
            2,
            "--steps",
            STEPS,
            "--save-every",
            10,
            "--keep",
            3,
            "--valid-rows",
            0,
        ]
        command = [*(launcher or MRPREP), "train", build, "--out", out, *options, *more]
        with self.log.open("w") as log:
            self.popen = subprocess.Popen(
                [*map(str, command)], stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
            )
        self.seen = {}

    def until(self, condition):
        """Wait until a condition holds; note the processes meanwhile."""
        deadline = time.monotonic() + LONG
        while self.popen.poll() is None and time.monotonic() < deadline:
            self._look()
            if condition():
                return
            time.sleep(0.005)
        sys.exit(f"the run ended before the fault: {self.sentence()}")

    def step(self, count):
        """Wait until so many steps are done."""
        file = self.out / "metrics.jsonl"
        self.until(lambda: file.exists() and file.read_bytes().count(b"\n") >= count)

    def rank(self, number):
        """Return the process of a rank."""
        return next(p for p in self.seen.values() if p.is_running() and p.environ().get("MS_NODE_ID") == str(number))

    def end(self):
        """Wait for the end; return seconds since the call, and the processes left 5 s later."""
        began = time.monotonic()
        self.popen.wait(LONG)
        seconds = time.monotonic() - began
        return seconds, left_of(self.seen.values())

    def sentence(self):
        """Return the last line that mrprep said."""
        lines = [line for line in self.log.read_text().replace("\r", "\n").splitlines() if line.startswith("mrprep: ")]
        return lines[-1] if lines else f"(none; exit code {self.popen.returncode})"

    def _look(self):
        try:
            for child in psutil.Process(self.popen.pid).children(recursive=True):
                self.seen.setdefault(child.pid, child)
        except psutil.Error:
            pass


def left_of(processes):
    """Return the names of the processes that still run after 5 s; one that only waits to be reaped does not."""
    left = psutil.wait_procs(list(processes), timeout=5)[1]
    return [" ".join(p.cmdline())[-60:] for p in left if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def half(run):
    """Return whether a checkpoint is being written."""
    return any((run.out / "checkpoints").glob(".step-*.tmp/*")) if (run.out / "checkpoints").exists() else False


def kill_rank(run):
    run.step(25)
    run.rank(1).kill()


def kill_parent(run):
    run.step(25)
    run.popen.kill()


def kill_rank_saving(run):
    run.step(15)
    run.until(lambda: half(run))
    run.rank(0).kill()


def kill_parent_saving(run):
    run.step(15)
    run.until(lambda: half(run))
    run.popen.kill()


def terminate(run):
    run.step(25)
    run.popen.terminate()


def hang(run):
    run.step(25)
    run.rank(1).suspend()


def flip(run):
    """Stop it, and turn over a bit of the newest checkpoint."""
    run.step(25)
    run.popen.terminate()
    run.popen.wait()
    newest = max((run.out / "checkpoints").glob("step-*")) / "model.safetensors"
    data = bytearray(newest.read_bytes())
    data[-1] ^= 1
    newest.write_bytes(data)


def fill(run):
    run.step(15)
    with (run.out / "ballast").open("wb") as ballast:
        try:
            while True:
                ballast.write(bytes(1 << 16))
                ballast.flush()
        except OSError:
            pass


TAKEN = """
import socket, sys
from mrprep.cli.app import main
from mrprep.training import launch
taken, free = socket.create_server(("127.0.0.1", 0)), launch._free_port
ports = iter([taken.getsockname()[1]])
launch._free_port = lambda: next(ports, None) or free()
main()
"""

FAULTS = {
    "kill -9 of a rank": kill_rank,
    "kill -9 of the parent": kill_parent,
    "kill -9 of rank 0 during a checkpoint": kill_rank_saving,
    "kill -9 of the parent during a checkpoint": kill_parent_saving,
    "SIGTERM": terminate,
    "a rank hangs (SIGSTOP, --hang-after 30)": hang,
    "a flipped bit in the newest checkpoint": flip,
    "a full disk": fill,
    "the port taken meanwhile": lambda run: run.step(STEPS),
}


def suffer(name, fault, build, out):
    """Do a fault to a run, then start the same command again; print a row."""
    more = ["--hang-after", 30] if "hangs" in name else []
    launcher = [sys.executable, "-c", TAKEN] if "port" in name else None
    run = Run(build, out, *more, launcher=launcher)
    fault(run)
    seconds, left = run.end()
    told = run.sentence()
    (out / "ballast").unlink(missing_ok=True)
    again = Run(build, out)
    code = again.popen.wait(LONG)
    on = [
        line
        for line in again.log.read_text().splitlines()
        if line.startswith(("going on", "step ")) or "passed over" in line
    ]
    ended = "ok" if code == 0 else code
    print(f"{name:<42} {seconds:5.1f} s  left {left or 0}  again {ended}: {'; '.join(on)}\n    {told}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, help="a finished build; one of samples/ by default")
    parser.add_argument("--only", default="", help="only faults with this word")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build = options.build or Path(folder) / "build"
        if options.build is None:
            samples = Path(__file__).resolve().parent.parent / "samples"
            subprocess.run([*MRPREP, "build", samples, "--out", build, "--seq", "64"], check=True, capture_output=True)
        for number, (name, fault) in enumerate(FAULTS.items()):
            if options.only not in name:
                continue
            home = Path(folder) / f"{number}"
            home.mkdir()
            small = fault is fill
            if small and os.geteuid() != 0:
                print(f"{name:<42} skipped: root can make a small disk")
                continue
            if small:
                subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", home], check=True)
            try:
                suffer(name, fault, build, home / "run")
            finally:
                if small:
                    subprocess.run(["umount", home], check=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    main()
