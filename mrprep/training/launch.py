"""Starts the ranks as processes of their own and watches them.

``msrun`` takes 31 s to see a dead rank and leaves orphans; this sees one within ``POLL`` and leaves none:
all are killed when one fails, and the kernel kills them when this process dies (``lifeline``).
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training import lifeline

POLL = 0.1
"""Seconds between two looks at the ranks."""
_GRACE = 10.0
"""Seconds the scheduler has to leave after the last rank."""


@dataclass(frozen=True, slots=True)
class _Process:
    name: str
    popen: subprocess.Popen[bytes]
    log: Path


def run_ranks(settings: Path, ranks: int, logs: Path, watch: Callable[[], None]) -> None:
    """Run ``mrprep.training.worker`` with a settings file on ``ranks`` processes until all have ended well.

    Args:
        settings: file that each rank reads.
        ranks: how many; more than one get a scheduler process beside them.
        logs: directory of ``rank-0.log`` and so on, emptied of earlier ones.
        watch: called every ``POLL`` seconds.

    Raises:
        MrprepError: a rank failed or was killed; the first one to is named, with its log.
        KeyboardInterrupt: after all ranks are stopped.
    """
    logs.mkdir(parents=True, exist_ok=True)
    for old in logs.iterdir():
        old.unlink()
    processes: list[_Process] = []
    try:
        for name, environment in _roles(ranks):
            processes.append(_start(name, environment, settings, logs))
        _wait(processes, logs, watch)
    finally:
        _stop(processes)
    watch()


def _roles(ranks: int) -> list[tuple[str, dict[str, str]]]:
    common = {lifeline.PARENT: str(os.getpid())}
    if ranks == 1:
        return [("rank-0", common)]
    threads = str(max(1, len(os.sched_getaffinity(0)) // ranks))
    common |= {
        "MS_WORKER_NUM": str(ranks),
        "MS_SCHED_HOST": "127.0.0.1",
        "MS_SCHED_PORT": str(_free_port()),
        "OMP_NUM_THREADS": threads,
    }
    workers = [(f"rank-{r}", common | {"MS_ROLE": "MS_WORKER", "MS_NODE_ID": str(r)}) for r in range(ranks)]
    return [("scheduler", common | {"MS_ROLE": "MS_SCHED"}), *workers]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _start(name: str, environment: dict[str, str], settings: Path, logs: Path) -> _Process:
    log = logs / f"{name}.log"
    with log.open("wb") as output:
        popen = subprocess.Popen(
            [sys.executable, "-m", "mrprep.training.worker", str(settings), str(logs / f"{name}.error")],
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal reaches this process alone
        )
    return _Process(name, popen, log)


def _wait(processes: list[_Process], logs: Path, watch: Callable[[], None]) -> None:
    ranks = [p for p in processes if p.name != "scheduler"]
    while any(p.popen.poll() is None for p in ranks):
        failed = [p for p in processes if p.popen.poll() not in (None, 0)]
        if failed:
            raise MrprepError(_sentence(failed[0], logs))
        watch()
        time.sleep(POLL)
    failed = [p for p in ranks if p.popen.returncode]
    if failed:
        raise MrprepError(_sentence(failed[0], logs))


def _sentence(failed: _Process, logs: Path) -> str:
    """Say what the first rank to fail wrote of it; if none wrote anything, how the process ended."""
    notes = sorted(logs.glob("*.error"), key=lambda path: path.stat().st_mtime_ns)
    if notes:
        log = notes[0].with_suffix(".log")
        return f"{log.stem}: {printable(notes[0].read_text(), 500)} (log: {printable(str(log))})"
    code = failed.popen.returncode
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    return f"{failed.name} {how}; the other ranks were stopped (log: {printable(str(failed.log))})"


def _stop(processes: list[_Process]) -> None:
    ranks_done = all(p.popen.poll() == 0 for p in processes if p.name != "scheduler")
    for process in processes:
        if ranks_done:
            _let_leave(process.popen)
        process.popen.kill()
        process.popen.wait()


def _let_leave(popen: subprocess.Popen[bytes]) -> None:
    try:
        popen.wait(_GRACE)
    except subprocess.TimeoutExpired:
        return
