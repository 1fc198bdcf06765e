"""Arrow: streams and files, folders that ``datasets`` saved, bad rows by the row, bad files in one sentence."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sources_tools import Reading, read_bytes, read_path, units_of

from mrprep.plan import UNREAD
from mrprep.sources.discover import discover
from mrprep.sources.source import Source

TEXTS = ["第一", None, "", "a\nb", "😀"]
WRITERS = [pa.ipc.new_stream, pa.ipc.new_file]


def packed(
    columns: Any, new: Callable[..., Any] = pa.ipc.new_stream, batch: int = 2, codec: str | None = None
) -> bytes:
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=True)
    with new(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def read_packed(folder: Path, columns: Any, *args: Any, unit: int = 1 << 21, **options: Any) -> Reading:
    return read_bytes(folder, packed(columns, *args), "a.arrow", unit, **options)


def save_to_disk(folder: Path, parts: list[list[str | None]]) -> None:
    """Write what ``datasets`` 5.2.0 writes: the streams, and two files of JSON as they came from it."""
    folder.mkdir(parents=True)
    names = [f"data-{i:05d}-of-{len(parts):05d}.arrow" for i in range(len(parts))]
    for name, texts in zip(names, parts, strict=True):
        (folder / name).write_bytes(packed({"text": texts, "n": range(len(texts))}, batch=1000))
    state = {
        "_data_files": [{"filename": name} for name in names], "_fingerprint": "33b1b27e2dd9b960",
        "_format_columns": None, "_format_kwargs": {}, "_format_type": None, "_output_all_columns": False,
        "_split": None,
    }  # fmt: skip
    kinds = {"text": {"dtype": "string", "_type": "Value"}, "n": {"dtype": "int64", "_type": "Value"}}
    info = {"citation": "", "description": "", "features": kinds, "homepage": "", "license": ""}
    (folder / "state.json").write_text(json.dumps(state, indent=2))
    (folder / "dataset_info.json").write_text(json.dumps(info, indent=2))


def left_aside(reading: Reading) -> dict[str, str]:
    return {each.path.decode(): each.reason for each in reading.skipped}


def test_a_saved_dataset_is_its_rows(tmp_path: Path) -> None:
    save_to_disk(tmp_path / "d", [["a", None], ["中"]])
    (tmp_path / "d" / "cache-9fd2814a91fdf6b0.arrow").write_bytes(packed({"text": ["of map"]}))
    reading = read_path(tmp_path / "d")
    assert [(d.place.path, d.place.line, d.text) for d in reading.documents] == [
        (b"data-00000-of-00002.arrow", 1, "a"), (b"data-00001-of-00002.arrow", 1, "中"),
    ]  # fmt: skip
    assert [(r.place.path, r.place.line, r.reason) for r in reading.bad] == [
        (b"data-00000-of-00002.arrow", 2, "null-text")
    ]
    assert left_aside(reading) == {
        "cache-9fd2814a91fdf6b0.arrow": "is not among the files that state.json names",
        "dataset_info.json": "describes a dataset",
        "state.json": "describes a dataset",
    }


def test_a_dataset_with_splits_is_all_of_them_and_each_can_be_named(tmp_path: Path) -> None:
    save_to_disk(tmp_path / "train", [["a"]])
    save_to_disk(tmp_path / "test", [["b"]])
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    reading = read_path(tmp_path)
    assert reading.texts == ["b", "a"]
    assert not reading.bad
    assert left_aside(reading)["dataset_dict.json"] == "says which splits a dataset has"
    assert read_path(tmp_path / "train").texts == ["a"]


def test_rows_that_a_dataset_names_and_has_not_are_told(tmp_path: Path) -> None:
    save_to_disk(tmp_path / "d", [["a"], ["b"]])
    (tmp_path / "d" / "data-00001-of-00002.arrow").unlink()
    listing = discover(Source(name="s", path=tmp_path))
    [gone] = [each for each in listing.skipped if each.kind in UNREAD]
    assert (gone.path, gone.reason) == (b"d/data-00001-of-00002.arrow", "is not there, and state.json names it")


def test_the_cache_of_load_dataset_is_read_without_what_map_left(tmp_path: Path) -> None:
    save_to_disk(tmp_path / "d", [["a"]])
    (tmp_path / "d" / "state.json").unlink()
    (tmp_path / "d" / "cache-9fd2814a91fdf6b0.arrow").write_bytes(packed({"text": ["of map"]}))
    assert read_path(tmp_path / "d").texts == ["a"]


def test_other_json_of_these_names_is_text(tmp_path: Path) -> None:
    for name in ("state.json", "dataset_info.json", "dataset_dict.json"):
        (tmp_path / name).write_text('{"text": "x"}')
    assert read_path(tmp_path).texts == ["x", "x", "x"]


def test_the_real_datasets_package_writes_what_is_read(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    texts = [f"text {i} 中" for i in range(2500)]
    one = datasets.Dataset.from_dict({"text": [*texts, None], "tags": [["x"]] * 2501})
    datasets.DatasetDict(train=one, test=one.select([3, 1])).save_to_disk(
        tmp_path / "d", num_shards={"train": 3, "test": 1}
    )
    datasets.load_from_disk(tmp_path / "d" / "train").map(lambda row: {"text": "mapped"})
    reading = read_path(tmp_path / "d")
    assert reading.texts == ["text 3 中", "text 1 中", *texts]
    assert reading.reasons == ["null-text"]
    assert reading.problems == []


@pytest.mark.parametrize("new", WRITERS)
@pytest.mark.parametrize("codec", [None, "zstd", "lz4"])
@pytest.mark.parametrize(
    "kind",
    [
        pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
        pa.dictionary(pa.int32(), pa.string()),
    ],
    ids=str,
)  # fmt: skip
def test_types_of_text(tmp_path: Path, kind: pa.DataType, codec: str | None, new: Callable[..., Any]) -> None:
    plain = pa.array([t if t is None else t.encode() for t in TEXTS]) if "binary" in str(kind) else pa.array(TEXTS)
    reading = read_packed(tmp_path, {"n": range(5), "text": plain.cast(kind)}, new, 2, codec)
    assert reading.texts == ["第一", "", "a\nb", "😀"]
    assert [d.place.line for d in reading.documents] == [1, 3, 4, 5]
    assert [d.place.offset for d in reading.documents] == [0, 2, 3, 4]
    assert [(r.reason, r.place.line) for r in reading.bad] == [("null-text", 2)]
    assert not reading.problems


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()], ids=str)
@pytest.mark.parametrize("dictionary", [False, True])
def test_what_is_not_utf8_costs_its_row(tmp_path: Path, kind: pa.DataType, dictionary: bool) -> None:
    large = kind == pa.large_string()
    raw = pa.array([b"ok", b"\xff", "中".encode()], pa.large_binary() if large else pa.binary()).view(kind)
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), raw) if dictionary else raw
    reading = read_packed(tmp_path, {"text": column})
    assert reading.texts == ["ok", "中"]
    assert [(r.reason, r.place.line) for r in reading.bad] == [("bad-utf8", 2)]


def test_nested_and_several_columns_and_scores(tmp_path: Path) -> None:
    meta = [{"title": "T", "in": {"body": "B"}}, None, {"title": None, "in": {"body": "C"}}]
    columns = {"x": [[1], None, [2]], "meta": meta, "a.b": ["x", None, "z"], "rank": [1, 2, None]}
    reading = read_packed(tmp_path, columns, text=("meta.title", "meta.in.body", "a.b"), score="rank")
    assert reading.texts == ["T\n\nB\n\nx", "C\n\nz"]
    assert [d.score for d in reading.documents] == [1.0, None]
    assert reading.reasons == ["null-text"]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"text": [1, 2]}, 'column "text" is int64, not text'),
        ({"txt": ["a"], "m": [{"b": "c"}]}, 'has no column "text"; columns there: "txt", "m.b"'),
    ],
)
def test_a_file_without_text_is_one_problem(tmp_path: Path, columns: dict[str, Any], problem: str) -> None:
    assert read_packed(tmp_path, columns).problems == [problem]


@pytest.mark.parametrize("new", WRITERS)
@pytest.mark.parametrize("codec", [None, "zstd"])
def test_a_cut_file_holds_the_same_rows(tmp_path: Path, new: Callable[..., Any], codec: str | None) -> None:
    texts = [random.Random(i).randbytes(40).hex() if i % 7 else None for i in range(3000)]
    whole = read_packed(tmp_path, {"text": texts}, new, 100, codec)
    cut = read_path(tmp_path / "a.arrow", 1 << 15)
    assert cut.documents == whole.documents
    assert cut.bad == whole.bad
    assert len(whole.documents) == sum(text is not None for text in texts)
    units = units_of(tmp_path / "a.arrow", 1 << 15)
    assert len(units) > 4
    assert [span.first_line - 1 for unit in units for span in unit] == [span.start for unit in units for span in unit]


def test_a_stream_that_breaks_off_is_told_wherever_it_does(tmp_path: Path) -> None:
    """Also where Arrow itself sees nothing wrong: between two batches."""
    data = packed({"text": ["one", "two", "three", "four"]})
    for stop in range(len(data)):
        reading = read_bytes(tmp_path, data[:stop], "a.arrow")
        assert len(reading.problems) == 1, stop
        assert reading.texts == ["one", "two", "three", "four"][: len(reading.texts)]
    assert read_bytes(tmp_path, data, "a.arrow").problems == []
    assert "after the end" in read_bytes(tmp_path, data + data, "a.arrow").problems[0]


def test_old_streams_end_without_a_continuation_mark(tmp_path: Path) -> None:
    table = pa.table({"text": ["one"]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(use_legacy_format=True)) as writer:
        writer.write_table(table)
    reading = read_bytes(tmp_path, sink.getvalue().to_pybytes(), "a.arrow")
    assert (reading.texts, reading.problems) == (["one"], [])


def test_broken_files(tmp_path: Path) -> None:
    for data in (b"", b"ARROW1", b"ARROW1" + bytes(100) + b"ARROW1", b"no arrow at all", b"\xff\xff\xff\xff" * 9):
        assert "no readable Arrow file" in read_bytes(tmp_path, data, "a.arrow").problems[0]


@pytest.mark.parametrize("new", WRITERS)
def test_no_damage_makes_reading_raise_or_lose_rows_without_a_word(tmp_path: Path, new: Callable[..., Any]) -> None:
    texts = ["one", None, "三", "four"]
    sound = packed({"text": pa.array(texts), "n": range(4)}, new)
    flip = random.Random(5)
    for _ in range(150):
        data = bytearray(sound)
        data[flip.randrange(len(data))] ^= 1 << flip.randrange(8)
        for unit in (1, 1 << 21):
            reading = read_bytes(tmp_path, bytes(data), "a.arrow", unit)
            assert len(reading.documents) + len(reading.bad) >= 4 or reading.problems


def test_rows_of_nothing_without_end_are_damage(tmp_path: Path) -> None:
    data = packed({"text": pa.nulls(3)}, batch=9)
    assert read_bytes(tmp_path, data, "a.arrow").reasons == ["null-text"] * 3
    endless = data.replace((3).to_bytes(8, "little"), (1 << 40).to_bytes(8, "little"))
    assert "damaged at row 1" in read_bytes(tmp_path, endless, "a.arrow").problems[0]


def test_memory_is_rows_and_not_a_batch(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "a.arrow"
    path.write_bytes(packed({"text": ["x" * 1000] * 10_000}, batch=10_000))
    before, peak = pa.total_allocated_bytes(), 0
    (unit,) = units_of(path, 1 << 30)
    from mrprep.sources.read import read

    tracemalloc.start()
    for item in read(unit[0]):
        peak = max(peak, pa.total_allocated_bytes() - before)
        assert item
    assert peak + tracemalloc.get_traced_memory()[1] < 3 << 20
    tracemalloc.stop()
