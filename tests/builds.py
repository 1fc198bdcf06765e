"""Builds as a user starts them, for the tests."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

COMMAND = [sys.executable, "-m", "mrprep"]


def mrprep(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run mrprep to its end."""
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, check=False)


def build(source: Path, out: Path, *arguments: object) -> dict[str, Any]:
    """Build and return the manifest; the build must succeed."""
    done = mrprep("build", source, "--out", out, *arguments)
    assert done.returncode == 0, done.stderr
    manifest: dict[str, Any] = json.loads((out / "manifest.json").read_text())
    return manifest


def phases(out: Path) -> dict[str, tuple[int, int]]:
    """Return phase -> (units, units that were done before)."""
    run = json.loads((out / "run.json").read_text())
    return {phase["phase"]: (phase["units"], phase["reused"]) for phase in run["phases"]}


def hashes(out: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a build but run.json."""
    files = (path for path in sorted(out.rglob("*")) if path.is_file() and path.name != "run.json")
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def kill_when(condition: Callable[[], bool], number: int, *arguments: object) -> int:
    """Start mrprep, send a signal to its process group once the condition holds; return its exit code."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and not condition():
        time.sleep(0.002)
    if process.poll() is None:
        os.killpg(process.pid, number) if number == signal.SIGKILL else process.send_signal(number)
    return process.wait(30)


def started() -> list[psutil.Process]:
    """Return what this process has started, but for the tracker that Python's multiprocessing keeps."""
    found = psutil.Process().children(recursive=True)
    return [child for child in found if "resource_tracker" not in " ".join(child.cmdline())]
