"""Builds that grow: what is there wins and stays byte for byte, what is new has its place in books and provenance."""

import gzip
import hashlib
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builds import hashes, kill_when, mrprep
from growing_builds import GIVEN, NEW, OLD, OVERRIDES, built, grow, in_process, manifest, shrink
from test_dedupe_command import jsonl
from test_dedupe_stage import varied

from mrprep.builddir import change
from mrprep.builddir.layout import CHANGE, INPUTS, work_of
from mrprep.builddir.manifest import Build, open_build
from mrprep.builddir.tables import CLUSTERS
from mrprep.builddir.verify import damage
from mrprep.building import build as building
from mrprep.cli.append import only_one, refuse_overwrite
from mrprep.config import load_pipeline, with_inputs
from mrprep.errors import MrprepError, UsageError
from mrprep.growing import options as growing
from mrprep.growing.verdicts import REMOVED_ON_REQUEST, JoinUnit, join_unit
from mrprep.interop import library
from mrprep.provenance.why import explain
from mrprep.request import RunOptions
from mrprep.training.shards import read_shards

pytestmark = pytest.mark.mindspore


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("old"), OLD)


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return jsonl(tmp_path_factory.mktemp("new") / "new.jsonl", GIVEN)


@pytest.fixture(scope="module")
def grown(old: Path, new: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = Path(shutil.copytree(old, tmp_path_factory.mktemp("grown") / "build"))
    grow(build, new)
    return build


def test_old_files_stay_and_new_ones_are_added(old: Path, grown: Path) -> None:
    before, after = hashes(old), hashes(grown)
    replaced = {"manifest.json", "dedup/verdict.npy", "dedup/clusters.parquet"}
    replaced |= {"report/duplicates.json", "report/summary.json"}
    assert {name for name in before if after.get(name) != before[name]} == replaced
    assert "train/train-00002.mindrecord" in after and "text/part-00001.parquet" in after
    assert not work_of(grown).exists()
    assert not list(damage(open_build(grown)))


def test_what_is_there_wins_and_every_document_is_accounted_for(old: Path, grown: Path) -> None:
    base = len(OLD)
    kept = manifest(old)["ledger"]["documents"]["kept"]
    books = manifest(grown)["ledger"]
    assert [each["documents"]["kept"] for each in books["additions"]] == [kept, len(NEW)]
    assert books["documents"]["kept"] == kept + len(NEW)
    assert books["read"]["records"] == base + len(NEW) + 3
    verdict = np.load(open_build(grown).file("dedup/verdict.npy"))
    assert verdict[:base].tolist() == np.load(old / "dedup/verdict.npy").tolist()
    gone = {3: int(verdict[12]) if verdict[12] >= 0 else 12, 4: 3, 5: base}
    assert {row: int(verdict[base + row]) for row in range(9) if verdict[base + row] != -1} == gone
    rows = {r["doc"]: r for r in pq.read_table(open_build(grown).file("dedup/clusters.parquet")).to_pylist()}
    assert {rows[base + doc]["survivor"] for doc in gone} == set(gone.values())
    assert all(row["against"] is None for row in rows.values())


def test_every_new_token_is_where_provenance_says(grown: Path) -> None:
    build = open_build(grown)
    shard = build.manifest["splits"]["train"]["shards"][-1]
    docs = pq.read_table(build.file(shard["provenance"]))["doc"].to_pylist()
    kept = [len(OLD) + row for row in (0, 1, 2, 6, 7, 8)]
    assert sorted(set(docs)) == kept
    told = explain(build, "new.jsonl:1")
    assert "train/train-00002.mindrecord" in told and "stands for 1 more" in told
    assert "old.jsonl:4, which is kept" in explain(build, "new.jsonl:5")
    texts = [document.text for document in library.open_build(grown).documents()]
    assert set(NEW) <= set(texts) and len(texts) == len(set(texts))


def test_valid_stays_and_the_data_has_another_name(old: Path, grown: Path) -> None:
    assert manifest(grown)["splits"]["valid"] == manifest(old)["splits"]["valid"]
    before, after = read_shards(old), read_shards(grown)
    assert after.rows > before.rows and after.manifest_sha256 != before.manifest_sha256
    assert [file.name for file in after.files[:2]] == [file.name for file in before.files]


def test_again_it_adds_only_what_is_new_under_other_names(grown: Path, new: Path, tmp_path: Path) -> None:
    build = Path(shutil.copytree(grown, tmp_path / "build"))
    assert grow(build, new).added is None
    assert hashes(build) == hashes(grown), "the same inputs are held already"
    grow(build, jsonl(tmp_path / "new.jsonl", [NEW[0], varied(40)]))
    names = [source["name"] for source in manifest(build)["pipeline"]["source"]]
    assert names == ["old.jsonl", "new.jsonl", "new.jsonl-2"]
    assert [each["documents"]["kept"] for each in manifest(build)["ledger"]["additions"][1:]] == [len(NEW), 1]
    assert not list(damage(open_build(build)))
    before = manifest(build)["splits"]
    grow(build, jsonl(tmp_path / "copies.jsonl", NEW))
    assert manifest(build)["splits"] == before
    assert manifest(build)["ledger"]["additions"][3]["documents"]["duplicates"] == len(NEW)
    assert not list(damage(open_build(build)))


def test_files_that_the_build_was_made_of_are_not_read_again(tmp_path: Path) -> None:
    """Without dedupe all that is read again would be trained on twice."""
    first, second = tmp_path / "first", tmp_path / "second"
    second.mkdir(parents=True)
    first.mkdir()
    build = built(first, OLD, "raw")
    grow(build, jsonl(second / "two.jsonl", NEW[:2]))
    grow(build, jsonl(second / "three.jsonl", NEW[2:4]))
    before = hashes(build)
    both = [first / "old.jsonl", second / "three.jsonl"]
    for inputs in ([first / "old.jsonl"], [second], both, [tmp_path], [first], [tmp_path / "second/../first"]):
        assert grow(build, *inputs).added is None, inputs
    moved = shutil.copytree(second, tmp_path / "moved" / "second")
    assert grow(build, moved).added is None
    assert hashes(build) == before
    shutil.rmtree(moved)
    jsonl(second / "four.jsonl", NEW[4:])
    found = grow(build, first, second)
    assert found.held == 3 and found.added is not None
    assert found.added.manifest["inputs"]["files"] == 1
    assert [each["documents"]["kept"] for each in manifest(build)["ledger"]["additions"]] == [len(OLD), 2, 2, 2]
    assert [source["name"] for source in manifest(build)["pipeline"]["source"]][3:] == ["second"]
    assert not list(damage(open_build(build)))
    assert grow(build, tmp_path).added is None
    alike = Path(shutil.copytree(second, tmp_path / "other"))
    assert grow(build, alike).added is not None, "files of one name, size and mtime in another folder are others"
    os.utime(second / "four.jsonl", ns=(1, 1))
    again = grow(build, second)
    assert again.held == 2 and again.added is not None, "a file with another mtime is another file"


def test_an_addition_of_which_nothing_is_left_is_in_the_books_and_not_in_the_way(old: Path, tmp_path: Path) -> None:
    build = Path(shutil.copytree(old, tmp_path / "build"))
    short = jsonl(tmp_path / "short.jsonl", ["x", "y"])
    done = mrprep("build", "--append", build, short, "--no-audit", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    assert "no new text: 0 documents are in the build already, 2 were dropped" in done.stdout
    assert manifest(build)["ledger"]["additions"][-1]["documents"]["dropped"] == 2
    assert grow(build, short).added is None and not work_of(build).exists()
    (tmp_path / "damaged.jsonl.gz").write_bytes(gzip.compress(b"x")[:12])
    with pytest.raises(MrprepError, match=r"no document is left .* not read: damaged"):
        grow(build, tmp_path / "damaged.jsonl.gz")
    assert grow(build, jsonl(tmp_path / "more.jsonl", [varied(90)])).added is not None
    assert not list(damage(open_build(build)))


def test_files_of_one_name_size_and_time_in_two_folders_are_two(old: Path, tmp_path: Path) -> None:
    build = Path(shutil.copytree(old, tmp_path / "build"))
    for folder, text in (("c1", varied(31)), ("c2", varied(31)[::-1])):
        (tmp_path / folder).mkdir()
        os.utime(jsonl(tmp_path / folder / "f0.jsonl", [text]), ns=(1, 1))
        assert grow(build, tmp_path / folder / "f0.jsonl").added is not None
    assert grow(build, tmp_path / "c1", tmp_path / "c2").added is None


def test_a_file_that_is_named_twice_comes_in_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = jsonl(tmp_path / "old.jsonl", OLD)
    with in_process():
        chosen = with_inputs(load_pipeline("raw", OVERRIDES), [old, old])
        build = building.build(chosen, tmp_path / "build", RunOptions(1), print).path
    assert "1 file was named twice" in capsys.readouterr().out
    assert manifest(build)["ledger"]["documents"]["kept"] == len(OLD)
    (tmp_path / "two").mkdir()
    for name, number in (("a", 41), ("b", 42)):
        jsonl(tmp_path / "two" / f"{name}.jsonl", [varied(number)])
    found = grow(build, tmp_path / "two", tmp_path / "two/a.jsonl", tmp_path / "two/../two/a.jsonl")
    assert "2 files were named twice" in capsys.readouterr().out
    assert found.added is not None
    assert (found.added.manifest["ledger"]["documents"]["kept"], found.added.manifest["inputs"]["files"]) == (2, 2)
    assert [source["name"] for source in manifest(build)["pipeline"]["source"]] == ["old.jsonl", "old.jsonl-2", "two"]
    assert grow(build, tmp_path / "two/a.jsonl", tmp_path / "two").added is None


def test_hashed_inputs_are_told_by_their_content(tmp_path: Path) -> None:
    build = built(tmp_path, OLD, hashed=True)
    os.utime(tmp_path / "old.jsonl", ns=(1, 1))
    assert grow(build, tmp_path / "old.jsonl").added is None, "as it was built, not as it is added"
    new = jsonl(tmp_path / "new.jsonl", [varied(30)])
    size, mtime = new.stat().st_size, new.stat().st_mtime_ns
    assert grow(build, new, hashed=True).added is not None
    for number in (31, 32):
        text = varied(number)[: len(varied(30))]
        jsonl(new, [text + "x" * (len(varied(30)) - len(text))])
        os.utime(new, ns=(mtime, mtime))
        assert new.stat().st_size == size
        added = grow(build, new, hashed=number == 31).added
        assert added is not None, "as long and as old as the one before, but another text"
    assert grow(build, new).added is None


def test_of_a_build_that_knows_no_files_whole_sets_are_known(grown: Path, old: Path, new: Path, tmp_path: Path) -> None:
    build = Path(shutil.copytree(grown, tmp_path / "build"))
    run = json.loads((build / "run.json").read_text())
    assert run.pop("marks")["files"]
    (build / "run.json").write_text(json.dumps(run))
    assert grow(build, old.parent / "old.jsonl").added is None
    assert grow(build, new).added is None
    found = grow(build, jsonl(tmp_path / "more.jsonl", [varied(60)]), new)
    assert found.held == 0 and found.added is not None


def test_who_resembles_what_an_earlier_build_holds_goes_for_that(tmp_path: Path) -> None:
    """Worked out by hand: rows 0 to 3 of a build (kept, for row 0, for row 7 of june, emptied), and 5 new ones."""
    columns = ("doc", "survivor", "against", "cluster", "kind", "jaccard", "share")

    def table(name: str, *rows: tuple[Any, ...]) -> None:
        found = [dict(zip(columns, row, strict=True)) for row in rows]
        pq.write_table(pa.Table.from_pylist(found, CLUSTERS), tmp_path / name)

    table("old.parquet", (1, 0, None, 0, "near", 0.9, None), (2, 7, "june", 2, "exact", 1.0, None))
    np.save(tmp_path / "old.npy", [-1, 0, -2, REMOVED_ON_REQUEST])
    ours = "this build"
    table(
        "clusters.parquet",
        (0, 1, ours, 0, "exact", 1.0, None),
        (1, 2, ours, 1, "exact", 1.0, None),
        (2, 3, ours, 2, "exact", 1.0, None),
        (3, 9, "june", 3, "near", 0.8, None),
        (4, 0, ours, 0, "near", 0.85, None),
    )
    np.save(tmp_path / "verdict.npy", [-2, -2, -2, -3, -2, -1])
    counts = {"exact": 3, "near": 2, "chain": 0, "contained": 0, "held": 5, "overflow": 0}
    totals = {"documents": 1, "units": 1, "removed": 1, "removed_units": 1, "sources": {}, "largest": []}
    (tmp_path / "counts.json").write_text(json.dumps(counts))
    (tmp_path / "report.json").write_text(json.dumps(totals))
    out = tmp_path / "out"
    out.mkdir()
    unit = JoinUnit(tmp_path / "old.npy", tmp_path / "old.parquet", tmp_path / "report.json", 4, tmp_path, 6, ("june",))
    join_unit(unit, out)
    assert np.load(out / "verdict.npy").tolist() == [-1, 0, -2, REMOVED_ON_REQUEST, 0, -2, -1, -2, 0, -1]
    rows = [tuple(row[name] for name in columns) for row in pq.read_table(out / "clusters.parquet").to_pylist()]
    assert rows[2:] == [
        (4, 0, None, 0, "chain", None, None),
        (5, 7, "june", 5, "exact", 1.0, None),
        (7, 9, "june", 7, "near", 0.8, None),
        (8, 0, None, 0, "near", 0.85, None),
    ]
    assert json.loads((out / "counts.json").read_text()) == {**counts, "exact": 1, "chain": 1, "held": 2}


def test_two_jobs_and_a_kill_give_the_same_bytes(old: Path, new: Path, grown: Path, tmp_path: Path) -> None:
    build = Path(shutil.copytree(old, tmp_path / "build"))
    home = work_of(build) / "phases" / "join"
    arguments = ("build", "--append", build, new, "--jobs", 2, "--no-audit")
    assert kill_when(home.is_dir, signal.SIGKILL, *arguments) == -signal.SIGKILL
    assert hashes(build) == hashes(old)
    done = mrprep(*arguments)
    assert done.returncode == 0, done.stderr
    assert "6 documents" in done.stdout and "19 documents kept" in done.stdout
    assert hashes(build) == hashes(grown)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"pack": {"seq": 128}}, "pack.seq: 64 -> 128"),
        ({"pack": {"layout": "mcore"}}, 'pack.layout: "flat" -> "mcore"'),
        ({"shard": {"valid": 0.5}}, "shard.valid: 0.1 -> 0.5"),
        ({"tokenize": {"vocab_size": 999}}, "tokenize.vocab_size: "),
        ({"": {"seed": 3}}, "seed: 0 -> 3"),
        (growing.asked_of(load_pipeline("raw", {"pack": {"seq": 64}})), "stages: "),
    ],
)
def test_other_options_are_refused_by_name(old: Path, asked: Any, said: str) -> None:
    with pytest.raises(MrprepError, match=said):
        growing.refuse_other_options(open_build(old), asked)


def test_a_build_is_not_appended_to_itself(old: Path) -> None:
    for place in (old, old / "text"):
        with pytest.raises(MrprepError, match="is of the build that is to grow: name new text"):
            growing.refuse_itself(open_build(old), growing.sources_of(open_build(old), [place], {}))


def test_its_own_options_are_not(old: Path) -> None:
    found = open_build(old)
    whole = load_pipeline("default", {"pack": {"seq": 64}, "shard": {"valid": 0.1, "shards": 9}})
    growing.refuse_other_options(found, growing.asked_of(whole))
    growing.refuse_other_options(found, growing.asked_of(load_pipeline("default", {})))
    model = found.file(found.manifest["tokenizer"]["file"])
    growing.refuse_other_options(found, {"tokenize": {"model": model}, "pack": {"seq": 64}})


def test_a_pipeline_file_asks_only_for_what_it_says(old: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[pack]\nseq = 64\n[filter]\nmin_units = 5\n")
    asked = growing.asked_of(load_pipeline(str(file), {}), [tmp_path / "evaluation.jsonl"])
    assert asked == {
        "": {},
        "pack": {"seq": 64},
        "filter": {"min_units": 5},
        "decontaminate": {"files": (tmp_path / "evaluation.jsonl",)},
    }
    growing.refuse_other_options(open_build(old), growing.asked_of(load_pipeline(str(file), {})))
    file.write_text("[pack]\npacking = 'bestfit'\n")
    with pytest.raises(MrprepError, match=r'pack\.packing: "concat" -> "bestfit"'):
        growing.refuse_other_options(open_build(old), growing.asked_of(load_pipeline(str(file), {})))


def test_nothing_is_overwritten(old: Path, new: Path, tmp_path: Path) -> None:
    build = Path(shutil.copytree(old, tmp_path / "build"))
    done = mrprep("build", "--append", build, new, "--no-audit", "--overwrite")
    assert done.returncode == 2 and "leave --overwrite out" in done.stderr
    work_of(build).mkdir()
    (work_of(build) / INPUTS).write_text("{}")
    refuse_overwrite(build)  # there is unfinished work to start again


class Stop(BaseException):
    """The process ends here."""


class Calls:
    """Lets so many calls pass, and no more."""

    def __init__(self, left: int) -> None:
        self.left = left

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise Stop
            return function(*arguments, **options)

        return call


def test_cut_off_when_it_had_grown_it_takes_other_inputs(old: Path, tmp_path: Path) -> None:
    def stop(_: Path) -> None:
        raise Stop

    build = Path(shutil.copytree(old, tmp_path / "build"))
    first = jsonl(tmp_path / "first.jsonl", [varied(51)])
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stop):
        patch.setattr(change, "settle", stop)  # after the manifest, before run.json
        grow(build, first)
    assert len(manifest(build)["changes"]) == 1 and (work_of(build) / INPUTS).is_file()
    found = grow(build, first, jsonl(tmp_path / "second.jsonl", [varied(52)]))
    assert found.held == 1 and len(manifest(build)["changes"]) == 2
    assert not list(damage(open_build(build))) and not work_of(build).exists()


def test_what_a_change_left_whose_work_is_lost_goes_with_the_next(old: Path, tmp_path: Path) -> None:
    build = Path(shutil.copytree(old, tmp_path / "build"))
    grow(build, jsonl(tmp_path / "first.jsonl", [varied(51)]))
    left = ["dedup/clusters.parquet", "text/part-00007.2.parquet", "train/train-00009.mindrecord.db", "mine.txt"]
    for name in left:
        (build / name).write_bytes(b"left")
    with pytest.raises(MrprepError, match=r"holds mine\.txt, which mrprep did not make"):
        shrink(build, "old.jsonl:1")
    assert all((build / name).exists() for name in left)
    (build / "mine.txt").unlink()
    with pytest.raises(
        MrprepError, match=r"dedup/clusters\.parquet, .* not list: a change that was cut off has left it"
    ):
        shrink(build, "old.jsonl:1", dry_run=True)
    assert shrink(build, "old.jsonl:1").listed.named == 1
    assert not any((build / name).exists() for name in left)
    assert not list(damage(open_build(build)))


def test_one_build_grows_at_a_time() -> None:
    assert only_one([Path("a")]) == Path("a")
    with pytest.raises(UsageError, match="--append takes one build"):
        only_one([Path("a"), Path("b")])


def stopped_after(calls: int, build: Build, changed: change.Change, patch: pytest.MonkeyPatch) -> bool:
    """Make a change with so many calls of the system; return whether it needed more."""
    with patch.context() as patched:
        left = Calls(calls)
        for name in ("link", "rename", "unlink", "fsync", "rmdir"):
            patched.setattr(os, name, left.of(getattr(os, name)))
        try:
            change.apply(build, changed, copy=False)
        except Stop:
            return True
    return False


def test_stopped_at_any_call_the_build_is_the_old_or_the_new_one(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file comes, those in report/ go."""
    record = {"bytes": 3, "sha256": hashlib.sha256(b"new").hexdigest()}
    for calls in range(100):
        build = open_build(Path(shutil.copytree(old, tmp_path / f"{calls}")))
        work_of(build.path).mkdir()
        (work_of(build.path) / "file").write_bytes(b"new")
        stays = {name: build.files[name] for name in build.files if not name.startswith("report/")}
        after = {**build.manifest, "files": {**stays, "new/file": record}}
        changed = change.Change(after, {"new/file": work_of(build.path) / "file"}, {})
        stopped = stopped_after(calls, build, changed, monkeypatch)
        found = open_build(build.path)
        assert found.manifest in (build.manifest, after)
        assert not list(damage(found))
        change.settle(build.path)
        files = {path.relative_to(build.path).as_posix() for path in build.path.rglob("*") if path.is_file()}
        assert files == {*found.files, "manifest.json", "run.json"}
        assert not (work_of(build.path) / CHANGE).exists()
        if not stopped:
            assert calls > 10 and found.manifest == after
            return
    raise AssertionError
