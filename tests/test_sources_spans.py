"""Spans: sizes of units, what is cut, and lines that are numbered right across cuts."""

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sources_tools import read_path, units_of

from mrprep.document import Document
from mrprep.sources.read import read
from mrprep.sources.spans import unit_bytes


@pytest.mark.parametrize(
    ("total", "unit"),
    [
        (0, 2 << 20),
        (63 << 20, 2 << 20),
        (64 << 20, 4 << 20),
        (128 << 20, 8 << 20),
        (4 << 30, 8 << 20),
        ((4 << 30) + 512, 16 << 20),
        (100 << 30, 256 << 20),
        (1 << 40, 256 << 20),
    ],
)
def test_unit_is_8_mib_where_that_gives_16_to_512_of_them(total: int, unit: int) -> None:
    assert unit_bytes(total) == unit


def test_small_files_share_a_unit_in_order(tmp_path: Path) -> None:
    for i in range(10):
        (tmp_path / f"{i}.txt").write_bytes(b"x" * 3000)
    units = units_of(tmp_path, 10_000)
    assert [span.path for unit in units for span in unit] == [b"%d.txt" % i for i in range(10)]
    assert max(len(unit) for unit in units) == 1
    assert [len(unit) for unit in units_of(tmp_path, 30_000)] == [4, 4, 2]  # a file counts 4,096 on top


def test_large_jsonl_is_cut_and_large_txt_is_not(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text":"abc"}\n' * 1000)
    (tmp_path / "b.txt").write_bytes(b"line\n" * 3000)
    spans = [span for unit in units_of(tmp_path, 4000) for span in unit]
    assert [(s.start, s.stop, s.whole) for s in spans] == [
        (0, 4000, False),
        (4000, 8000, False),
        (8000, 12000, False),
        (12000, 15000, False),
        (0, 15000, True),
    ]
    assert [span.first_line for span in spans] == [1, 267, 534, 801, 1]  # 15 bytes a line
    assert pickle.loads(pickle.dumps(spans)) == spans


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("unit", [1, 7, 14, 15, 16, 100])
def test_lines_are_numbered_across_cuts(tmp_path: Path, end: bytes, unit: int) -> None:
    rows = [b'{"text":"a"}', b"", b'{"text":"bb"}', b"broken", b"  ", b'{"text":"ccc"}']
    (tmp_path / "a.jsonl").write_bytes((end or b"\n").join(rows) + end)
    reading = read_path(tmp_path, unit)
    assert [(d.text, d.place.line) for d in reading.documents] == [("a", 1), ("bb", 3), ("ccc", 6)]
    assert [r.place.line for r in reading.bad] == [4]
    data = (tmp_path / "a.jsonl").read_bytes()
    assert [d.place.offset for d in reading.documents] == [
        data.index(b'{"text":"%s"' % t) for t in (b"a", b"bb", b"ccc")
    ]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("pretty.jsonl", b'{\n "text": "a"\n}\n' * 50),
        ("array.jsonl", b"[" + b'{"text": "a"},\n' * 50 + b"{}]"),
        ("utf16.jsonl", '{"text": "a"}\n'.encode("utf-16") * 50),
        ("gb.txt", "这是一个用来测试的中文句子，里面有很多字。\n".encode("gb18030") * 20),
        ("packed.jsonl.gz", b"\x1f\x8b" + bytes(500)),
    ],
)
def test_what_is_no_plain_utf8_lines_is_not_cut(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    [[span]] = units_of(tmp_path, 64, documents="line")
    assert span.whole


def test_parquet_is_cut_between_row_groups(tmp_path: Path) -> None:
    texts = [f"row {i} " + "x" * 100 for i in range(100)]
    pq.write_table(
        pa.table({"text": texts, "n": range(100)}), tmp_path / "a.parquet", row_group_size=10, compression=None
    )
    spans = [span for unit in units_of(tmp_path, 3000) for span in unit]
    assert len(spans) > 2
    assert [s.start for s in spans] == [0, *(s.stop for s in spans[:-1])]
    assert spans[-1].stop == 100
    found = [item for span in spans for item in read(span) if isinstance(item, Document)]
    assert [d.text for d in found] == texts
    assert [d.place.line for d in found] == list(range(1, 101))


def test_a_file_that_vanishes_shrinks_or_grows_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text":"abc"}\n' * 10)
    [[whole]] = units_of(tmp_path, 4000)
    cut = [span for unit in units_of(tmp_path, 60) for span in unit]
    path.write_bytes(b'{"text":"abc"}\n' * 12)
    assert sum(isinstance(item, Document) for item in read(whole)) == 10
    assert sum(isinstance(item, Document) for span in cut for item in read(span)) == 10
    path.write_bytes(b'{"text":"abc"}\n' * 3)
    *documents, note = read(whole)
    assert len(documents) == 3 and "shrunk" in note.problem  # type: ignore[union-attr]
    assert "shrunk" in [*read(cut[-1])][-1].problem  # type: ignore[union-attr]
    path.unlink()
    for span in (whole, *cut):
        [note] = read(span)
        assert "no such file" in note.problem  # type: ignore[union-attr]
    path.mkdir()
    [note] = read(whole)
    assert "not a regular file" in note.problem  # type: ignore[union-attr]
