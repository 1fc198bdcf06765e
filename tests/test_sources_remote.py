"""Sources behind URLs, by fsspec: what is read there is what is read of a folder."""

import bz2
import gzip
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backports import zstd
from builds import build, hashes, mrprep

from mrprep.config import command_line_sources, load_pipeline
from mrprep.document import Document, FileNote
from mrprep.errors import MrprepError
from mrprep.plan import difference, inputs_record, listed, plan, plan_mindrecord
from mrprep.preview import preview
from mrprep.sources import remote
from mrprep.sources.read import read
from mrprep.sources.source import Reading, Source
from mrprep.sources.spans import cut

fsspec = pytest.importorskip("fsspec")
CORPUS = Path(__file__).resolve().parent.parent / "samples" / "corpus"
LINES = [f"line {number} of a file that is cut" for number in range(5000)]
JSONL = "".join(json.dumps({"text": line}) + "\n" for line in LINES).encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a file of each kind that is opened in its own way."""
    root = tmp_path / "in"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "a.jsonl").write_bytes(JSONL)
    (root / "deep" / "b.jsonl.gz").write_bytes(gzip.compress(JSONL[:9000]))
    (root / "deep" / "b.txt.bz2").write_bytes(bz2.compress("文字".encode() * 900))
    (root / "deep" / "er" / "c.txt.zst").write_bytes(zstd.compress(b"a text\n" * 900))
    (root / "deep" / "cut.txt.gz").write_bytes(gzip.compress(b"never ends\n" * 90_000)[:-900])
    (root / "gb.txt").write_bytes(("汉字写成国标码的一行。\n" * 40).encode("gb18030"))
    pq.write_table(pa.table({"text": LINES}), root / "t.parquet", row_group_size=1000)
    (root / "note.docx").write_bytes(b"PK")
    (root / ".hidden.txt").write_bytes(b"no")
    return root


@pytest.fixture
def url(folder: Path) -> Iterator[str]:
    """Return the URL of a copy in fsspec's memory."""
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    for path in folder.rglob("*"):
        if path.is_file():
            memory.pipe(f"/bucket/in/{path.relative_to(folder)}", path.read_bytes())
    yield "memory://bucket/in"
    memory.store.clear()


def source(place: object) -> Source:
    (made,) = command_line_sources([place], Reading())
    return made


def items(place: object, unit: int = 1 << 16) -> list[object]:
    return [item for spans in cut(listed([source(place)]), unit) for span in spans for item in read(span)]


def test_a_url_is_read_as_the_folder_is(folder: Path, url: str) -> None:
    assert items(url) == items(folder)
    assert sum(isinstance(item, Document) for item in items(url)) > 10_000
    problems = [item.problem for item in items(url) if isinstance(item, FileNote) and item.problem]
    assert problems == ["ends in the middle of its gz data"]


def test_the_listing_is_that_of_the_folder(folder: Path, url: str) -> None:
    (there,), (here,) = listed([source(url)]), listed([source(folder)])
    assert there.root == b"memory://bucket/in"
    assert [(f.path, f.size, f.format, f.compression) for f in there.files] == [
        (f.path, f.size, f.format, f.compression) for f in here.files
    ]
    assert there.skipped == here.skipped


def test_one_file_by_its_url(url: str) -> None:
    (listing,) = listed([source(f"{url}/a.jsonl")])
    assert (listing.root, [file.path for file in listing.files]) == (b"memory://bucket/in", [b"a.jsonl"])
    assert listing.source.name == "a.jsonl"


def test_a_file_written_again_is_seen(url: str) -> None:
    before = inputs_record(listed([source(url)]), hashed=False)
    assert difference(before, inputs_record(listed([source(url)]), hashed=False)) == ""
    fsspec.filesystem("memory").pipe("/bucket/in/a.jsonl", JSONL)
    assert difference(before, inputs_record(listed([source(url)]), hashed=False)) == "in/a.jsonl is changed"
    hashed = [inputs_record(listed([source(url)]), hashed=True) for _ in range(2)]
    fsspec.filesystem("memory").pipe("/bucket/in/a.jsonl", JSONL.replace(b"line 1 ", b"line 7 "))
    assert difference(hashed[1], inputs_record(listed([source(url)]), hashed=True)) == "in/a.jsonl is changed"


def test_a_build_of_ours_is_no_input(url: str) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/bucket/in/old/manifest.json", b'{"mrprep": 1}')
    memory.pipe("/bucket/in/old/documents/part-00000.jsonl", JSONL)
    (listing,) = listed([source(url)])
    assert [(s.path, s.kind) for s in listing.skipped if s.kind == "build"] == [(b"old", "build")]
    assert not [file for file in listing.files if file.path.startswith(b"old")]


def test_a_file_that_is_gone_is_a_note_and_a_store_that_fails_ends_the_build(url: str, monkeypatch) -> None:
    ((span,),) = cut(listed([source(f"{url}/gb.txt")]), 1 << 20)
    (note,) = read(replace(span, path=b"gone.txt"))
    assert note.problem.startswith("cannot be read")

    def broken(*_: object) -> bytes:
        raise TimeoutError("no answer")

    monkeypatch.setattr(fsspec.implementations.memory.MemoryFile, "read", broken)
    with pytest.raises(MrprepError, match=r"memory://bucket/in/gb.txt cannot be read \(no answer\)"):
        list(read(span))


def test_mistakes_are_sentences(monkeypatch) -> None:
    with pytest.raises(MrprepError, match="memory://bucket/nothing does not exist, or holds no file"):
        plan([source("memory://bucket/nothing")], None)
    with pytest.raises(MrprepError, match=r"nosuch://x cannot be opened: fsspec knows no nosuch://, but .*file.* s3,"):
        plan([source("nosuch://x")], None)
    with pytest.raises(MrprepError, match=r"^s3:// names no place in a store: name one, such as s3://bucket/corpus"):
        plan([source("s3://")], None)
    with pytest.raises(MrprepError, match=r"^s3://b/x is a URL, and MindRecord files are read of a file system alone"):
        plan_mindrecord([source("s3://b/x/")], Path("out"))
    monkeypatch.setattr(remote.extras, "has", lambda extra: False)
    with pytest.raises(MrprepError, match=r"^s3://b/x needs fsspec"):
        list(preview("s3://b/x", load_pipeline("raw", {}), 1, 1, colour=False))
    with pytest.raises(MrprepError, match=r"s3://b/x needs fsspec: pip install 'mrprep\[remote\]'"):
        plan([source("s3://b/x")], None)


@pytest.mark.mindspore
def test_a_build_of_a_url_has_the_bytes_of_one_of_the_folder(tmp_path: Path) -> None:
    copy = tmp_path / "corpus"
    shutil.copytree(CORPUS, copy)
    options = ("--seq", 128, "--vocab-size", 1000, "--shards", 3, "--no-audit")
    build(CORPUS, tmp_path / "a", *options)
    done = mrprep("build", copy.as_uri(), "--out", tmp_path / "b", *options)
    assert done.returncode == 0, done.stderr
    here, there = hashes(tmp_path / "a"), hashes(tmp_path / "b")
    assert {name for name in here if here[name] != there.get(name)} <= {"manifest.json", "report/summary.json"}
    document = next(path for path in sorted(copy.rglob("*.txt")) if path.is_file()).relative_to(copy)
    told = mrprep("why", tmp_path / "b", document)
    assert f"read of   {copy.as_uri()}/{document}" in told.stdout, told
