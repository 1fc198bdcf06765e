"""Parquet: every way to store text, bad rows by the row, bad files in one sentence."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sources_tools import Reading, read_bytes, read_path

TEXTS = ["第一", None, "", "a\nb", "😀"]


def write_and_read(folder: Path, columns: dict[str, Any], **options: Any) -> Reading:
    pq.write_table(pa.table(columns), folder / "a.parquet", row_group_size=2)
    return read_path(folder / "a.parquet", **options)


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
        pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.large_string()),
    ],
    ids=str,
)  # fmt: skip
def test_types_of_text(tmp_path: Path, kind: pa.DataType) -> None:
    plain = pa.array([t if t is None else t.encode() for t in TEXTS]) if "binary" in str(kind) else pa.array(TEXTS)
    reading = write_and_read(tmp_path, {"n": range(5), "text": plain.cast(kind)})
    assert reading.texts == ["第一", "", "a\nb", "😀"]
    assert [d.place.line for d in reading.documents] == [1, 3, 4, 5]
    assert [d.place.offset for d in reading.documents] == [0, 2, 3, 4]
    assert [(r.reason, r.place.line) for r in reading.bad] == [("null-text", 2)]
    assert not reading.problems


@pytest.mark.parametrize("kind", [pa.binary(), pa.dictionary(pa.int32(), pa.binary())], ids=str)
def test_bytes_that_are_not_utf8_cost_their_row(tmp_path: Path, kind: pa.DataType) -> None:
    reading = write_and_read(tmp_path, {"text": pa.array([b"ok", b"\xff", b"\xe4\xb8\xad"]).cast(kind)})
    assert reading.texts == ["ok", "中"]
    assert [(r.reason, r.place.line) for r in reading.bad] == [("bad-utf8", 2)]


def test_strings_that_are_not_utf8_cost_their_row(tmp_path: Path) -> None:
    bad = pa.array([b"ok", b"\xff", "中".encode()]).view(pa.string())
    reading = write_and_read(tmp_path, {"text": bad})
    assert reading.texts == ["ok", "中"]
    assert reading.reasons == ["bad-utf8"]


def test_nested_and_several_columns(tmp_path: Path) -> None:
    meta = [{"title": "T", "in": {"body": "B"}}, None, {"title": None, "in": {"body": "C"}}]
    reading = write_and_read(
        tmp_path, {"meta": meta, "a.b": ["x", None, "z"]}, text=("meta.title", "meta.in.body", "a.b")
    )
    assert reading.texts == ["T\n\nB\n\nx", "C\n\nz"]
    assert reading.reasons == ["null-text"]


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ({"text": [1, 2]}, 'column "text" is int64, not text'),
        ({"text": [["a"]]}, 'column "text" is list<element: string>, not text'),
        ({"text": [{"zh": "a"}]}, 'column "text" is struct<zh: string>, not text'),
        ({"txt": ["a"], "m": [{"b": "c"}]}, 'has no column "text"; columns there: "txt", "m.b"'),
    ],
)
def test_a_file_without_text_is_one_problem(tmp_path: Path, column: dict[str, Any], problem: str) -> None:
    reading = write_and_read(tmp_path, column)
    assert not reading.documents
    assert not reading.bad
    assert reading.problems == [problem]


def test_no_rows_and_only_nulls(tmp_path: Path) -> None:
    assert write_and_read(tmp_path, {"text": pa.array([], pa.string())}).problems == []
    assert write_and_read(tmp_path, {"text": pa.nulls(3)}).reasons == ["null-text"] * 3


def test_broken_files(tmp_path: Path) -> None:
    for data in (b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1", b"no parquet at all"):
        reading = read_bytes(tmp_path, data, "a.parquet")
        assert "no readable Parquet file" in reading.problems[0]


def test_rows_before_a_damaged_page_are_kept(tmp_path: Path) -> None:
    texts = [f"{i} " + "x" * 2000 for i in range(2000)]
    pq.write_table(
        pa.table({"text": texts}), tmp_path / "a.parquet", row_group_size=500, compression="zstd", use_dictionary=False
    )
    data = bytearray((tmp_path / "a.parquet").read_bytes())
    place = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(2).column(0).data_page_offset
    data[place : place + 200] = bytes(200)
    reading = read_bytes(tmp_path, bytes(data), "a.parquet")
    assert reading.texts == texts[: len(reading.texts)]
    assert len(reading.texts) >= 750
    assert "damaged" in reading.problems[0]
