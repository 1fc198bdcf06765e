"""The launcher, with ranks that are a few lines of Python: faults end fast and leave no process. No MindSpore."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from builds import started

from mrprep.errors import MrprepError
from mrprep.training.launch import run_ranks
from mrprep.training.worker import _sentence

RANK = """
import os, signal, sys, time
from mrprep.training import lifeline
lifeline.die_with_parent()
rank = int(os.environ.get("MS_NODE_ID", -1))
"""


def _command(body: str) -> list[str]:
    return [sys.executable, "-c", RANK + body]


def test_ranks_are_told_who_they_are_and_the_scheduler_is_not_waited_for(tmp_path):
    body = "print(rank, os.environ['MS_WORKER_NUM'], os.environ['MS_ROLE'], flush=True); rank < 0 and time.sleep(99)"
    looks = []
    began = time.monotonic()
    run_ranks(_command(body), 3, tmp_path, lambda: looks.append(1))
    assert time.monotonic() - began < 5
    logs = {p.name: p.read_text().split() for p in tmp_path.glob("*.log")}
    assert [logs[f"rank-{r}.log"] for r in range(3)] == [[str(r), "3", "MS_WORKER"] for r in range(3)]
    assert logs["scheduler.log"] == ["-1", "3", "MS_SCHED"]
    assert looks
    assert not started()


def test_ranks_wait_for_each_other_longer_than_the_launcher_does_and_the_scheduler_is_not_told(tmp_path, monkeypatch):
    """MindSpore's own limit of 30 s ended runs on a busy machine; the launcher is to say first which rank hangs."""
    monkeypatch.delenv("MS_NODE_TIMEOUT", raising=False)
    body = "print(os.environ.get('MS_NODE_TIMEOUT'), flush=True); rank < 0 and time.sleep(99)"
    run_ranks(_command(body), 2, tmp_path, lambda: None, hang_after=40)
    logs = {p.name: p.read_text().strip() for p in tmp_path.glob("*.log")}
    assert logs == {"rank-0.log": "100", "rank-1.log": "100", "scheduler.log": "None"}


@pytest.mark.parametrize(
    "where", ["Launch kernel failed, name:Default/AllReduce-op0", "Launch kernel failed: Default/AllGather-op3"]
)
def test_a_sum_that_was_given_up_says_why_and_what_to_do(where):
    """As MindSpore 2.10 words it, op by op and compiled, when one of two ranks is later than the limit."""
    said = _sentence(RuntimeError(f"\n-----\n- Kernel error:\n-----\n{where}\n\n"))
    assert "another rank was too far behind, as on a busy machine" in said
    assert "the same command goes on" in said
    assert _sentence(RuntimeError("Launch kernel failed: Default/MatMul-op0")).startswith("RuntimeError: Launch kernel")


def test_one_rank_needs_no_scheduler(tmp_path):
    run_ranks(_command("assert 'MS_ROLE' not in os.environ"), 1, tmp_path, lambda: None)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rank-0.beat", "rank-0.log"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("rank == 1 and os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(99)", r"rank-1 was killed by SIGKILL.*\.log"),
        ("rank == 1 and sys.exit(7); time.sleep(99)", r"rank-1 ended with exit code 7.*rank-1\.log"),
        (
            "if rank == 2: lifeline.report('the \\x1b disk is full'); os._exit(1)\ntime.sleep(99)",
            r"rank-2: the \\x1b disk is full .*rank-2\.log",
        ),
    ],
)  # fmt: skip
def test_a_failed_rank_ends_all_within_five_seconds_with_a_sentence(tmp_path, body, says):
    began = time.monotonic()
    with pytest.raises(MrprepError, match=says):
        run_ranks(_command(body), 3, tmp_path, lambda: None)
    assert time.monotonic() - began < 5
    assert not started()


def test_a_port_that_was_taken_meanwhile_is_given_up_for_another(tmp_path):
    """The scheduler fails twice as MindSpore's does, in its own words, and a third time if it is to."""
    body = """
tries = Path('../tries')
if rank < 0:
    tries.write_text(tries.read_text() + os.environ['MS_SCHED_PORT'] + ' ')
    if len(tries.read_text().split()) < %d:
        print('Failed to call bind, url: 127.0.0.1:1 Address already in use', flush=True)
        sys.exit(1)
while len(tries.read_text().split()) < %d: time.sleep(0.02)
"""
    body = "from pathlib import Path\n" + body
    (tmp_path / "tries").touch()
    assert run_ranks(_command(body % (3, 3)), 2, tmp_path / "logs", lambda: None) is None
    ports = (tmp_path / "tries").read_text().split()
    assert len(set(ports)) == 3
    (tmp_path / "tries").write_text("")
    with pytest.raises(MrprepError, match="ports that were tried for the scheduler were taken"):
        run_ranks(_command(body % (9, 9)), 2, tmp_path / "logs", lambda: None)
    assert not started()


HANGS = """
from mrprep.training.heartbeat import Heart
heart = Heart()
heart.beat(6, "computing")
if rank == 1:
    heart.beat(7, "reading its rows")
else:
    heart.beat(7, "computing")
time.sleep(99)
"""
STOPPED = """
from mrprep.training.heartbeat import Heart
Heart().beat(7, "computing")
if rank == 1: os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(99)
"""


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (HANGS, r"rank-1 hangs: its last sign of life was step 8, reading its rows; the others wait .* after 1 s"),
        ("time.sleep(99)", r"rank-\d hangs: .* step 1, starting; .*; a slow start needs a larger --hang-after; all"),
        (STOPPED, r"rank-1 is stopped: its last sign of life was step 8, computing"),
    ],
)
def test_a_rank_that_hangs_is_named(tmp_path, body, says):
    with pytest.raises(MrprepError, match=says):
        run_ranks(_command(body), 3, tmp_path, lambda: None, hang_after=1)
    assert not started()


def test_when_the_others_give_up_on_a_stopped_rank_it_is_the_one_named(tmp_path):
    body = STOPPED.replace("time.sleep(99)", "time.sleep(1); sys.exit(7)")
    with pytest.raises(MrprepError, match="rank-1 is stopped: its last sign of life was step 8, computing"):
        run_ranks(_command(body), 3, tmp_path, lambda: None)
    assert not started()


def test_slow_ranks_that_give_signs_of_life_are_left_alone(tmp_path):
    body = """
from mrprep.training.heartbeat import Heart
for step in range(8):
    Heart().beat(step, "computing")
    time.sleep(0.25)
"""
    assert run_ranks(_command(body), 1, tmp_path, lambda: None, hang_after=1) is None


LAUNCHER = """
import os, sys
from pathlib import Path
from mrprep.training.launch import run_ranks
try:
    number = run_ranks(sys.argv[2:], 2, Path(sys.argv[1]), lambda: None)
except KeyboardInterrupt:
    os._exit(99)
sys.exit(128 + number)
"""
UP = "Path = __import__('pathlib').Path; Path(f'up{rank}').touch(); time.sleep(99)"
GOOD = "signal.signal(signal.SIGTERM, lambda *_: (Path(f'saved{rank}').touch(), os._exit(0)))\n" + UP
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + UP


def _launch(logs: Path, body: str) -> tuple[subprocess.Popen, list[psutil.Process]]:
    launcher = subprocess.Popen([sys.executable, "-c", LAUNCHER, str(logs), *_command(body)], start_new_session=True)
    deadline = time.monotonic() + 20
    while len(list(logs.glob("up*"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    ranks = psutil.Process(launcher.pid).children()
    assert len(ranks) == 3
    return launcher, ranks


def _gone(ranks: list[psutil.Process]) -> bool:
    return not psutil.wait_procs(ranks, timeout=3)[1]


@pytest.mark.parametrize("to", ["process", "group"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_no_orphan_however_the_launcher_ends(tmp_path, number, code, to):
    launcher, ranks = _launch(tmp_path, UP)
    os.killpg(launcher.pid, number) if to == "group" else launcher.send_signal(number)
    assert launcher.wait(5) == code
    assert _gone(ranks)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_asked_to_stop_the_ranks_end_by_themselves(tmp_path, number, code):
    launcher, ranks = _launch(tmp_path, GOOD)
    launcher.send_signal(number)
    assert launcher.wait(5) == code
    assert sorted(p.name for p in tmp_path.glob("saved*")) == ["saved0", "saved1"]
    assert _gone(ranks)


def test_a_second_interrupt_stops_at_once_though_no_rank_listens(tmp_path):
    launcher, ranks = _launch(tmp_path, DEAF)
    launcher.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert launcher.poll() is None
    launcher.send_signal(signal.SIGINT)
    assert launcher.wait(5) == 99
    assert _gone(ranks)
