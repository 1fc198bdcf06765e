"""Parquet: every way to store text, bad rows by the row, bad files in one sentence."""

import base64
import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sources_tools import Reading, read_bytes, read_path

from mrprep.document import FileNote
from mrprep.sources import columns as table_columns
from mrprep.sources import parquet
from mrprep.sources.columns import rows_at_a_time
from mrprep.sources.discover import discover
from mrprep.sources.read import read
from mrprep.sources.source import Source
from mrprep.sources.spans import cut

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


def test_of_several_fields_those_that_are_there_are_read_as_in_jsonl(tmp_path: Path) -> None:
    fields = ("title", "text", "body")
    reading = write_and_read(tmp_path, {"text": ["x", None], "title": ["t", "u"]}, text=fields)
    assert reading.texts == ["t\n\nx", "u"]
    lines = b'{"text":"x","title":"t"}\n{"text":null,"title":"u"}\n'
    assert read_bytes(tmp_path, lines, text=fields).texts == reading.texts
    (problem,) = write_and_read(tmp_path, {"other": ["x"]}, text=fields).problems
    assert problem == 'has no column "title", "text", "body"; columns there: "other"'


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


FOUND_BY_FUZZING = {
    "abort": (
        "ABzY8000000t2Pe!D_-l5C-7c?XXA?iie$MAqOumIYg-ia|(iY58_e0BsS6>tTv`?dh0{<G5Q33j-"
        "EaG9Gy*twqU(<FS9V2e?HhuM$^6qJ=DYK!sCn5Du^KznJ>~-"
        "3;1Lj&3FL5+AePLRjLtmvm<>h^Q!E?IN(pXi>tg$wLJ8)_4V_iN4`l+WFgQ^(@|i)1~rgJ6;-"
        "y8{Mcp!767Lt<QZiwcpUIO8rDnd@OpkpOZy^{80&!ScYxx67(qG0PLO9CT;POcFaAN9)7<W4602hrbQA^XC?Afp7hI29kY+Tq?`M"
        "Blu(sd{3(}OP_7#&@9<xYikszJrO%U=bt`N32X>tFMm)*r?(@l$F{nUQUi|y_Du6;G=UH1AW;@5N!dd{;G{%bw~*c<+hIsyOy"
    ),
    "unicode": (
        "ABzY8000000t0=LF;Buk6o6l^mkS{{U~-opsR;|04uyz@PF>g;2s2BIB|1Q{RK?9jqyNL%*`MIAa4?3+AK|;UhJt~ly_ep-_uY4W"
        "H|&qP9Jt3lmzyDQ#+mI=$NYYOvCMcL)$0I2@HLN29OHSO!5kyBj4)f(^X4-"
        "c7{Y8oUV}GWPI<v21rLV}kLWs_!6b`YTiM9&m)Im{b1DZtu-I~P8O;Jtf!A8ZqG_~BTQIOOrH7xhC=EC%*24JWzE~5M^rfr7<~7-"
        "3AoD^FqAFHmr7Hf;siloRfFxfWOC}X%2-"
        "%c7*+$t08DlD@>cP;EzaLWqFa&rMG(mhCqN*wwV2{m{fsa}vi|iA!v=FHr6dH@M`XPR)QzZb^LJX)D`qDyc1LHrV=SM`*4E169=i"
        "6=EIiDirfDaWTF;cJ8&%3+pL$nXc?uB?W1jX$zg40|C$@NW?wkL~4J4llFu6Y|J%d2?aJnMB%J6-8wZ*_Z5uy%-"
        "d`4{9R$$iiQ000"
    ),
    "lost-rows-cut": (
        "ABzY8000000t2O!v1$TA5Qb;hWsyS&7PH*K6^GzraY_tmbqMJ##8PbT%t=xh&1n+TrOX55G4cd?j?|VuM`lk+HliVrVrO^R`Tzfe"
        "xf@&#+X&dhUW6VUB+8%*4VL;Wsa64i)AAUjn%I&aoJbO3<Y+~qO$%+wt{VU9-"
        "jzSbrN=T!Qp1{~m4|UJ;3P2&F^o{0N)qgcwU55j%nz;k&Kia8cfgm+$#phMPykly+!w2Cy{bb$pq36@XW1%2zJE*SS5Nyl<?C2S1"
        "_G?;x&*xwA}CL-"
        ")!LL}2T}*b0^|}aPfKmUBZF^gqX;R?3;k40%`=Og5jX~t47viOMc6RqnKEtg3(1!K17)nnX2WA=JdS~|C=!H4`LHNkM*DFVp+;(C"
        "-b*J~M8P6{VG(MmhUQho&O99hZdrKoF{n4D1Vzyfjc}3VclX(<Iaw^4NuJLi!-p(i-pp^qi%#pj)z%SB(+>2Ev;+E!J^>m-"
        "F?dP?000"
    ),
    "negative-rows": (
        "ABzY8000000t2O!!D_-l5Qb;hWsy`U9%jix4nc775TzFM6olSAh)3~~*hqV@+L*TX)?*)_kI^USbM)-"
        "7&(TSgb`_OE4?DZd&j0@(Oft9{wh^$0y#O6LNR(a|8Z35MRILI4r{yq4HOfo8cOprEfu$9NHZHWKeAW0*_on<YE<Th=k{Z@5t=x}"
        "$g`FfH{Q$+WB*Av9U39HxzHiMp)+ltp1Fl?7ZjxDq0<co&uE>&AR)@YvEgibfk}N{LeT(PU&)YZU>QDy;Jgn%t1icX=C`YZ-"
        "%9KM3QhUS#<Ps`JOKrd*gI{T*2r0}9{ZviO3k$6gSO$^|x&ma5ux83JW!m5b$rt+v%2<ufnupeSECZ3FNDw*7CsSt>Mf+hEp+;(C"
        "K1xSeM8P6Xun09&L-"
        "Qs=Yo3+?&sli!F{pQ@1Vzyf4Sx}(_YX<doGcd2C{5>2{$r9ZZ|8UZWv6w~YU_ZenGf`wv;+E!z5%k*sTN8D000"
    ),
}
"""Damaged files, gzip in base 85: one made pyarrow abort the process, one raised, two lost rows without a word."""


@pytest.mark.parametrize("name", FOUND_BY_FUZZING)
def test_damage_found_by_fuzzing_is_told_whole_and_cut(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(gzip.decompress(base64.b85decode(FOUND_BY_FUZZING[name])))
    listing = discover(Source(name="s", path=tmp_path))
    for unit in (1, 1 << 30):
        items = [item for spans in cut([listing], unit) for span in spans for item in read(span)]
        assert any("damaged" in item.problem for item in items if isinstance(item, FileNote)), unit


@pytest.mark.parametrize(("text", "name"), [("text", "text"), ("meta.text", "meta"), ("meta.text", "meta.text")])
def test_columns_of_one_name_are_told(tmp_path: Path, text: str, name: str) -> None:
    table = pa.table([pa.array(["a"]), pa.array([{"text": "b"}])], names=[name, name])
    pq.write_table(table, tmp_path / "a.parquet")
    assert read_path(tmp_path / "a.parquet", text=text).problems == [f'has several columns named "{name}"']
    others = pa.table([pa.array(["a"]), table[0], table[1]], names=["other", name, name])
    pq.write_table(others, tmp_path / "a.parquet")
    reading = read_path(tmp_path / "a.parquet", text="other", score=text)
    assert reading.problems == [f'has several columns named "{name}"']


@pytest.mark.parametrize(
    ("column", "score"),
    [
        (pa.array([7, None]), 7.0),
        (pa.array([0.5, None], pa.float32()).dictionary_encode(), 0.5),
        (pa.array([2**62, None], pa.timestamp("us")), None),  # a date that Python does not have
        (pa.array([2**30, None], pa.date32()), None),
        (pa.array(["7", None]), None),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_only_numbers_rate_documents(tmp_path: Path, column: pa.Array, score: float | None) -> None:
    reading = write_and_read(tmp_path, {"text": ["a", "b"], "rank": column}, score="rank")
    assert [document.score for document in reading.documents] == [score, None]


@pytest.mark.parametrize(
    ("rows", "size", "at_a_time"), [(10**6, 10**8, 256), (300, 80 << 20, 3), (4, 240 << 20, 1), (0, 0, 1)]
)
def test_rows_are_decoded_by_their_bytes(rows: int, size: int, at_a_time: int) -> None:
    """300 rows of 20 texts of 4 MB, for one, take 80 MB in the file and 1.2 GB decoded."""
    assert rows_at_a_time(rows, size) == at_a_time


def test_a_long_row_is_read_as_a_short_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["天地" * 50_000, None, "x\U0001f600", "", "é" * 40_000]
    columns = {"text": pa.array(texts).dictionary_encode(), "more": ["b", None, "c", "d", "long " * 20_000]}
    wanted = write_and_read(tmp_path, columns, text=("text", "more")).texts
    monkeypatch.setattr(table_columns, "MAX_PIECE", 3)
    assert write_and_read(tmp_path, columns, text=("text", "more")).texts == wanted
    assert wanted[0] == "天地" * 50_000 + "\n\nb" and len(wanted) == 4
    broken = pa.array([b"whole", b"\xe5" * 70_000, b"a\xff", b"cut \xe5\xa4"], pa.binary())
    assert write_and_read(tmp_path, {"text": broken}).texts == ["whole"]


def test_dictionaries_are_not_made_anew(tmp_path: Path) -> None:
    """Of each batch they were: all of the texts, whatever its rows."""
    large = pa.array(["a", "b"] * 3, pa.large_string()).dictionary_encode()
    pq.write_table(pa.table({"text": large, "n": pa.array(range(6), pa.decimal128(9, 2))}), tmp_path / "a.parquet")
    with parquet._open(cut([discover(Source(name="s", path=tmp_path))], 1 << 20)[0][0]) as file:
        assert not pa.types.is_dictionary(file.schema_arrow.field("text").type)
        assert file.read()["text"].to_pylist() == ["a", "b"] * 3
