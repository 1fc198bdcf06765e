"""What testers broke once: a build never touches what is not its own, nor passes over what has changed."""

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from builds import COMMAND, build, hashes, mrprep

from mrprep.builddir.layout import work_of
from mrprep.builddir.manifest import open_build
from mrprep.errors import MrprepError

pytestmark = pytest.mark.mindspore

CORPUS = Path(__file__).resolve().parent.parent / "samples" / "corpus"
OPTIONS = ("--seq", 128, "--vocab-size", 1000)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "out"
    build(CORPUS, out, *OPTIONS)
    return out


def refused(source: Path, out: Path, *arguments: object) -> str:
    done = mrprep("build", source, "--out", out, *arguments)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_work_directory_of_the_user_s_own_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "out.work" / "phases"
    mine.mkdir(parents=True)
    (mine / "thesis").write_text("mine")
    assert "was not made by mrprep" in refused(CORPUS, tmp_path / "out", *OPTIONS)
    assert (mine / "thesis").read_text() == "mine"
    (tmp_path / "linked.work").symlink_to(tmp_path / "out.work")
    assert "was not made by mrprep" in refused(CORPUS, tmp_path / "linked", *OPTIONS)
    (tmp_path / "file.work").write_text("mine")
    assert "was not made by mrprep" in refused(CORPUS, tmp_path / "file", *OPTIONS)


def test_an_output_that_is_a_link_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    assert "is a link" in refused(CORPUS, tmp_path / "out", *OPTIONS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "real"]


def test_a_build_that_appears_meanwhile_is_not_replaced(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    running = subprocess.Popen(
        [*COMMAND, "build", str(CORPUS), "--out", str(out), "--seq", "64"], stderr=subprocess.PIPE, text=True
    )
    while not (work_of(out) / "phases" / "read").is_dir():
        assert running.poll() is None
        time.sleep(0.002)
    shutil.copytree(made, out)
    said = running.communicate(timeout=120)[1]
    assert running.returncode == 1
    assert "appeared while its build ran" in said
    assert hashes(out) == hashes(made)


def test_inputs_that_change_while_they_are_read_stop_the_build(tmp_path: Path) -> None:
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    shutil.copytree(CORPUS, corpus)
    running = subprocess.Popen(
        [*COMMAND, "build", str(corpus), "--out", str(out), *map(str, OPTIONS)], stderr=subprocess.PIPE, text=True
    )
    while not (work_of(out) / "inputs.json").exists():
        assert running.poll() is None
        time.sleep(0.001)
    (corpus / "late.txt").write_text("A file that came while the others were being read.")
    said = running.communicate(timeout=120)[1]
    assert running.returncode == 1
    assert "the inputs changed while they were read (corpus/late.txt is new)" in said
    build(corpus, out, *OPTIONS)


def test_kept_work_is_not_touched_by_damage_to_the_build(tmp_path: Path) -> None:
    out = tmp_path / "out"
    build(CORPUS, out, *OPTIONS, "--keep-work")
    before = hashes(out)
    for name in ("tokenizer/tokenizer.model", "train/train-00000.mindrecord"):
        with (out / name).open("r+b") as file:
            file.write(b"XXXX")
    shutil.rmtree(out)
    build(CORPUS, out, *OPTIONS, "--keep-work")
    assert hashes(out) == before


def test_a_torn_build_is_not_called_done(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(made, out)
    (out / "train/train-00000.mindrecord.db").unlink()
    assert "train-00000.mindrecord.db is missing" in refused(CORPUS, out, *OPTIONS)
    build(CORPUS, out, *OPTIONS, "--overwrite")
    assert hashes(out) == hashes(made)


def test_two_sources_of_one_name_are_refused(tmp_path: Path) -> None:
    table = f'[[source]]\nname = "a"\npath = "{CORPUS}"\n'
    (tmp_path / "p.toml").write_text(table * 2)
    done = mrprep("build", "--pipeline", tmp_path / "p.toml", "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "two sources are named 'a'" in done.stderr


def test_nothing_left_with_a_given_tokenizer_is_a_sentence(made: Path, tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text(" \n")
    model = made / "tokenizer/tokenizer.model"
    said = refused(tmp_path / "blank.txt", tmp_path / "out", "--tokenizer", model)
    assert "no document is left to build from: 1 records were read; left out: empty 1" in said


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (("splits", "train", "shards", 0, "file"), "../other/train/train-00000.mindrecord"),
        (("text", "parts", 0, "file"), "/etc/passwd"),
        (("tokenizer", "file"), "../x"),
        (("tokenizer", "vocab_size"), -1),
        (("packing",), "x"),
        (("seq",), "big"),
        (("files",), [1, 2]),
        (("splits",), {}),
    ],
)
def test_a_manifest_that_cannot_be_is_refused(key: tuple, value: object, made: Path, tmp_path: Path) -> None:
    manifest = json.loads((made / "manifest.json").read_text())
    place = manifest
    for part in key[:-1]:
        place = place[part]
    place[key[-1]] = value
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(MrprepError, match="is damaged"):
        open_build(tmp_path)
