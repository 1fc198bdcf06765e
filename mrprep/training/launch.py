"""Starts the ranks as processes of their own and watches them.

``msrun`` takes 31 s to see a dead rank and leaves orphans; this sees one within ``POLL`` and leaves none:
all are killed when one fails, and the kernel kills them when this process dies (``lifeline``).
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training import lifeline

POLL = 0.1
"""Seconds between two looks at the ranks."""
_SCHEDULER = "scheduler"


@dataclass(frozen=True, slots=True)
class _Process:
    name: str
    popen: subprocess.Popen[bytes]
    log: Path


def run_ranks(command: Sequence[str], ranks: int, logs: Path, watch: Callable[[], None]) -> None:
    """Run a command as ``ranks`` processes until all have ended well; call it from the main thread.

    Args:
        command: what each rank runs; its place among the ranks is in its environment, as MindSpore reads it.
        ranks: how many; more than one get a scheduler process beside them.
        logs: directory of ``rank-0.log`` and so on, emptied of earlier ones; where the ranks work.
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
            processes.append(_start(name, environment, command, logs))
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
    return [(_SCHEDULER, common | {"MS_ROLE": "MS_SCHED"}), *workers]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _start(name: str, environment: dict[str, str], command: Sequence[str], logs: Path) -> _Process:
    log = logs / f"{name}.log"
    with log.open("wb") as output:
        popen = subprocess.Popen(
            command,
            env=os.environ | environment | {lifeline.ERROR_FILE: str(logs / f"{name}.error")},
            cwd=logs,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal reaches this process alone
        )
    return _Process(name, popen, log)


def _wait(processes: list[_Process], logs: Path, watch: Callable[[], None]) -> None:
    ranks = [p for p in processes if p.name != _SCHEDULER]
    while True:
        failed = [p for p in processes if p.popen.poll() not in (None, 0)]
        if failed:
            raise MrprepError(_sentence(failed, logs))
        if all(p.popen.poll() == 0 for p in ranks):
            return
        watch()
        time.sleep(POLL)


def _sentence(failed: list[_Process], logs: Path) -> str:
    """Say why it came to an end: a kill, which is nobody's consequence, else the first rank to report an error."""
    killed = next((p for p in failed if p.popen.returncode < 0), None)
    if killed:
        how = f"was killed by {signal.Signals(-killed.popen.returncode).name}; the other ranks were stopped"
        return f"{killed.name} {how} (log: {printable(str(killed.log))})"
    reports = sorted(logs.glob("*.error"), key=lambda path: path.stat().st_mtime_ns)
    if reports:
        log = reports[0].with_suffix(".log")
        return f"{log.stem}: {printable(reports[0].read_text(), 500)} (log: {printable(str(log))})"
    first = failed[0]
    return f"{first.name} ended with exit code {first.popen.returncode} (log: {printable(str(first.log))})"


def _stop(processes: list[_Process]) -> None:
    """Kill what still runs; at a good end that is the scheduler, which would look round only every 5 s."""
    for process in processes:
        process.popen.kill()
    for process in processes:
        process.popen.wait()
