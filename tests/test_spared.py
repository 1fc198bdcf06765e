"""Room on the disk: what no phase needs any more goes, and work that is killed meanwhile still ends with its bytes."""

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from builds import hashes

from mrprep.building.build import build
from mrprep.config import load_pipeline, with_inputs
from mrprep.engine import room
from mrprep.engine.executor import Inline
from mrprep.engine.work import SparedError, Work
from mrprep.errors import MrprepError
from mrprep.request import RunOptions

SAMPLES = Path(__file__).resolve().parent.parent / "samples/corpus"
RUNS: list[str] = []


def write(unit: str, out: Path) -> None:
    RUNS.append(unit)
    (out / "large").write_text(unit)
    (out / "small").write_text(unit)


def run(path: Path, second: int = 0, *, spare: bool = True, keep: bool = False) -> list[str]:
    """Run two phases of which the second reads the first; return what was done."""
    RUNS.clear()
    work = Work(path, Inline(), lambda _: None, {}, keep=keep)
    work("first", ["a", "b"], write, settings={})
    work("second", ["c"], write, settings={"x": second})
    if spare:
        work.spare("first", ["large"], ["second"])
    work("third", ["d"], write, settings={})
    return list(RUNS)


def test_what_was_deleted_is_not_missed_until_it_is_needed(tmp_path: Path) -> None:
    assert run(tmp_path) == ["a", "b", "c", "d"]
    assert sorted(path.name for path in (tmp_path / "first").rglob("[ls]*")) == ["small", "small", "spared.json"]
    assert run(tmp_path) == []
    with pytest.raises(SparedError):
        run(tmp_path, second=1)
    assert RUNS == []
    assert run(tmp_path, second=1) == ["a", "b", "c", "d"]
    assert run(tmp_path / "kept", keep=True) == ["a", "b", "c", "d"]
    assert run(tmp_path / "kept", second=1, keep=True) == ["c", "d"]


class KilledError(Exception):
    pass


def killed_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the ``number``-th removal from the end of a phase's files break off after one file."""
    whole, seen = Work.spare, list[str]()

    def broken(self: Work, name: str, files: Sequence[str], needed_by: Sequence[str]) -> None:
        if not (self.path / name).is_dir():
            return
        seen.append(name)
        if len(seen) <= number:
            whole(self, name, files, needed_by)
            return
        whole(self, name, files[:1], needed_by)
        raise KilledError(name)

    monkeypatch.setattr(Work, "spare", broken)


def made(out: Path, **stage: Any) -> Path:
    """Build with a pipeline that rewrites texts and removes duplicates."""
    pipeline = with_inputs(load_pipeline("zh-web", {"pack": {"seq": 256}, **stage}), [SAMPLES])
    build(pipeline, out, RunOptions(jobs=1), lambda _: None)
    return out


def test_a_kill_at_each_removal_and_other_options_after_it(tmp_path: Path) -> None:
    whole = hashes(made(tmp_path / "whole"))
    other = {"dedupe": {"threshold": 0.7}, "paragraphs": {"keep": 2}}
    fresh = hashes(made(tmp_path / "fresh", **other))
    assert fresh != whole
    for number in (1, 3):  # the texts before paragraphs, the sets of shingles
        with pytest.MonkeyPatch.context() as patch, pytest.raises(KilledError):
            killed_at(number, patch)
            made(tmp_path / f"killed{number}")
        if number == 3:
            assert hashes(made(tmp_path / f"killed{number}", **other)) == fresh
        else:
            assert hashes(made(tmp_path / f"killed{number}")) == whole


def test_no_room_is_said_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 12 * 10**9

    monkeypatch.setattr(room.shutil, "disk_usage", lambda _: Usage)
    room.check_room(tmp_path / "not" / "there", 12 * 10**9, "the build")
    with pytest.raises(MrprepError, match=r"the build needs 31 GB, 12 GB free in .*: make room, or give an --out on"):
        room.check_room(tmp_path / "not" / "there", 31 * 10**9, "the build")
    Usage.free = 10 << 20  # of which MindRecord has nothing to give
    with pytest.raises(MrprepError, match=r"the build needs 17 MB, 10\.5 MB free"):
        made(tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_room_for_tokens_is_looked_at_before_they_are_written(tmp_path: Path, monkeypatch) -> None:
    class Usage:
        @property
        def free(self) -> int:
            return 10_000 if (tmp_path / "out.work/phases/vocabulary").exists() else 1 << 40

    monkeypatch.setattr(room.shutil, "disk_usage", lambda _: Usage())
    text = tmp_path / "text.txt"
    text.write_text("".join(f"Sentence {number} tells of {number * number}.\n" for number in range(2000)))
    size = text.stat().st_size
    pipeline = with_inputs(load_pipeline("raw", {"tokenize": {"vocab_size": 400}}), [text])
    with pytest.raises(MrprepError, match=r"tokenizing needs (.*) kB, 10 kB free in .*/out\.work/phases: make") as said:
        build(pipeline, tmp_path / "out", RunOptions(jobs=1), lambda _: None)
    needed = float(str(said.value).split()[2]) * 1000
    assert size / 4 <= needed < size / 3.8
    assert not (tmp_path / "out.work/phases/tokenize").exists()


def test_a_disk_that_fills_says_what_is_free_and_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 1 << 40

    monkeypatch.setattr(room.shutil, "disk_usage", lambda _: Usage)
    again = "free some, and the same command goes on from here$"
    numpy_says = OSError("4000 requested and 12 written")
    for error in (OSError(errno.ENOSPC, "No space left on device"), numpy_says):
        with (
            pytest.raises(MrprepError, match=rf"the disk is full, 5 MB free in .* and it all needs 7 MB more: {again}"),
            room.room(tmp_path / "work", 8_000_000, "it all"),
        ):
            (tmp_path / "work").mkdir(exist_ok=True)
            (tmp_path / "work/part").write_bytes(bytes(1_000_000))
            Usage.free = 5_000_000
            raise error
        Usage.free = 1 << 40
    with (
        pytest.raises(MrprepError, match=rf"full, 1.1 TB free in .*/work: {again}"),
        room.room(tmp_path / "work", 9, ""),
    ):
        raise numpy_says
    with pytest.raises(PermissionError), room.room(tmp_path, 9, ""):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_room_for_mindrecord_is_looked_at_before_shards_are_written(tmp_path: Path, monkeypatch) -> None:
    phases = tmp_path / "out.work" / "phases"

    class Usage:
        @property
        def free(self) -> int:
            return 10 << 20 if (phases / "split").exists() else 1 << 40

    monkeypatch.setattr(room.shutil, "disk_usage", lambda _: Usage())
    text = tmp_path / "text.txt"
    text.write_text("".join(f"Sentence {number} tells of {number * number}.\n" for number in range(300)))
    pipeline = with_inputs(load_pipeline("raw", {"pack": {"seq": 64}, "tokenize": {"vocab_size": 400}}), [text])
    with pytest.raises(MrprepError, match=r"writing the shards needs 16\.\d MB, 10\.5 MB free in .*/out\.work/phases"):
        build(pipeline, tmp_path / "out", RunOptions(jobs=1), lambda _: None)
    assert not (phases / "shard").exists()
