"""Text files: a file, a line or a stretch is a document; long ones come in pieces."""

import json
from pathlib import Path

import pytest
from sources_tools import read_bytes

from mrprep.sources import lines, pieces, plain
from mrprep.sources.found import Found

MB = 1 << 20


def test_a_file_is_a_document_as_it_stands(tmp_path: Path) -> None:
    text = "  a\r\nb\n\n\x0cc\u2028 "
    [document] = read_bytes(tmp_path, b"\xef\xbb\xbf" + text.encode(), "a.md").documents
    assert document.text == text
    assert (document.place.offset, document.place.line, document.place.piece) == (0, 1, 0)


def test_empty_and_blank_files_are_documents_too(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, b"", "a.txt").texts == [""]
    assert read_bytes(tmp_path, b" \n", "a.txt").texts == [" \n"]
    assert read_bytes(tmp_path, b"", "a.txt", documents="line").texts == []


def test_lines(tmp_path: Path) -> None:
    data = "\ufeffone\r\n\n  \n二\u2028two\x0c\nthree".encode()
    reading = read_bytes(tmp_path, data, "a.txt", documents="line")
    assert reading.texts == ["one", "二\u2028two\x0c", "three"]
    assert [d.place.line for d in reading.documents] == [1, 4, 5]
    assert [d.place.offset for d in reading.documents] == [0, data.index("二".encode()), data.index(b"three")]


def test_stretches(tmp_path: Path) -> None:
    data = b"\n\na\r\nb\r\n\r\nc\n \t \n\n  d\ne"
    reading = read_bytes(tmp_path, data, "a.txt", documents="blank-line")
    assert reading.texts == ["a\r\nb", "c", "  d\ne"]
    assert [d.place.line for d in reading.documents] == [3, 6, 9]
    assert [d.place.offset for d in reading.documents] == [2, data.index(b"c"), data.index(b"  d")]


def test_a_stretch_over_the_limit_is_a_bad_record(tmp_path: Path) -> None:
    read_bytes(tmp_path, b"", "a.txt")
    [[span]] = __import__("sources_tools").units_of(tmp_path, 100, documents="blank-line")
    batches = lines.batches([b"ok\n\nlong\nlonger\nlongest\n\nok too\n"])
    items = list(plain.read_stretches(span, batches, Found(), limit=12))
    assert [getattr(item, "text", None) or item.reason for item in items] == ["ok", "too-long", "ok too"]  # type: ignore[union-attr]
    assert items[1].place.line == 3


@pytest.mark.parametrize(
    ("unit", "ending"),
    [
        ("段落里的一句话。\n\n", "\n\n"),
        ("a paragraph.\r\n\r\n", "\n\r\n"),
        ("only lines here\n", "\n"),
        ("无", "无"),
        ("x", "x"),
    ],
)
def test_long_texts_come_in_pieces(tmp_path: Path, unit: str, ending: str) -> None:
    text = unit * (20 * MB // len(unit.encode()))
    for name, data in (("a.txt", text), ("a.jsonl", json.dumps({"text": text}))):
        found = read_bytes(tmp_path, data.encode(), name).documents
        assert [d.place.piece for d in found] == list(range(len(found)))
        assert {(d.place.offset, d.place.line) for d in found} == {(0, 1)}
        assert "".join(d.text for d in found) == text
        assert all(8 * MB <= len(d.text.encode()) <= 16 * MB and d.text.endswith(ending) for d in found[:-1])


def test_a_text_of_just_16_mb_is_one_piece() -> None:
    assert [len(p) for p in pieces.pieces([b"x" * (16 * MB)])] == [16 * MB]
    assert [len(p) for p in pieces.pieces([b"x" * (16 * MB + 1)])] == [12 * MB, 4 * MB + 1]
    assert [d.place.piece for d in pieces.documents("s", b"p", 5, 2, "é" * (8 * MB + 1))] == [0, 1]
