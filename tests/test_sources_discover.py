"""Discovery: what is listed, in what order, and why the rest is left out."""

import json
import os
import socket
from pathlib import Path

import pytest

from mrprep.sources.discover import Listing, discover
from mrprep.sources.source import Source
from mrprep.sources.twice import named_before


def listing_of(path: Path, **options: object) -> Listing:
    return discover(Source(name="s", path=path, **options))  # type: ignore[arg-type]


def kinds(listing: Listing) -> dict[bytes, str]:
    return {each.path: each.kind for each in listing.skipped}


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def test_files_come_in_the_order_of_their_bytes(tmp_path: Path) -> None:
    touch(tmp_path, "b.txt", "a/z.txt", "a.txt", "a/b/c.txt", "Z.txt", "é.txt", "a-b.txt")
    paths = [file.path for file in listing_of(tmp_path).files]
    assert paths == sorted(paths)
    assert paths[:3] == [b"Z.txt", b"a-b.txt", b"a.txt"]
    assert len(paths) == 7


@pytest.mark.parametrize(
    ("name", "format_", "compression"),
    [
        ("a.txt", "txt", ""),
        ("a.MD", "md", ""),
        ("a.b.JsonL", "jsonl", ""),
        ("a.ndjson", "jsonl", ""),
        ("a.json", "json", ""),
        ("a.Parquet", "parquet", ""),
        ("a.txt.GZ", "txt", "gz"),
        ("a.md.zst", "md", "zst"),
        ("a.jsonl.bz2", "jsonl", "bz2"),
        ("a.json.xz", "json", "xz"),
    ],
)
def test_endings(tmp_path: Path, name: str, format_: str, compression: str) -> None:
    touch(tmp_path, name)
    [file] = listing_of(tmp_path).files
    assert (file.format, file.compression, file.size) == (format_, compression, 1)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (".x.txt", "hidden"),
        ("._a.txt", "hidden"),
        (".git/a.txt", "hidden"),
        ("~$a.txt", "temporary"),
        ("a.txt~", "temporary"),
        ("a.TMP", "temporary"),
        ("a.jsonl.part", "temporary"),
        ("a.pdf", "ending"),
        ("a.parquet.gz", "ending"),
        ("a.gz", "ending"),
        ("noext", "ending"),
    ],
)
def test_names_that_are_left_out(tmp_path: Path, name: str, kind: str) -> None:
    touch(tmp_path, name)
    listing = listing_of(tmp_path)
    assert not listing.files
    assert list(kinds(listing).values()) == [kind]


def test_advice_for_known_endings(tmp_path: Path) -> None:
    touch(tmp_path, "a.docx", "b.pdf", "c.epub", "d.html", "e.warc", "e.warc.gz", "f.xyz")
    reasons = {each.path: each.reason for each in listing_of(tmp_path).skipped}
    assert "save them as .txt" in reasons[b"a.docx"]
    assert "extract" in reasons[b"b.pdf"] and "extract" in reasons[b"e.warc.gz"]
    assert ".xyz" in reasons[b"f.xyz"]


def test_a_told_format_holds_whatever_the_ending(tmp_path: Path) -> None:
    touch(tmp_path, "noext", "a.log", "b.log.gz", ".hidden")
    listing = listing_of(tmp_path, format="jsonl")
    assert [(f.path, f.format, f.compression) for f in listing.files] == [
        (b"a.log", "jsonl", ""),
        (b"b.log.gz", "jsonl", "gz"),
        (b"noext", "jsonl", ""),
    ]


def test_a_single_file_is_a_source(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", "b.txt", ".c.txt")
    listing = listing_of(tmp_path / "b.txt")
    assert (listing.root, [file.path for file in listing.files]) == (os.fsencode(tmp_path), [b"b.txt"])
    assert [file.path for file in listing_of(tmp_path / ".c.txt").files] == [b".c.txt"]


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    listing = listing_of(tmp_path / "gone")
    assert not listing.files
    assert listing.skipped[0].kind == "unreadable"


def test_links_are_followed_once(tmp_path: Path) -> None:
    touch(tmp_path, "in/d/x.txt", "out/y.txt", "out/deep/z.txt")
    root = tmp_path / "in"
    (root / "d/up").symlink_to("..")
    (root / "a_link_first").symlink_to("d")
    (root / "ext1").symlink_to("../out")
    (root / "ext2").symlink_to("../out/deep")
    (root / "nowhere.txt").symlink_to("gone")
    (root / "self").symlink_to("self")
    (root / "x2.txt").symlink_to("d/x.txt")
    (root / "other.txt").symlink_to("../out/single.log")
    listing = listing_of(root)
    assert [file.path for file in listing.files] == [b"d/x.txt", b"ext1/deep/z.txt", b"ext1/y.txt"]
    links = (b"a_link_first", b"d/up", b"ext2", b"self", b"x2.txt")
    dangling = (b"nowhere.txt", b"other.txt")
    assert kinds(listing) == dict.fromkeys(links, "link") | dict.fromkeys(dangling, "dangling")


def test_special_files_are_named_and_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s.txt"))
        assert kinds(listing_of(tmp_path)) == {b"pipe.txt": "special", b"s.txt": "special"}


def test_builds_and_work_directories_are_left_out(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", "build/text/x.parquet", "w.work/a.txt", "other/a.txt", "x.work/b.txt")
    (tmp_path / "build/manifest.json").write_text(json.dumps({"mrprep": "0.1"}))
    (tmp_path / "other/manifest.json").write_text(json.dumps({"name": "web app"}))
    (tmp_path / "w.work/mrprep.lock").touch()
    listing = listing_of(tmp_path)
    paths = [file.path for file in listing.files]
    assert paths == [b"a.txt", b"other/a.txt", b"other/manifest.json", b"x.work/b.txt"]
    assert kinds(listing) == {b"build": "build", b"w.work": "build"}
    assert kinds(listing_of(tmp_path / "build")) == {b"": "build"}


def test_the_caller_may_leave_things_out(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt", "out/b.txt")
    out = os.fsencode(tmp_path / "out")
    listing = discover(Source(name="s", path=tmp_path), lambda path: path == out)
    assert [file.path for file in listing.files] == [b"a.txt"]
    assert kinds(listing) == {b"out": "excluded"}


def test_hard_links_are_files_like_others(tmp_path: Path) -> None:
    touch(tmp_path, "b.txt")
    (tmp_path / "a.txt").hardlink_to(tmp_path / "b.txt")
    assert [file.path for file in listing_of(tmp_path).files] == [b"a.txt", b"b.txt"]


def test_a_link_to_a_folder_above_reads_nothing_twice(tmp_path: Path) -> None:
    touch(tmp_path, "books/x.txt", "books/deep/y.txt", "other/z.txt", "beside.txt")
    (tmp_path / "books/parent").symlink_to("..")
    listing = listing_of(tmp_path / "books")
    assert [file.path for file in listing.files] == [
        b"deep/y.txt", b"parent/beside.txt", b"parent/other/z.txt", b"x.txt"
    ]  # fmt: skip
    assert kinds(listing)[b"parent/books"] == "link"


def test_a_file_by_a_link_and_by_a_linked_folder_is_read_once(tmp_path: Path) -> None:
    touch(tmp_path, "far/a.txt", "here/b.txt")
    (tmp_path / "here/1.txt").symlink_to("../far/a.txt")
    (tmp_path / "here/2").symlink_to("../far")
    (tmp_path / "far/hard.txt").hardlink_to(tmp_path / "far/a.txt")
    listing = listing_of(tmp_path / "here")
    assert [file.path for file in listing.files] == [b"1.txt", b"2/hard.txt", b"b.txt"]
    assert kinds(listing) == {b"2/a.txt": "link"}


def test_files_of_several_sources_are_of_the_first_that_reads_them_so(tmp_path: Path) -> None:
    for name in ("a/x.txt", "a/b/y.txt", "a/b/c/z.txt", "d/x.txt", "ab/x.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to(tmp_path / "a")

    def named(*given: tuple[str, str]) -> dict[str, list[bytes]]:
        sources = [
            Source.model_validate({"name": str(at), "path": tmp_path / path, "documents": documents})
            for at, (path, documents) in enumerate(given)
        ]
        found = sorted(named_before([discover(source) for source in sources]))
        return {name: [path for of, path in found if of == name] for name, _ in found}

    assert named(("a/b", "file"), ("a", "file")) == {"1": [b"b/c/z.txt", b"b/y.txt"]}
    assert named(("a", "file"), ("a/b/c", "file"), ("d", "file"), ("link", "line"), ("link/x.txt", "file")) == {
        "1": [b"z.txt"],
        "4": [b"x.txt"],
    }
    assert named(("a/x.txt", "file"), ("a/x.txt", "file"), ("a/x.txt", "line")) == {"1": [b"x.txt"]}
    assert named(("a", "file"), ("ab", "file"), ("d", "file")) == {}
