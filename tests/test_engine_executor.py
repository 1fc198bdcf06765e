"""The executor: calls side by side, and what becomes of a worker that dies."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mrprep.engine.executor import Executor, Inline, Pool
from mrprep.errors import MrprepError


def touch(path: Path) -> str:
    path.write_text(str(os.getpid()))
    return path.name


def fail(message: str) -> None:
    raise MrprepError(message)


def die_once(mark: Path, path: Path) -> None:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    path.touch()


def die(_: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("executor", [Inline(), Pool(1), Pool(2)])
def test_every_call_runs_once(executor: Executor, tmp_path: Path) -> None:
    calls = [(touch, (tmp_path / str(i),)) for i in range(7)]
    assert sorted(executor.run(calls, [""] * 7)) == [(i, str(i)) for i in range(7)]
    assert sorted(path.name for path in tmp_path.iterdir()) == [str(i) for i in range(7)]
    executor.close()


def test_an_error_of_a_call_is_raised_as_it_is() -> None:
    pool = Pool(2)
    with pytest.raises(MrprepError, match="this one"):
        list(pool.run([(fail, ("this one",))], ["unit 0"]))
    pool.close()


def test_a_worker_that_dies_once_costs_nothing(tmp_path: Path) -> None:
    calls = [(die_once, (tmp_path / "mark", tmp_path / "late")), *((touch, (tmp_path / str(i),)) for i in range(5))]
    pool = Pool(2)
    done = dict(pool.run(calls, [f"unit {i}" for i in range(6)]))
    assert done == {0: None, **{i + 1: str(i) for i in range(5)}}
    assert (tmp_path / "late").exists()
    pool.close()


def test_a_unit_that_kills_its_worker_twice_is_named(tmp_path: Path) -> None:
    pool = Pool(2)
    with pytest.raises(MrprepError, match="unit 1"):
        list(pool.run([(touch, (tmp_path / "a",)), (die, (tmp_path,))], ["unit 0", "unit 1"]))
    pool.close()


PARENT = """
import sys, time
sys.path.insert(0, {tests!r})
from test_engine_executor import sleeper
from mrprep.engine.executor import Pool
from pathlib import Path
if __name__ == "__main__":
    list(Pool(2).run([(sleeper, (Path({out!r}) / str(i),)) for i in range(2)], ["", ""]))
"""


def sleeper(path: Path) -> None:
    touch(path)
    time.sleep(60)


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(tests=str(Path(__file__).parent), out=str(tmp_path)))
    parent = subprocess.Popen([sys.executable, str(script)])
    marks = [tmp_path / "0", tmp_path / "1"]
    wait_for(lambda: all(mark.exists() and mark.read_text() for mark in marks))
    parent.kill()
    parent.wait()
    wait_for(lambda: not any(alive(int(mark.read_text())) for mark in marks))


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def wait_for(condition, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
