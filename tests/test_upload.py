"""Finished builds to a URL: file by file, the manifest last, nothing of others touched, and on where it broke off."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from builds import build

from mrprep.builddir.layout import UPLOADED, work_of
from mrprep.builddir.manifest import open_build
from mrprep.builddir.store import Store
from mrprep.builddir.upload import claim
from mrprep.building import deliver as delivery
from mrprep.cli.app import run
from mrprep.errors import MrprepError
from mrprep.interop import library
from mrprep.request import RunOptions

fsspec = pytest.importorskip("fsspec")
pytestmark = pytest.mark.mindspore

CORPUS = Path(__file__).resolve().parent.parent / "samples" / "corpus"
OPTIONS = ("--seq", 128, "--vocab-size", 1000, "--shards", 3, "--no-audit")
URL = "memory://bucket/builds/one"
ROOT = "/bucket/builds/one/"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("built") / "one"
    build(CORPUS, out, *OPTIONS)
    return out


@pytest.fixture(scope="module")
def other(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("other") / "one"
    build(CORPUS, out, *OPTIONS, "--seed", 7, "--shards", 2)
    return out


@pytest.fixture
def local(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "one"))


@pytest.fixture
def memory() -> Iterator:
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


@pytest.fixture
def sent(monkeypatch) -> list[str]:
    """Return the names of the files that are sent, in order, as the store sees them."""
    names: list[str] = []
    kind = fsspec.implementations.memory.MemoryFileSystem
    put = kind.put_file

    def spied(self, here: str, there: str, **more: object) -> None:
        put(self, here, there, **more)
        names.append(there.removeprefix(ROOT))

    monkeypatch.setattr(kind, "put_file", spied)
    return names


def deliver(out: Path, **options: bool) -> list[str]:
    said: list[str] = []
    delivery.deliver(open_build(out), URL, RunOptions(1, url=URL, **options), said.append)
    return said


def there(memory) -> dict[str, bytes]:
    return {name.removeprefix(ROOT): file.getvalue() for name, file in memory.store.items()}


def content(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def broken_after(number: int, monkeypatch, sent: list[str]) -> Callable[[], None]:
    """Have the store fail once so many files are there; the returned function mends it."""
    kind = fsspec.implementations.memory.MemoryFileSystem
    put = kind.put_file

    def fails(self, *places: str, **more: object) -> None:
        if len(sent) == number:
            raise TimeoutError("no answer")
        put(self, *places, **more)

    monkeypatch.setattr(kind, "put_file", fails)
    return lambda: monkeypatch.setattr(kind, "put_file", put)


def test_all_of_a_build_is_sent_and_its_manifest_last(local: Path, built: Path, memory, sent: list[str]) -> None:
    said = deliver(local)
    assert there(memory) == content(built)
    assert sent[-1] == "manifest.json"
    assert len(sent) == len(set(sent)) == len(content(built))
    files = json.loads((built / "manifest.json").read_text())["files"]
    total = sum(record["bytes"] for record in files.values())
    assert said == [f"uploaded to {URL}: {len(files)} files, {total:,} bytes"]
    assert not local.exists()
    assert not work_of(local).exists()


def test_a_kept_build_stays_and_is_not_sent_again(local: Path, built: Path, memory, sent: list[str]) -> None:
    deliver(local, keep_work=True)
    assert content(local) == content(built)
    sent.clear()
    assert deliver(local, keep_work=True) == [f"{URL} holds this very build already"]
    assert sent == []


def test_an_upload_that_broke_off_goes_on(local: Path, built: Path, memory, sent: list[str], monkeypatch) -> None:
    mend = broken_after(5, monkeypatch, sent)
    with pytest.raises(MrprepError, match=r"memory://bucket/builds/one cannot be written \(no answer\)"):
        deliver(local)
    assert "manifest.json" not in there(memory), "no build"
    assert content(local) == content(built)
    before = list(sent)
    mend()
    memory.pipe(ROOT + before[1], b"spoilt by somebody")
    sent.clear()
    (said,) = deliver(local)
    assert said.endswith(", 4 were there")
    assert not set(sent) & {before[0], *before[2:]}
    assert before[1] in sent
    assert there(memory) == content(built)


def test_a_file_of_others_is_never_touched(local: Path, built: Path, memory, sent: list[str]) -> None:
    memory.pipe(ROOT + "report/mine.txt", b"mine")
    for overwrite in (False, True):
        with pytest.raises(MrprepError, match=r"holds report/mine.txt and is not a build of mrprep"):
            deliver(local, overwrite=overwrite)
    memory.pipe(ROOT + "manifest.json", b'{"name": "a web page"}')
    with pytest.raises(MrprepError, match=r"memory://bucket/builds/one/manifest.json was not written by mrprep"):
        deliver(local, overwrite=True)
    memory.store.clear()
    deliver(local, keep_work=True)
    memory.pipe(ROOT + "report/mine.txt", b"mine")
    with pytest.raises(MrprepError, match=r"holds report/mine.txt, which mrprep did not put there"):
        deliver(local, overwrite=True)
    assert there(memory) == content(built) | {"report/mine.txt": b"mine"}


def test_another_build_is_replaced_when_asked_alone(
    local: Path, built: Path, other: Path, memory, sent: list[str], monkeypatch
) -> None:
    deliver(local)
    with pytest.raises(MrprepError, match=r"holds another build \(.*seed.*\): give another --out, or --overwrite"):
        deliver(other)
    assert there(memory) == content(built)
    sent.clear()
    mend = broken_after(4, monkeypatch, sent)
    with pytest.raises(MrprepError, match="no answer"):
        deliver(other, keep_work=True, overwrite=True)
    assert "manifest.json" not in there(memory), "neither the one build nor the other"
    mend()
    shutil.copytree(built, local)
    with pytest.raises(MrprepError, match=r"holds an unfinished upload of another build"):
        deliver(local)
    (said,) = deliver(other, keep_work=True)
    assert said.endswith(", 4 were there"), "its own upload goes on without --overwrite"
    assert there(memory) == content(other)


def test_the_mark_of_a_build_of_which_nothing_was_sent_is_in_nobodys_way(local: Path, built: Path, memory) -> None:
    claim(Store(URL), {"inputs": "others"})
    deliver(local)
    assert there(memory) == content(built)


def test_a_build_that_lost_a_file_there_is_another(local: Path, memory, sent: list[str]) -> None:
    deliver(local, keep_work=True)
    memory.rm_file(ROOT + "tokenizer/facts.json")
    with pytest.raises(MrprepError, match=r"another build \(damaged: tokenizer/facts.json is missing\)"):
        deliver(local)


def test_a_kill_after_the_manifest_leaves_nothing_to_do_but_tidy(local: Path, built: Path, memory) -> None:
    deliver(local, keep_work=True)
    work_of(local).mkdir()
    (work_of(local) / "mrprep.lock").touch()
    (work_of(local) / UPLOADED).write_bytes(b"\n")
    assert deliver(local) == [f"{URL} holds this very build already"]
    assert not local.exists()
    assert not work_of(local).exists()
    shutil.copytree(built, local)
    request = json.loads((built / "run.json").read_text())["request"]
    claim(Store(URL), request, content(built))
    deliver(local)
    assert there(memory) == content(built)


def test_a_folder_with_a_file_of_the_user_stays(local: Path, memory, sent: list[str]) -> None:
    (local / "notes.txt").write_text("mine")
    deliver(local)
    assert (local / "notes.txt").read_text() == "mine"
    assert "notes.txt" not in there(memory)


def test_the_command(built: Path, memory, tmp_path: Path, capsys) -> None:
    command = ["build", str(CORPUS), "--out", URL, "--work", str(tmp_path / "w"), *map(str, OPTIONS)]
    assert run(command) == 0
    found, wanted = there(memory), content(built)
    assert {name for name in wanted if found.get(name) != wanted[name]} == {"run.json"}
    assert found.keys() == wanted.keys()
    assert not any((tmp_path / "w").iterdir())
    capsys.readouterr()
    assert run(command) == 0
    assert f"{URL} holds this very build already" in capsys.readouterr().err
    assert run([*command, "--seed", "3"]) == 1
    assert "holds another build" in capsys.readouterr().err
    assert not any((tmp_path / "w").iterdir()), "refused before the work"


def test_the_library_makes_directories_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MrprepError, match=f"{URL} is a URL"):
        library.build(CORPUS, URL)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["build", str(CORPUS), "--out", URL], 2, "give --work DIR too"),
        (["build", str(CORPUS), "--out", "a", "--work", "w"], 2, "--work is for an --out that is a URL"),
        (["build", str(CORPUS), "--out", "s3://bucket", "--work", "w"], 2, "names no place in a store"),
        (["dedupe", str(CORPUS), "--out", URL], 2, "give --work DIR too"),
        (["build", str(CORPUS), "--out", "nosuch://b/x", "--work", "w"], 1, "nosuch://b/x cannot be opened"),
        (["train", "a", "--out", URL], 2, f"{URL} is a URL: name a place in a file system"),
        (["export", "jsonl", "a", "--out", URL], 2, f"{URL} is a URL: name a place in a file system"),
        (["verify", URL], 1, f"{URL} is a URL, and builds are read of a file system alone: copy"),
        (["train", URL], 1, f"{URL} is a URL"),
        (["build", str(CORPUS), "--out", "a", "--against", URL], 1, f"{URL} is a URL"),
        (["build", str(CORPUS), "--append", URL], 1, f"{URL} is a URL"),
    ],
)
def test_mistakes_are_sentences(
    arguments: list[str], code: int, said: str, memory, tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == code
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
