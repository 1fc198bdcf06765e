"""Pieces of long documents: where the cuts are, and that several workers make the pieces that one makes."""

import json
import random
from math import inf
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from backports import zstd
from builds import hashes, mrprep, phases
from hypothesis import given
from hypothesis import strategies as st
from sources_tools import read_path, units_of

from mrprep.builddir.textpart import TextPartWriter, join
from mrprep.document import Document, Dropped, FileNote, Place
from mrprep.duplicates.sketches import Sketches
from mrprep.sources import packed
from mrprep.sources.files import DamagedError
from mrprep.sources.pieces import STEP, begin_of, pieces
from mrprep.sources.read import read
from mrprep.sources.spans import ranges
from mrprep.stages import dedupe

LIMIT = 64
WORDS = ["a", "word ", "\n", "\n\n", "\r\n", "\n\r\n", "无", "𝄞", "é"]
MB = 1 << 20


def slow(data: bytes) -> list[bytes]:
    """Cut a text by looking at all of it."""
    cuts = [0]
    for stop in range(48, len(data) if len(data) > LIMIT else 0, 48):
        window = data[stop - 16 : stop]
        ending = next((ending for ending in (b"\n\n", b"\n\r\n", b"\n") if ending in window), b"")
        at = stop - 16 + window.rindex(ending) + len(ending) if ending else stop
        while not ending and data[at] & 0xC0 == 0x80 and at > stop - 3:
            at -= 1
        cuts.append(at)
    return [data[start:stop] for start, stop in zip(cuts, [*cuts[1:], len(data)], strict=True)]


def blocks_from(data: bytes, begin: int, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(begin, len(data), size)]


@given(st.lists(st.sampled_from(WORDS), max_size=300), st.integers(1, 80), st.integers(1, 4))
def test_ranges_of_pieces_are_those_of_the_whole(words: list[str], size: int, each: int) -> None:
    data = "".join(words).encode()
    wanted = slow(data)
    assert list(pieces(blocks_from(data, 0, size), limit=LIMIT)) == wanted
    assert b"".join(wanted) == data
    assert all(LIMIT // 2 - 3 <= len(piece) <= LIMIT and piece.decode() for piece in wanted[:-1])
    bounds = range(0, len(wanted) + each, each)
    found: list[bytes] = []
    for first in bounds:
        last = first + each if first != bounds[-1] else inf
        found += pieces(blocks_from(data, begin_of(first, LIMIT), size), first, last, LIMIT)
    assert found == wanted


@given(st.lists(st.sampled_from(WORDS), max_size=300), st.integers(0, 400))
def test_damage_is_told_by_one_range(words: list[str], at: int) -> None:
    data = "".join(words).encode()

    def broken(begin: int):
        yield from blocks_from(data[:at], begin, 7)
        raise DamagedError("is broken")

    told, found = 0, []
    for first in range(12):
        try:
            found += pieces(broken(begin_of(first, LIMIT)), first, first + 1 if first < 11 else inf, LIMIT)
        except DamagedError:
            told += 1
    assert told == 1
    whole = data[:at]
    assert b"".join(found) == whole[: whole.rfind(b"\n") + 1] or b"".join(found) == b"".join(slow(whole)[:-1])


def long_text(chance: random.Random) -> bytes:
    rows = [chance.choice(["a line of words ", "一行字", ""]) * chance.randrange(30) for _ in range(1000)]
    text = "\ufeff" + "\n".join(rows * 250)
    return text.encode()[: 26 * MB] + b"\xff\xfe and the end"


def test_a_long_file_is_read_by_several_workers_as_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = long_text(random.Random(5))
    for name, content in (("a.txt", data), ("b.txt.zst", zstd.compress(data, 1))):
        path = tmp_path / name
        path.write_bytes(content)
        at_once = read_path(path, 1 << 30, encoding="utf-8")
        monkeypatch.setattr(packed, "_decompressed_size", lambda _: 30 * MB)
        [[whole]] = units_of(path, 1000, encoding="utf-8")
        spans = ranges(whole, 1000)
        assert [span.start for span in spans] == [index * STEP for index in range(len(spans))]
        assert len(spans) == (3 if name == "a.txt" else 2)
        items = [list(read(span)) for span in spans]
        assert [item for found in items for item in found[:-1]] == at_once.documents
        notes = [found[-1] for found in items]
        assert sum(note.replaced for note in notes if isinstance(note, FileNote)) == at_once.notes[0].replaced >= 2
        assert not any(note.problem for note in notes if isinstance(note, FileNote))
        assert "".join(d.text for d in at_once.documents) == data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")


def test_damage_of_a_packed_document_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_decompressed_size", lambda _: 30 * MB)
    whole = zstd.compress(long_text(random.Random(5)).replace(b"\xff", b""), 1)
    path = tmp_path / "a.txt.zst"
    for content in (whole[: len(whole) // 2], whole + b"and more"):
        path.write_bytes(content)
        at_once = read_path(path, 1 << 30)
        spans = ranges(units_of(path, 1000)[0][0], 1000)
        items = [item for span in spans for item in read(span)]
        assert [item for item in items if isinstance(item, Document)] == at_once.documents
        told = [item.problem for item in items if isinstance(item, FileNote) and item.problem]
        assert told == at_once.problems and len(told) == 1


def test_what_is_no_long_text_of_utf8_is_read_by_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("这是一个用来测试的中文句子，里面有很多字。\n".encode("gb18030") * 400_000)
    (tmp_path / "b.txt").write_bytes(b"short enough\n" * 1_000_000)
    for name, encoding in (("a.txt", "gb18030"), ("b.txt", "utf-8")):
        [[span]] = units_of(tmp_path / name, 1 << 21, encoding=encoding)
        assert span.whole and ranges(span, 1 << 21) == []


def test_parts_that_are_joined_are_as_one(tmp_path: Path) -> None:
    documents = [
        Document(Place("s", b"a.txt", 0, 1, i), "one text and another " * (i + 1), {"rule": i}) for i in range(9)
    ]
    flows = {"one": [documents], "parts": [documents[:4], documents[4:5], [], documents[5:]]}
    made = {}
    for name, parts in flows.items():
        for number, part in enumerate(parts):
            (tmp_path / name / str(number)).mkdir(parents=True)
            writer = TextPartWriter(tmp_path / name / str(number), Sketches(None).add)
            for document in part:
                writer.saw(document)
                if document.place.piece in (3, 7):
                    writer.drop(Dropped(document, "short"), "filter")
                else:
                    writer.keep(document)
            writer.close()
        (tmp_path / name / "out").mkdir()
        sketches = Sketches(dedupe.Options().method())
        join([tmp_path / name / str(number) for number in range(len(parts))], tmp_path / name / "out", sketches.add)
        sketches.save(tmp_path / name / "out")
        made[name] = tmp_path / name / "out"
    for file in ("text.parquet", "dropped.parquet", "files.parquet", "hits.parquet"):
        assert pq.read_table(made["one"] / file).to_pylist() == pq.read_table(made["parts"] / file).to_pylist()
    for file in ("documents.npy", "bands.npy", "counts.json"):
        assert (made["one"] / file).read_bytes() == (made["parts"] / file).read_bytes()
    assert json.loads((made["one"] / "counts.json").read_bytes())["rows"] == 7
    assert np.load(made["one"] / "documents.npy")["rows"].tolist() == [7]


@pytest.mark.slow
def test_a_build_reads_one_long_document_with_all_workers(tmp_path: Path) -> None:
    corpus = Path(__file__).resolve().parents[2] / "shared" / "corpora" / "en_gutenberg"
    texts = [path.read_bytes() for path in sorted(corpus.rglob("*.md"))]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "book.txt").write_bytes((b"\n\n".join(texts) * 99)[: 26 * MB])
    (tmp_path / "in" / "small.txt").write_bytes(texts[0])
    for jobs in (1, 2):
        out = tmp_path / str(jobs)
        told = ("--pipeline", "raw", "--vocab-size", 500, "--seq", 256, "--jobs", jobs, "--no-audit")
        done = mrprep("build", tmp_path / "in", "--out", out, *told)
        assert done.returncode == 0, done.stderr
        assert phases(out)["pieces"] == (3, 0)
        assert "piece 0 of 3" in mrprep("why", out, "book.txt").stdout
    assert hashes(tmp_path / "1") == hashes(tmp_path / "2")
