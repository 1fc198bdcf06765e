"""A library that crashes over a file takes the rest of that file, and nothing else."""

import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
import pytest
from sources_tools import units_of

from mrprep.document import Document, FileNote
from mrprep.engine.executor import Pool
from mrprep.engine.work import Work
from mrprep.errors import MrprepError
from mrprep.sources import guarded
from mrprep.sources.read import read
from mrprep.sources.span import Span
from mrprep.stages import clean, decontaminate, dedupe
from mrprep.stages import filter as filtering
from mrprep.stages.read import ReadUnit, read_unit


@dataclass(frozen=True)
class Deadly(Span):
    """Ends the process that asks for its path when it has been asked ``lives`` times."""

    lives: int = 0
    by: signal.Signals = signal.SIGABRT

    def __getattribute__(self, name: str) -> object:
        if name == "path":
            object.__setattr__(self, "lives", self.lives - 1)
            if self.lives < 0:
                os.kill(os.getpid(), self.by)
        return super().__getattribute__(name)


def deadly(span: Span, lives: int, by: signal.Signals = signal.SIGABRT) -> Span:
    return Deadly(**vars(span), lives=lives, by=by)


@pytest.fixture
def span(tmp_path: Path) -> Span:
    path = tmp_path / "in" / "a.txt"
    path.parent.mkdir()
    path.write_text("".join(f"line {number}\n" for number in range(9)))
    ((span,),) = units_of(path, 1 << 20, documents="line")
    return span


def test_the_same_items_as_without_a_guard(span: Span) -> None:
    gone = replace(span, path=b"gone.txt")
    (Path(os.fsdecode(span.root)) / "b.jsonl").write_text('{"text": "b", "rank": 2}\n{broken\n')
    ((rated,),) = units_of(Path(os.fsdecode(span.root)) / "b.jsonl", 1 << 20, score="rank")
    for each in (span, gone, rated):
        assert list(guarded.read(each)) == list(read(each))


def test_a_crash_costs_the_rest_of_the_file(span: Span) -> None:
    *documents, note = guarded.read(deadly(span, 5))
    assert [d.text for d in documents if isinstance(d, Document)] == ["line 0", "line 1", "line 2", "line 3"]
    assert isinstance(note, FileNote)
    assert "crash (SIGABRT)" in note.problem


def test_a_kill_from_outside_is_no_fault_of_the_file(span: Span) -> None:
    with pytest.raises(MrprepError, match=r"reading a\.txt was ended from outside"):
        list(guarded.read(deadly(span, 9, signal.SIGKILL)))


def unit_of(*spans: Span) -> ReadUnit:
    return ReadUnit(
        spans, 1 << 20, (), clean.Options(), filtering.Options(), dedupe.Options(), decontaminate.Options(), None, (),
        strict=False,
    )  # fmt: skip


def test_the_build_goes_on_after_a_crash(span: Span, tmp_path: Path) -> None:
    pool = Pool(1)
    work = Work(tmp_path / "work", pool, print, {})
    units = [unit_of(span), unit_of(deadly(span, 6), span)]  # its label asks once
    parts = work.in_parts("read", units, read_unit, settings={}, weights=[1, 1])
    pool.close()
    counts = [orjson.loads((part / "counts.json").read_bytes())["documents"] for part in parts]
    assert counts == [9, 13]


def test_memory_that_runs_out_stops_the_build(span: Span, tmp_path: Path) -> None:
    pool = Pool(1)
    work = Work(tmp_path / "work", pool, print, {})
    with pytest.raises(MrprepError, match=r"reading a\.txt was ended from outside"):
        work.in_parts("read", [unit_of(deadly(span, 5, signal.SIGKILL))], read_unit, settings={}, weights=[1])
    pool.close()


def test_a_unit_is_called_by_its_files(span: Span) -> None:
    spans = [replace(span, path=f"{name}\n.txt".encode()) for name in "aabcde"]
    assert unit_of(*spans).label == r"s/a\n.txt, s/b\n.txt, s/c\n.txt and 2 more"
