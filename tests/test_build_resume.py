"""A build gives the same bytes whatever happens to it, and refuses what would give others in silence."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from builds import COMMAND, build, hashes, kill_when, mrprep, phases

from mrprep.builddir.layout import work_of

pytestmark = pytest.mark.mindspore

CORPUS = Path(__file__).resolve().parent.parent / "samples" / "corpus"
OPTIONS = ("--seq", 128, "--vocab-size", 1000, "--shards", 3)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    build(CORPUS, out, *OPTIONS, "--jobs", 2)
    return out


def test_one_job_gives_the_bytes_of_two_and_a_moved_input_too(undisturbed: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "corpus"
    shutil.copytree(CORPUS, moved)
    build(moved, tmp_path / "out", *OPTIONS, "--jobs", 1)
    assert hashes(tmp_path / "out") == hashes(undisturbed)


def test_another_seed_gives_other_rows(undisturbed: Path, tmp_path: Path) -> None:
    build(CORPUS, tmp_path / "out", *OPTIONS, "--seed", 7)
    mine, other = hashes(tmp_path / "out"), hashes(undisturbed)
    assert mine["train/train-00000.mindrecord"] != other["train/train-00000.mindrecord"]
    assert mine["text/part-00000.parquet"] == other["text/part-00000.parquet"]


@pytest.mark.parametrize(
    "phase",
    [
        "read",
        "dedupe.candidates",
        "shard",
        *(pytest.param(phase, marks=pytest.mark.slow) for phase in ("vocabulary", "tokenize", "digests")),
    ],
)
def test_killed_in_a_phase_it_goes_on_and_ends_with_the_same_bytes(
    phase: str, undisturbed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    home = work_of(out) / "phases" / phase
    assert kill_when(home.is_dir, signal.SIGKILL, "build", CORPUS, "--out", out, *OPTIONS) == -signal.SIGKILL
    assert not out.exists()
    before = {path.name for path in home.parent.iterdir()} - {phase}
    build(CORPUS, out, *OPTIONS)
    assert hashes(out) == hashes(undisturbed)
    assert all(phases(out)[name] == (phases(out)[name][0],) * 2 for name in before if name in phases(out))
    assert not work_of(out).exists()


def test_sigterm_stops_as_ctrl_c_does_with_143(tmp_path: Path) -> None:
    command = [*COMMAND, "build", str(CORPUS), "--out", str(tmp_path / "out"), "--pipeline", "raw"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not (work_of(tmp_path / "out") / "phases" / "read").is_dir():
        assert running.poll() is None
        time.sleep(0.002)
    running.terminate()
    said = running.communicate(timeout=60)[1]
    assert running.returncode == 143, said
    assert said.endswith("mrprep: stopped; the same command goes on from here\n")
    assert "Traceback" not in said
    alive = subprocess.run(["ps", "axo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in alive


def test_ctrl_c_ends_with_130_and_leaves_no_process(undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    home = work_of(out) / "phases" / "read"
    assert kill_when(home.is_dir, signal.SIGINT, "build", CORPUS, "--out", out, *OPTIONS) == 130
    running = subprocess.run(["ps", "axo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(out) not in running
    build(CORPUS, out, *OPTIONS)
    assert hashes(out) == hashes(undisturbed)


def test_other_seq_redoes_only_packing_and_writing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    build(CORPUS, out, *OPTIONS, "--keep-work")
    build(CORPUS, out, "--seq", 64, "--vocab-size", 1000, "--shards", 3, "--keep-work", "--overwrite")
    redone = {name for name, (units, reused) in phases(out).items() if units != reused}
    assert redone == {"split", "shard", "digests"}
    fresh = tmp_path / "fresh"
    build(CORPUS, fresh, "--seq", 64, "--vocab-size", 1000, "--shards", 3)
    assert hashes(out) == hashes(fresh)


def test_a_finished_build_is_not_built_again_nor_replaced_unasked(undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(undisturbed, out)
    before = (out / "run.json").stat().st_mtime_ns
    build(CORPUS, out, *OPTIONS)
    assert (out / "run.json").stat().st_mtime_ns == before
    other = mrprep("build", CORPUS, "--out", out, "--seq", 64)
    assert other.returncode == 1
    assert "seq" in other.stderr
    assert "--overwrite" in other.stderr
    assert hashes(out) == hashes(undisturbed)


def test_work_on_other_inputs_is_refused_with_what_changed(undisturbed: Path, tmp_path: Path) -> None:
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    shutil.copytree(CORPUS, corpus)
    home = work_of(out) / "phases" / "vocabulary"
    kill_when(home.is_dir, signal.SIGKILL, "build", corpus, "--out", out, *OPTIONS)
    (corpus / "more.txt").write_text("A file that was not there when the build began, with words enough.")
    refused = mrprep("build", corpus, "--out", out, *OPTIONS)
    assert refused.returncode == 1
    assert "corpus/more.txt is new" in refused.stderr
    (corpus / "more.txt").unlink()
    build(corpus, out, *OPTIONS)
    assert hashes(out) == hashes(undisturbed)


def test_overwrite_never_deletes_what_mrprep_did_not_make(undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(undisturbed, out)
    (out / "train" / "notes.txt").write_text("mine")
    refused = mrprep("build", CORPUS, "--out", out, "--seq", 64, "--vocab-size", 1000, "--overwrite")
    assert refused.returncode == 1
    assert "train/notes.txt" in refused.stderr
    assert (out / "train" / "notes.txt").read_text() == "mine"
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    refused = mrprep("build", CORPUS, "--out", folder, "--overwrite")
    assert refused.returncode == 1
    assert (folder / "mine.txt").exists()


def test_two_builds_into_one_output(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = subprocess.Popen([*COMMAND, "build", str(CORPUS), "--out", str(out)], stderr=subprocess.DEVNULL)
    while not (work_of(out) / "phases").is_dir():
        assert first.poll() is None
    second = mrprep("build", CORPUS, "--out", out)
    first.kill()
    first.wait()
    assert second.returncode == 1
    assert "another build" in second.stderr


def test_a_full_disk_is_a_sentence_and_the_build_goes_on_later(undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["build", str(CORPUS), "--out", str(out), *map(str, OPTIONS)]
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000));"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"from mrprep.cli.app import run; sys.exit(run({arguments}))"
    )
    script = tmp_path / "limited.py"
    script.write_text(f"if __name__ == '__main__':\n    {code}\n")
    full = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert full.returncode == 1, full.stderr
    assert "Traceback" not in full.stderr
    assert not out.exists()
    build(CORPUS, out, *OPTIONS)
    assert hashes(out) == hashes(undisturbed)


def test_files_have_the_modes_of_the_umask(undisturbed: Path) -> None:
    mask = os.umask(0)
    os.umask(mask)
    modes = {path.stat().st_mode & 0o777 for path in undisturbed.rglob("*") if path.is_file()}
    assert modes == {0o666 & ~mask}


def test_a_worker_that_is_killed_costs_only_its_unit(undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(
        [*COMMAND, "build", str(CORPUS), "--out", str(out), *map(str, OPTIONS)], stdout=subprocess.DEVNULL
    )
    workers: list[psutil.Process] = []
    while not workers:
        assert process.poll() is None
        children = psutil.Process(process.pid).children()
        workers = [child for child in children if "spawn_main" in " ".join(child.cmdline())]
    workers[0].kill()
    assert process.wait(120) == 0
    assert hashes(out) == hashes(undisturbed)
