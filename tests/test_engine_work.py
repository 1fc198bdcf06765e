"""Phases: what is done stays done while its fingerprint holds, and no longer."""

import errno
import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mrprep.builddir.lock import locked
from mrprep.engine import parts as parts_module
from mrprep.engine.executor import Inline
from mrprep.engine.fingerprint import changes
from mrprep.engine.ledger import Entry, added
from mrprep.engine.parts import Parts, discard, run_whole
from mrprep.engine.spent import Spent, busy
from mrprep.engine.work import Timing, Work
from mrprep.errors import BugError, MrprepError

RUNS: list[Any] = []


def write(unit: Any, out: Path) -> None:
    RUNS.append(unit)
    (out / "value").write_text(str(unit))


def write_then_fail(unit: Any, out: Path) -> None:
    write(unit, out)
    if unit == "bad":
        raise MrprepError("bad unit")


def write_three(unit: int, parts: Parts) -> None:
    for number in range(parts.done, 3):
        RUNS.append((unit, number))
        with parts.new() as out:
            (out / "value").write_text(f"{unit}.{number}")
        if (unit, number) == (1, 1) and len(RUNS) < 6:
            raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def _fresh() -> None:
    RUNS.clear()


def work(path: Path, said: list[str] | None = None, root: int = 0) -> Work:
    return Work(path, Inline(), (said if said is not None else []).append, {"root": root})


def test_done_units_are_not_done_again(tmp_path: Path) -> None:
    for _ in range(2):
        paths = work(tmp_path)("a", [3, 4], write, settings={"x": 1})
    assert [(path / "value").read_text() for path in paths] == ["3", "4"]
    assert sorted(RUNS) == [3, 4]


def test_a_failed_unit_leaves_nothing_and_the_others_stay(tmp_path: Path) -> None:
    with pytest.raises(MrprepError):
        work(tmp_path)("a", ["good", "bad"], write_then_fail, settings={})
    assert sorted(p.name for p in (tmp_path / "a").glob("0*") if "tmp" not in p.name) == ["00000"]
    work(tmp_path)("a", ["good", "mended"], write_then_fail, settings={})
    assert RUNS == ["good", "bad", "mended"]


def test_a_changed_setting_redoes_its_phase_and_those_after_it_and_says_so(tmp_path: Path) -> None:
    def run(second: int) -> list[str]:
        said: list[str] = []
        phases = work(tmp_path, said)
        phases("a", ["a"], write, settings={"x": 1})
        phases("b", ["b"], write, settings={"deep": {"y": second}})
        phases("c", ["c"], write, settings={})
        return said

    assert run(1) == []
    RUNS.clear()
    said = run(2)
    assert RUNS == ["b", "c"]
    assert said == ["b: done again (deep.y: 1 -> 2)", "c: done again (what comes before it changed)"]


def test_other_roots_share_nothing(tmp_path: Path) -> None:
    work(tmp_path, root=1)("a", ["a"], write, settings={})
    work(tmp_path, root=2)("a", ["a"], write, settings={})
    assert RUNS == ["a", "a"]


def test_parts_go_on_where_they_stopped(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        work(tmp_path).in_parts("read", [0, 1], write_three, settings={}, weights=[2, 1])
    paths = work(tmp_path).in_parts("read", [0, 1], write_three, settings={}, weights=[2, 1])
    assert RUNS == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert [(path / "value").read_text() for path in paths] == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]


def test_nothing_half_written_has_the_final_name(tmp_path: Path) -> None:
    with pytest.raises(MrprepError):
        run_whole(write_then_fail, "bad", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_unit_has_its_name_when_it_is_on_the_disk_and_not_before(tmp_path: Path) -> None:
    end = run_whole(write, "whole", tmp_path / "x")
    assert end is not None and not (tmp_path / "x").exists()
    pickle.loads(pickle.dumps(end))()
    assert (tmp_path / "x" / "value").read_text() == "whole"
    assert run_whole(write, "again", tmp_path / "x") is None


def test_a_unit_that_the_disk_refuses_stops_the_phase_and_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(paths: Iterable[Path]) -> None:
        if any(path.read_text() == "3" for path in paths):
            raise OSError(errno.EIO, "refused")

    monkeypatch.setattr(parts_module, "sync_all", refuse)
    with pytest.raises(OSError, match="refused"):
        work(tmp_path)("a", [3, 4], write, settings={})
    assert {path.name for path in (tmp_path / "a").iterdir() if path.name.isdigit()} <= {"00001"}
    monkeypatch.undo()
    work(tmp_path)("a", [3, 4], write, settings={})
    assert sorted(path.name for path in (tmp_path / "a").iterdir() if path.name.isdigit()) == ["00000", "00001"]


def test_changes_are_told_by_dotted_key() -> None:
    old, new = {"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": 1, "c": 3}, "e": None}
    assert list(changes(old, new)) == ["a.c: 2 -> 3", "d: [1] -> null"]


def test_counts_are_added_by_key_and_depth() -> None:
    assert added([{"a": 1, "b": {"x": 2}}, {"b": {"x": 3, "y": 1}}]) == {"a": 1, "b": {"x": 5, "y": 1}}


def test_a_ledger_line_that_is_off_is_a_bug_with_exit_code_3() -> None:
    Entry("fine", 2, 2).check()
    with pytest.raises(BugError, match="at rows: 2 against 3") as caught:
        Entry("rows", 2, 3).check()
    assert caught.value.exit_code == 3


def test_two_builds_do_not_share_a_work_directory(tmp_path: Path) -> None:
    home = tmp_path / "out.work"
    with locked(home), pytest.raises(MrprepError, match="another build"), locked(home):
        pass
    assert not home.exists(), "nothing was left in it"
    with locked(home):
        (home / "phases").mkdir()
    assert json.dumps(sorted(p.name for p in home.iterdir())) == '["mrprep.lock", "phases"]'


def timings(path: Path) -> list[Timing]:
    run = work(path)
    run("a", [3, 4], write, settings={})
    return run.timings


def test_a_phase_says_when_which_worker_was_busy(tmp_path: Path) -> None:
    (first,), (again,) = (timings(tmp_path) for _ in range(2))
    ((stretch,),) = first.busy.values()
    assert 0 <= first.began <= stretch[0] + 0.001 and stretch[1] <= first.began + first.seconds + 0.001
    assert not again.busy and not again.cpu and again.reused == 2


def test_units_close_together_are_one_stretch() -> None:
    calls = [Spent("a", 13.0, 14.0, 1.0), Spent("a", 11.0, 12.97, 1.0), Spent("b", 12.0, 13.0, 1.0)]
    assert busy(calls, 10.0) == {"a": [(1.0, 4.0)], "b": [(2.0, 3.0)]}
    assert busy([*calls, Spent("a", 15.0, 15.5, 0.1)], 10.0)["a"] == [(1.0, 4.0), (5.0, 5.5)]


def test_what_is_discarded_is_gone_and_what_a_link_leads_to_is_not(tmp_path: Path) -> None:
    elsewhere, home = tmp_path / "elsewhere", tmp_path / "home"
    (elsewhere / "unit").mkdir(parents=True)
    (elsewhere / "unit" / "file").touch()
    for number in range(20):
        (home / "a" / f"{number:05d}" / "deep").mkdir(parents=True)
        (home / "a" / f"{number:05d}" / "deep" / "file").touch()
    (home / "b").symlink_to(elsewhere)
    (home / "a" / "c").symlink_to(elsewhere / "unit")
    discard(home)
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"] and (elsewhere / "unit" / "file").exists()
