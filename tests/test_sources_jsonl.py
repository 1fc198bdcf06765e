"""JSON Lines and .json: one bad record costs itself, and is told with its place and reason."""

import json
from pathlib import Path

import pytest
from sources_tools import read_bytes

from mrprep.sources import jsonl


@pytest.mark.parametrize(
    ("line", "reason", "message"),
    [
        (b'{"text": "missing quote}', "bad-json", "not JSON: Unterminated string starting at character 10"),
        (b'{"text":"a"}{"text":"b"}', "bad-json", "more than one value on the line: the second begins at character 13"),
        (b'{"text": "\xff"}', "bad-utf8", "byte 11 of the record, 0xFF, is not UTF-8"),
        (b"[" * 100_000, "bad-json", "the record is nested too deeply"),
        (b"12", "not-object", "the record is a number, not an object"),
        (b"null", "not-object", "the record is null, not an object"),
        (b'"text"', "not-object", "the record is a string, not an object"),
        (b'["text"]', "not-object", "the record is a list, not an object"),
        (b"{}", "no-text", '"text" is missing; fields there: none'),
        (b'{"txt":"a","id":"\x1b"}', "no-text", '"text" is missing; fields there: "txt", "id"'),
        (b'{"\\u001b[2J":1}', "no-text", '"text" is missing; fields there: "\\x1b[2J"'),
        (b'{"text":null}', "null-text", '"text" is null'),
        (b'{"text":1}', "number-text", '"text" is a number, not text'),
        (b'{"text":1.5}', "number-text", '"text" is a number, not text'),
        (b'{"text":true}', "bool-text", '"text" is true or false, not text'),
        (b'{"text":["a"]}', "list-text", '"text" is a list, not text'),
        (b'{"text":{"zh":"a"}}', "object-text", '"text" is an object, not text'),
    ],
)
def test_a_bad_line_costs_itself(tmp_path: Path, line: bytes, reason: str, message: str) -> None:
    reading = read_bytes(tmp_path, b'{"text":"before"}\n' + line + b'\n{"text":"after"}\n')
    assert reading.texts == ["before", "after"]
    [bad] = reading.bad
    assert (bad.reason, bad.message) == (reason, message)
    assert (bad.place.line, bad.place.offset) == (2, 18)
    assert not reading.problems


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"text":"x","n":NaN}', "x"),
        (b'{"text":"x","n":-Infinity,"m":1e999}', "x"),
        (b'{"text":"x","n":' + b"9" * 10_000 + b"}", "x"),
        (b'{"text":"one","text":"two"}', "two"),
        (b'{"text":"a\tb\x01"}', "a\tb\x01"),
        (b'{"text":"\\ud83d\\ude00"}', "😀"),
        (b'{"text":"\\ud83d!"}', "\ufffd!"),
        (b'{"text":"\\ude00\\ud83d"}', "\ufffd\ufffd"),
        (b'\xef\xbb\xbf{"text":"a"}', "a"),
        (b' \t{"text":"a"} \r', "a"),
        (b'{"text":"\xe2\x80\xa8\xe2\x80\xa9\xc2\x85\x0b\x0c"}', "\u2028\u2029\x85\x0b\x0c"),
        (b'{"text":""}', ""),
        (b'{"text":" \\n"}', " \n"),
    ],
)
def test_lines_that_people_have_are_read(tmp_path: Path, line: bytes, text: str) -> None:
    reading = read_bytes(tmp_path, b'{"text":"before"}\n' + line)
    assert reading.texts == ["before", text]
    assert not reading.bad


def test_lone_surrogates_are_counted(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, b'{"text":"\\ude00\\ud83d ok"}').notes[0].replaced == 2


def test_nested_and_several_fields(tmp_path: Path) -> None:
    rows = [
        {"title": "T", "meta": {"body": "B"}},
        {"title": None, "meta": {"body": "B"}},
        {"meta.body": "flat", "meta": {"body": "deep"}},
        {"title": None, "meta": {"body": None}},
        {"title": 3, "meta": {"body": "B"}},
        {"meta": "B"},
    ]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    reading = read_bytes(tmp_path, data, text=("title", "meta.body"))
    assert reading.texts == ["T\n\nB", "B", "flat"]
    assert reading.reasons == ["null-text", "number-text", "no-text"]
    assert reading.bad[2].message == '"title", "meta.body" is missing; fields there: "meta"'


@pytest.mark.parametrize(
    "data",
    [
        b'{\n  "text": "a"\n}\n',
        b'{"text": "a",\n "id": 1}\n{"text": "b",\n "id": 2}\n',
        b'\xef\xbb\xbf\r\n{\r\n "text": "a"\r\n}',
        b'[\n{"text": "a"},\n{"text": "b"}\n]\n',
        b'[{"text": "a"},\n {"text": "b"}]',
        b'[{"text": "a"}, {"text": "b"}]\n',
    ],
)
def test_json_that_is_not_lines_is_one_problem(tmp_path: Path, data: bytes) -> None:
    reading = read_bytes(tmp_path, data)
    assert not reading.documents
    assert not reading.bad
    [problem] = reading.problems
    assert "not JSON Lines" in problem


@pytest.mark.parametrize(
    "data", [b'{"text": "a}\n{"text": "b"}\n', b"{\n", b"[1, 2]\n[3]\n", b'{"text"\n', b"plain text\nmore\n", b""]
)
def test_broken_lines_are_still_lines(data: bytes) -> None:
    assert jsonl.not_lines(data) == "" or data == b"{\n"


@pytest.mark.parametrize(
    "data",
    [
        b'[{"text": "a"}, {"text": "b"}]',
        b'\xef\xbb\xbf [\n {"text": "a"},\n {"text": "b"}\n]\n',
        b'{"text": "a"}\n{"text": "b"}\n',
        b'[{"text": "a"},, {"text": "b"},]',
    ],
)
def test_json_files_hold_arrays_or_lines(tmp_path: Path, data: bytes) -> None:
    reading = read_bytes(tmp_path, data, "a.json")
    assert reading.texts == ["a", "b"]
    assert not reading.bad
    assert not reading.problems
    for document in reading.documents:
        assert (
            data[document.place.offset :].lstrip(b"\xef\xbb\xbf").startswith(b'{"text": "%s"}' % document.text.encode())
        )
        assert document.place.line == data[: document.place.offset].count(b"\n") + 1


def test_a_json_file_may_be_one_record(tmp_path: Path) -> None:
    assert read_bytes(tmp_path, b'{\n "text": "a"\n}\n', "a.json").texts == ["a"]
    reading = read_bytes(tmp_path, b'{\n "text": "a",,\n}\n', "a.json")
    assert "no single JSON value" in reading.problems[0]


def test_an_array_that_ends_early_keeps_what_was_whole(tmp_path: Path) -> None:
    reading = read_bytes(tmp_path, b'[{"text": "a"}, {"text": bad}, {"text": "b"}, {"text": "c', "a.json")
    assert reading.texts == ["a", "b"]
    assert reading.reasons == ["bad-json"]
    assert reading.problems == ["ends in the middle of its JSON array"]
    reading = read_bytes(tmp_path, b'[{"text": "a"}]\n[{"text": "b"}]', "a.json")
    assert reading.texts == ["a"]
    assert reading.problems == ["has text after its JSON array, which is not read"]


@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize("block", [24, 25, 26, 27, 31, 1 << 16])
def test_long_strings_are_read_as_short_ones(
    tmp_path: Path, escaped: bool, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long ones are left out of what is parsed and read by blocks: the documents and bad records are the same."""
    text = 'a\\\\"quoted"\n\u5929\u5730\U0001f600\U0001f601\ud83d lone \\\\\\u0041 \ude00' * 7 + "\\" * 40
    records = [
        {"text": text},
        {"text": "s", "more": text * 2},
        {"more": 1, "text": [text]},
        {"long<0>": text, "text": text},
    ]
    lines = [json.dumps(record, ensure_ascii=escaped).encode("utf-8", "surrogatepass") for record in records]
    lines += [lines[0][:-20], lines[0].replace(b"lone", b"l\\xe"), lines[0].replace(b"lone", b"l\xff\x01e"), b"[1]"]
    data = b"\n".join(lines)
    wanted = read_bytes(tmp_path, data, text=("text", "more"))
    monkeypatch.setattr("mrprep.sources.jsonl.MAX_PIECE", 1)
    monkeypatch.setattr("mrprep.sources.long_json.LONG", 30)
    monkeypatch.setattr("mrprep.sources.long_json._BLOCK", block)
    found = read_bytes(tmp_path, data, text=("text", "more"))
    assert found.texts == wanted.texts and found.reasons == wanted.reasons
    assert [note.replaced for note in found.notes] == [note.replaced for note in wanted.notes]
    assert len(wanted.texts) == (3 if escaped else 0) and len(found.bad) == (5 if escaped else 8)
