"""Every case of the shared folder gives the answer of its expect.json."""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED
from sources_tools import Reading, read_path

CASES = SHARED / "cases"

pytestmark = pytest.mark.skipif(not CASES.is_dir() and "CI" not in os.environ, reason=f"needs the cases at {CASES}")
FOLDERS = sorted(path.parent for path in CASES.glob("*/expect.json"))
MAY_BE_REPORTED = {"01-gb18030-txt", "02-big5-txt"}  # INDEX.md: exact text, or reported; never mojibake
BLANK = " \t\n\u3000\u200b"
IN_TAR = ["27-file-names", "28-symlinks", "29-unreadable-special"]


def of_file(reading: Reading, name: str, line: int | None = None) -> list[str]:
    """What a file, or one line of it, gave."""
    path = os.fsencode(name)
    return [d.text for d in reading.documents if d.place.path == path and (line is None or d.place.line == line)]


def is_reported(reading: Reading, name: str, line: int | None = None) -> bool:
    path = os.fsencode(name)
    if any(note.path == path and (note.problem or note.replaced) for note in reading.notes):
        return True
    if line is None and any(path == each.path or path.startswith(each.path + b"/") for each in reading.skipped):
        return True
    return any(r.place.path == path and (line is None or r.place.line == line) for r in reading.bad)


def is_answer(text: str, expected: dict[str, Any]) -> bool:
    if "sha256" in expected:
        return len(text) == expected["chars"] and hashlib.sha256(text.encode()).hexdigest() == expected["sha256"]
    answers = [expected.get("text"), expected.get("alt_text"), expected.get("alt")]
    return text in [*answers, *expected.get("alt_texts", [])]


def check(reading: Reading, expect: dict[str, Any]) -> None:
    missing = [
        expected
        for expected in expect["docs"]
        if not any(is_answer(text, expected) for text in of_file(reading, expected["file"], expected.get("line")))
        and not (expected.get("or_report") and is_reported(reading, expected["file"], expected.get("line")))
        and not (expected.get("may_drop") and is_reported(reading, expected["file"]))
    ]
    silent = [
        error
        for error in expect["errors"]
        if not error.get("optional")
        and not is_reported(reading, error["file"], error.get("line"))
        and not any(is_answer(text, error) for text in of_file(reading, error["file"], error.get("line")))
    ]
    known = [*expect["docs"], *expect["errors"]]
    copies = {expected.get("text") for expected in expect["docs"]}
    unexpected = [
        document
        for document in reading.documents
        if document.text.strip(BLANK)
        and document.text not in copies
        and not any(
            is_answer(document.text, each) or is_reported(reading, each["file"])
            for each in known
            if os.fsencode(each["file"]) == document.place.path and each.get("line") in {None, document.place.line}
        )
    ]
    assert not missing
    assert not silent
    assert not unexpected


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_case_gives_its_answer(folder: Path) -> None:
    expect = json.loads((folder / "expect.json").read_text("utf-8"))
    reading = read_path(folder / "in")
    if "n_in" in expect:
        assert len(reading.texts) == expect["n_in"]
        assert len(set(reading.texts)) == expect["distinct_texts"]
        return
    if folder.name in MAY_BE_REPORTED:
        for expected in expect["docs"]:
            expected["or_report"] = expected["file"] != "utf8.txt"
    check(reading, expect)
    if "cut_complete_lines" in expect:
        assert len(of_file(reading, "cut.jsonl.gz")) == expect["cut_complete_lines"]


@pytest.fixture(scope="module")
def unpacked() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name, tarfile.open(CASES / "names-links-special.tar") as tar:
        tar.extractall(name, filter="fully_trusted")  # it holds a pipe and odd names on purpose
        Path(name).chmod(0o755)  # another user reads it below
        yield Path(name)


@pytest.mark.parametrize("name", IN_TAR)
def test_case_of_the_tar_gives_its_answer(unpacked: Path, name: str) -> None:
    expect = json.loads((unpacked / name / "expect.json").read_text("utf-8"))
    reading = read_path(unpacked / name / "in")
    if name == "29-unreadable-special" and os.geteuid() == 0:
        assert is_reported(reading, "pipe.txt")  # root may read all the rest
        assert "readable neighbour" in reading.texts
        return
    check(reading, expect)


AS_NOBODY = """
import os, sys
from pathlib import Path
from mrprep.sources.discover import discover
from mrprep.sources.source import Source
source = Source(name="s", path=Path(sys.argv[1]))
os.setgroups([])
os.setuid(65534)
listing = discover(source)
print(sorted(os.fsdecode(file.path) for file in listing.files))
print(sorted((os.fsdecode(each.path), each.kind) for each in listing.skipped))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_another_user_cannot_read_is_named(unpacked: Path) -> None:
    folder = unpacked / "29-unreadable-special/in"
    done = subprocess.run([sys.executable, "-c", AS_NOBODY, folder], capture_output=True, text=True, check=True)
    files, skipped = done.stdout.splitlines()
    assert files == "['dir.txt/inside.txt', 'ok.txt']"
    assert skipped == "[('locked', 'unreadable'), ('pipe.txt', 'special'), ('secret.txt', 'unreadable')]"


@pytest.mark.parametrize(
    ("name", "encoding"), [("01-gb18030-txt", "gb18030"), ("02-big5-txt", "big5hkscs"), ("01-gb18030-txt", "cp936")]
)
def test_told_encodings_give_exact_texts(name: str, encoding: str) -> None:
    folder = CASES / name
    for expected in json.loads((folder / "expect.json").read_text("utf-8"))["docs"]:
        if expected["file"] == "utf8.txt" or (encoding == "cp936" and expected["file"] == "gb18030.txt"):
            continue
        assert read_path(folder / "in" / expected["file"], encoding=encoding).texts == [expected["text"]]


def test_nested_column_is_read_by_its_path() -> None:
    reading = read_path(CASES / "25-parquet-types/in/nested.parquet", text="doc.text")
    assert reading.texts == ["inside struct"]
