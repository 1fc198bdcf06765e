"""S3, spoken by moto on loopback: a source there gives the build of a folder, and a build gets there whole."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from builds import COMMAND, build, hashes, kill_when
from test_engine_executor import wait_for

from mrprep.builddir.layout import UPLOADED

pytest.importorskip("moto")
s3fs = pytest.importorskip("s3fs")
pytestmark = pytest.mark.slow

CORPUS = Path(__file__).resolve().parent.parent / "samples" / "corpus"
OPTIONS = ("--seq", "128", "--vocab-size", "1000", "--shards", "3", "--no-audit")


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yield the environment that leads to a store that holds the sample corpus."""
    said = tmp_path_factory.mktemp("moto") / "said"
    with said.open("w") as stream:
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"], stderr=stream, stdout=stream
        )
    wait_for(lambda: "http://127.0.0.1:" in said.read_text(), 60)
    at = "http://127.0.0.1:" + said.read_text().split("http://127.0.0.1:")[1].split()[0]
    names = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "FSSPEC_S3_ENDPOINT_URL": at}
    store = s3fs.S3FileSystem(key="a", secret="b", endpoint_url=at)
    store.mkdir("texts")
    store.put(str(CORPUS), "texts/corpus", recursive=True)
    yield {**os.environ, **names}
    server.kill()
    server.wait()


def run(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_build_of_s3_has_the_bytes_of_one_of_the_folder(s3: dict[str, str], tmp_path: Path) -> None:
    copy = tmp_path / "corpus"
    shutil.copytree(CORPUS, copy)
    build(copy, tmp_path / "a", *OPTIONS)
    done = run(s3, "build", "s3://texts/corpus", "--out", tmp_path / "b", *OPTIONS)
    assert done.returncode == 0, done.stderr
    here, there = hashes(tmp_path / "a"), hashes(tmp_path / "b")
    assert {name for name in here if here[name] != there.get(name)} <= {"manifest.json", "report/summary.json"}
    again = run(s3, "build", "s3://texts/corpus", "--out", tmp_path / "b", *OPTIONS)
    assert again.returncode == 0, again.stderr


def test_mistakes_are_sentences(s3: dict[str, str], tmp_path: Path) -> None:
    gone = run(s3, "build", "s3://texts/gone", "--out", tmp_path / "b", *OPTIONS)
    assert gone.returncode == 1
    assert "s3://texts/gone does not exist, or holds no file" in gone.stderr
    silent = {**s3, "FSSPEC_S3_ENDPOINT_URL": "http://127.0.0.1:1"}
    no_store = run(silent, "build", "s3://texts/corpus", "--out", tmp_path / "b", *OPTIONS)
    assert no_store.returncode == 1
    assert "s3://texts/corpus cannot be listed" in no_store.stderr
    assert "Traceback" not in no_store.stderr


def test_a_build_gets_to_s3_though_it_is_killed_on_the_way(s3: dict[str, str], tmp_path: Path, monkeypatch) -> None:
    for name, value in s3.items():
        monkeypatch.setenv(name, value)
    build(CORPUS, tmp_path / "a", *OPTIONS)
    command = ("build", CORPUS, "--out", "s3://texts/builds/one", "--work", tmp_path / "w", *OPTIONS)
    journal = tmp_path / "w" / "one.work" / UPLOADED
    kill_when(lambda: journal.exists() and len(journal.read_bytes().splitlines()) > 4, signal.SIGKILL, *command)
    store = s3fs.S3FileSystem(key="a", secret="b", endpoint_url=s3["FSSPEC_S3_ENDPOINT_URL"])
    before = store.find("texts/builds/one")
    assert "texts/builds/one/upload.json" in before
    assert "texts/builds/one/manifest.json" not in before
    noted = len(journal.read_bytes().splitlines()) - 1
    done = run(s3, *command)
    assert done.returncode == 0, done.stderr
    assert f"{noted} were there" in done.stderr
    store.invalidate_cache()
    store.get("texts/builds/one", str(tmp_path / "b"), recursive=True)
    assert hashes(tmp_path / "b") == hashes(tmp_path / "a")
    assert not any((tmp_path / "w").iterdir())
    again = run(s3, *command)
    assert (again.returncode, "holds this very build already" in again.stderr) == (0, True), again.stderr


def test_a_place_that_may_not_be_written_is_told_before_the_work(s3: dict[str, str], tmp_path: Path) -> None:
    done = run(s3, "build", CORPUS, "--out", "s3://no-bucket/one", "--work", tmp_path / "w", *OPTIONS)
    assert done.returncode == 1
    assert "s3://no-bucket/one cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert not any((tmp_path / "w").iterdir())
