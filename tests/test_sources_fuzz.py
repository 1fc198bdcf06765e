"""Whatever the bytes, a reader does not fail, loses no line, and does not care how the file is cut."""

import bz2
import gzip
import itertools
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backports import zstd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sources_tools import read_bytes

from mrprep.sources import json_values, jsonl, lines, pieces

CRUMBS = [
    b'{"text":"a"}',
    b'{"text":"\xe4\xb8\xad"}',
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
]
CRUMBS += [
    b"\\",
    b"\\\\",
    b'\\"',
    b"\xff",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b"\xef\xbb\xbf",
    b"\0",
    b"null",
    b"1",
    b"text",
    b"\xe4\xb8",
]
BYTES = st.one_of(st.lists(st.sampled_from(CRUMBS), max_size=60).map(b"".join), st.binary(max_size=200))
FUZZ = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)


@FUZZ
@given(data=BYTES)
def test_every_line_of_jsonl_is_a_document_or_a_bad_record(tmp_path: Path, data: bytes) -> None:
    reading = read_bytes(tmp_path, data, encoding="utf-8")
    if jsonl.not_lines(data):
        assert reading.problems
        assert not reading.documents
        return
    wanted = [i for i, line in enumerate(data.split(b"\n"), 1) if line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n")]
    assert sorted(item.place.line for item in [*reading.documents, *reading.bad]) == wanted


@FUZZ
@given(data=BYTES, unit=st.integers(1, 80), name=st.sampled_from(["a.jsonl", "a.txt"]))
def test_the_result_does_not_depend_on_the_cuts(tmp_path: Path, data: bytes, unit: int, name: str) -> None:
    whole = read_bytes(tmp_path, data, name, documents="line")
    cut = read_bytes(tmp_path, data, name, unit, documents="line")
    assert cut.documents == whole.documents
    assert cut.bad == whole.bad
    assert {note.problem for note in cut.notes} == {note.problem for note in whole.notes}
    assert sum(note.replaced for note in cut.notes) == sum(note.replaced for note in whole.notes)


@FUZZ
@given(
    data=BYTES,
    name=st.sampled_from(["a.txt", "a.md", "a.json", "a.parquet", "a.jsonl.gz", "a.txt.zst", "a.md.bz2", "a.json.xz"]),
)
@pytest.mark.parametrize("documents", ["file", "blank-line"])
def test_no_bytes_make_a_reader_fail(tmp_path: Path, data: bytes, name: str, documents: str) -> None:
    read_bytes(tmp_path, data, name, documents=documents)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress,
    "zst": lambda data: zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}),
}  # fmt: skip


@FUZZ
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), data=st.data())
@pytest.mark.parametrize("codec", COMPRESS)
def test_a_flipped_bit_never_passes_unseen(
    tmp_path: Path, codec: str, at: float, bit: int, data: st.DataObject
) -> None:
    texts = data.draw(st.lists(st.text(st.characters(codec="ascii"), max_size=30), min_size=1, max_size=20))
    plain = b"".join(json.dumps({"text": text}).encode() + b"\n" for text in texts)
    packed = bytearray(COMPRESS[codec](plain))
    packed[int(at * len(packed))] ^= 1 << bit
    reading = read_bytes(tmp_path, bytes(packed), f"a.jsonl.{codec}", encoding="utf-8")
    assert reading.problems or reading.texts == texts


@FUZZ
@given(at=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_a_changed_byte_of_parquet_does_no_harm(tmp_path: Path, at: float, byte: int) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": ["one", None, "三"] * 20}), sink, row_group_size=10)
    packed = bytearray(sink.getvalue().to_pybytes())
    packed[int(at * len(packed))] = byte
    read_bytes(tmp_path, bytes(packed), "a.parquet")


def blocks_of(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


@FUZZ
@given(data=BYTES, size=st.integers(1, 40), limit=st.integers(0, 60))
def test_lines_do_not_depend_on_the_blocks(data: bytes, size: int, limit: int) -> None:
    limit = max(limit, size)
    found = [
        (item.offset, item.line, item.size) if isinstance(item, lines.TooLong) else item
        for item in lines.numbered(lines.batches(blocks_of(data, size), 100, 7, limit))
    ]
    offset, wanted = 100, []
    for line, raw in enumerate(data.split(b"\n"), 7):
        wanted.append((offset, line, raw if len(raw) <= limit else len(raw)))
        offset += len(raw) + 1
    if wanted[-1][2] == b"":
        wanted.pop()
    assert found == wanted


@FUZZ
@given(data=BYTES, size=st.integers(1, 40), limit=st.integers(16, 60))
def test_pieces_are_whole_characters_and_lose_nothing(data: bytes, size: int, limit: int) -> None:
    found = list(pieces.pieces(blocks_of(data, size), limit=limit))
    assert b"".join(found) == data
    assert found == list(pieces.pieces([data], limit=limit))
    assert all(0 < len(piece) <= limit for piece in found) or not data
    text = data.decode("utf-8", "ignore").encode()
    assert "".join(p.decode() for p in pieces.pieces([text], limit=limit)) == text.decode()


JSON = st.recursive(
    st.none() | st.integers() | st.text('a"\\,[]{}\n', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('a"\\,[]', max_size=4), inner, max_size=3),
    max_leaves=12,
)


@FUZZ
@given(values=st.lists(JSON, max_size=8), indent=st.sampled_from([None, 0, 2]), size=st.integers(1, 30))
def test_an_array_is_split_into_its_elements(values: list[object], indent: int | None, size: int) -> None:
    data = b" " + json.dumps(values, indent=indent).encode() + b"\n"
    found = list(json_values.elements(blocks_of(data, size)))
    assert [json.loads(element.raw) for element in found if isinstance(element, json_values.Element)] == values
    for element in found:
        assert isinstance(element, json_values.Element)
        assert data[element.offset :].startswith(element.raw)
        assert element.line == data[: element.offset].count(b"\n") + 1


@FUZZ
@given(data=BYTES, size=st.integers(1, 30), limit=st.integers(0, 30))
def test_elements_of_no_array_do_no_harm(data: bytes, size: int, limit: int) -> None:
    def drain(blocks: list[bytes]) -> list[object]:
        try:
            return list(json_values.elements(blocks, limit))
        except json_values.UnreadableError as error:
            return [str(error)]

    assert drain(blocks_of(b"[" + data, size)) == drain([b"[" + data])


def test_fuzz_crumbs_reach_documents(tmp_path: Path) -> None:
    every = [a + b"\n" + b for a, b in itertools.product(CRUMBS, CRUMBS)]
    assert read_bytes(tmp_path, b"\n".join(every), encoding="utf-8").documents
