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
from mrprep.training import heartbeat, lifeline
from mrprep.training.stopping import StopRequest

POLL = 0.1
"""Seconds between two looks at the ranks."""
_SCHEDULER = "scheduler"
_PORTS = 3
"""Ports that are tried: another process may take one before the scheduler does, which needs a second to load."""
_PATIENCE = "MS_NODE_TIMEOUT"
"""Seconds a rank waits for another in a sum, 30 if unset. The scheduler, for which it is another limit, has its own."""
_LONGEST = 1e6
"""Seconds that MindSpore is told at most: it holds them in few bits."""
_TAKEN = b"Address already in use"


class _PortTakenError(MrprepError):
    """The scheduler's port was free when it was chosen, and is not any more."""


@dataclass(frozen=True, slots=True)
class _Process:
    name: str
    popen: subprocess.Popen[bytes]
    log: Path

    @property
    def beat(self) -> Path:
        return self.log.with_suffix(".beat")


def run_ranks(
    command: Sequence[str], ranks: int, logs: Path, watch: Callable[[], None], hang_after: float = 600
) -> int | None:
    """Run a command as ``ranks`` processes until all have ended; call it from the main thread.

    The first Ctrl-C or SIGTERM is passed on to the ranks as SIGTERM, which they answer by ending well.

    Args:
        command: what each rank runs; its place among the ranks is in its environment, as MindSpore reads it.
        ranks: how many; more than one get a scheduler process beside them.
        logs: directory of ``rank-0.log`` and so on, emptied of earlier ones; where the ranks work.
        watch: called every ``POLL`` seconds.
        hang_after: seconds without a sign of life of any rank (``heartbeat``) that end the run.

    Returns:
        The signal on which the ranks were asked to stop, None if they were not.

    Raises:
        MrprepError: a rank failed, was killed or hangs; it is named, with its log.
        KeyboardInterrupt: at the second Ctrl-C, after all ranks are killed.
    """
    logs.mkdir(parents=True, exist_ok=True)
    with StopRequest() as request:
        for left in reversed(range(_PORTS)):
            try:
                _run_once(command, ranks, logs, watch, request, hang_after)
                break
            except _PortTakenError:
                if not left:
                    raise
    watch()
    return request.number


def _run_once(
    command: Sequence[str], ranks: int, logs: Path, watch: Callable[[], None], request: StopRequest, hang_after: float
) -> None:
    for old in logs.iterdir():
        old.unlink()
    processes: list[_Process] = []
    reports = lifeline.Reports()
    try:
        for name, environment in _roles(ranks, hang_after):
            processes.append(_start(name, environment, command, logs, reports.pipe))
        _wait(processes, reports, logs, watch, request, hang_after)
    finally:
        _kill(processes)
        reports.close()


def _roles(ranks: int, hang_after: float) -> list[tuple[str, dict[str, str]]]:
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
    patience = {_PATIENCE: os.environ.get(_PATIENCE, str(round(min(hang_after, _LONGEST)) + 60))}
    workers = [(f"rank-{r}", common | patience | {"MS_ROLE": "MS_WORKER", "MS_NODE_ID": str(r)}) for r in range(ranks)]
    return [(_SCHEDULER, common | {"MS_ROLE": "MS_SCHED"}), *workers]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _start(name: str, environment: dict[str, str], command: Sequence[str], logs: Path, pipe: int) -> _Process:
    log, beat = logs / f"{name}.log", logs / f"{name}.beat"
    beat.touch()
    ties = {lifeline.REPORT: f"{pipe} {name}", heartbeat.BEAT_FILE: str(beat)}
    with log.open("wb") as output:
        popen = subprocess.Popen(
            command,
            env=os.environ | environment | ties,
            pass_fds=[pipe],
            cwd=logs,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal reaches this process alone
        )
    return _Process(name, popen, log)


def _wait(
    processes: list[_Process],
    reports: lifeline.Reports,
    logs: Path,
    watch: Callable[[], None],
    request: StopRequest,
    hang_after: float,
) -> None:
    ranks = [p for p in processes if p.name != _SCHEDULER]
    asked = False
    while not all(p.popen.poll() == 0 for p in ranks):
        failed = [p for p in processes if p.popen.poll() not in (None, 0)]
        if asked and all(p.popen.returncode == -signal.SIGTERM for p in failed) and failed:
            return  # so early that they did not listen yet
        if failed:
            raise _failure(failed, ranks, reports)
        if request.number is not None and not asked:
            asked = True
            for rank in ranks:
                rank.popen.terminate()
        _check_life(ranks, logs, hang_after)
        watch()
        time.sleep(POLL)


def _notes(ranks: list[_Process]) -> list[heartbeat.Note]:
    """Return the signs of life of the ranks that still run."""
    running = [p for p in ranks if p.popen.poll() is None]
    return heartbeat.read_notes({p.name: p.beat for p in running}, {p.name: p.popen.pid for p in running})


def _check_life(ranks: list[_Process], logs: Path, hang_after: float) -> None:
    notes = _notes(ranks)
    sentence = heartbeat.hanging(notes, hang_after) if notes else None
    if sentence:
        raise MrprepError(f"{sentence}; all were stopped after {hang_after:g} s (logs: {printable(str(logs))})")


def _failure(failed: list[_Process], ranks: list[_Process], reports: lifeline.Reports) -> MrprepError:
    scheduler = next((p for p in failed if p.name == _SCHEDULER), None)
    if scheduler and _TAKEN in scheduler.log.read_bytes():
        return _PortTakenError(
            f"the ports that were tried for the scheduler were taken by other processes (log: {scheduler.log})"
        )
    return MrprepError(heartbeat.frozen(_notes(ranks)) or _sentence(failed, reports))


def _sentence(failed: list[_Process], reports: lifeline.Reports) -> str:
    """Say why it came to an end: a kill, which is nobody's consequence, else the first rank to report an error."""
    killed = next((p for p in failed if p.popen.returncode < 0), None)
    if killed:
        how = f"was killed by {signal.Signals(-killed.popen.returncode).name}; the other ranks were stopped"
        return f"{killed.name} {how} (log: {printable(str(killed.log))})"
    first, reported = failed[0], reports.first()
    if reported:
        name, sentence = reported
        return f"{name}: {printable(sentence, 1000)} (log: {printable(str(first.log.with_name(f'{name}.log')))})"
    return f"{first.name} ended with exit code {first.popen.returncode} (log: {printable(str(first.log))})"


def _kill(processes: list[_Process]) -> None:
    """Kill what still runs; at a good end that is the scheduler, which would look round only every 5 s."""
    for process in processes:
        process.popen.kill()
    for process in processes:
        process.popen.wait()
