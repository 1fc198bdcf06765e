"""Decontamination: which stretches count, what becomes of their documents, and what is told of them."""

import gzip
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from builds import mrprep
from hypothesis import given, settings
from hypothesis import strategies as st
from test_dedupe_command import dedupe, jsonl, records

from mrprep.document import Document, Dropped, MapItem, Place
from mrprep.errors import MrprepError
from mrprep.evaluation.items import texts_of
from mrprep.evaluation.ngrams import index_counts, load_known, write_ngrams
from mrprep.evaluation.runs import runs
from mrprep.minhash.units import BLOCK, kinds, located_units, unit_blocks
from mrprep.stages.decontaminate import MARGIN, Hit, Options, decontaminate

QUESTION = "Which of the harbours on the northern route was closed for ice in the winter of that year?"
WORDS = QUESTION.split()
HAN = "春江潮水连海平海上明月共潮生滟滟随波千万里何处春江无月明江流宛转绕芳甸月照花林皆似霰"
LONG = [f"long{n}" for n in range(13)]
FILLER = " ".join(f"word{n}" for n in range(60))


def known_of(folder: Path, texts: Sequence[str], ngram: int = 13, whole: int | None = None) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    file = jsonl(folder / "eval.jsonl", list(texts))
    write_ngrams([file], ngram, whole, folder)
    load_known.cache_clear()
    return folder


def document(text: str) -> Document:
    return Document(Place("s", b"d.txt", 0, 1), text)


def judged(texts: Sequence[str], index: Path, options: Options) -> tuple[list[MapItem], list[Hit]]:
    hits: list[Hit] = []
    return list(decontaminate(map(document, texts), options, index, hits.append)), hits


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (" ".join(WORDS), True),
        (f"{FILLER} {' '.join(WORDS[2:15])} {FILLER}", True),
        (f"{FILLER} {' '.join(WORDS[2:14])} {FILLER}", False),
        (" ".join(WORDS).upper().replace(" ", ", \n"), True),
        (" ".join([*WORDS[:8], "other", *WORDS[8:16]]), False),
        (f"前言。{HAN[:22]}。", True),
        (f"前言。{HAN[:21]}。", False),
        (f"前言。{HAN[:11]}，\n{HAN[11:22]}。", True),
        ("".join(chr(0xFEE0 + ord(c)) if "!" <= c <= "~" else c for c in " ".join(WORDS)), True),
        ("short", False),
        ("", False),
    ],
)
def test_thirteen_words_or_as_much_text_without_spaces(text: str, found: bool, tmp_path: Path) -> None:
    index = known_of(tmp_path / "index", ["other text", " ".join(WORDS), HAN, "short"])
    (item,), hits = judged([text], index, Options())
    assert isinstance(item, Dropped) == found == bool(hits)
    if isinstance(item, Dropped):
        assert item.reason == "contaminated"
        assert item.detail.startswith(("eval.jsonl:2: ", "eval.jsonl:3: "))


LETTERS = st.lists(st.sampled_from("abcd"), max_size=30).map(" ".join)


@given(st.lists(LETTERS, min_size=1, max_size=3), LETTERS)
@settings(max_examples=150, deadline=None)
def test_runs_are_those_of_a_slow_search(evaluation: list[str], text: str) -> None:
    index = known_of(Path("/tmp") / f"mrprep-test-{id(evaluation)}", evaluation, 3)
    try:
        grams = {tuple(words[at : at + 3]) for words in map(str.split, evaluation) for at in range(len(words) - 2)}
        words = [(match[0], match.start(), match.end()) for match in re.finditer(r"\w", text)]
        known = [tuple(w for w, _, _ in words[at : at + 3]) in grams for at in range(len(words) - 2)]
        expected = []
        for at, here in enumerate(known):
            if here and at and known[at - 1]:
                expected[-1] = (expected[-1][0], words[at + 2][2])
            elif here:
                expected.append((words[at][1], words[at + 2][2]))
        found = runs(text, load_known(index), 3)
        assert [(run.start, run.end) for run in found] == expected
    finally:
        shutil.rmtree(index)


@given(st.text(st.sampled_from("ab Z9,。中文字ガ한ก𠀀é\n"), max_size=60))
@settings(max_examples=200, deadline=None)
def test_units_are_located_at_the_characters_they_begin_with(text: str) -> None:
    units, starts = located_units(text.encode())
    assert np.array_equal(
        units, np.concatenate([np.empty(0, np.uint64), *unit_blocks(text.encode(), 0, len(text.encode()))])
    )
    words = [match.start() for match in re.finditer(r"[中文字ガ한ก𠀀]|[abZ9é]+", text)]
    assert starts.tolist() == words
    expected = ["h" if text[at] in "中文字𠀀" else "c" if text[at] in "ガ한ก" else "w" for at in words]
    assert kinds(units).tolist() == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{FILLER} {' '.join(WORDS[:8])} {FILLER}", [1]),
        (f"{FILLER} {' '.join(WORDS[:7])} {FILLER}", []),
        (f"{FILLER} {' '.join(WORDS[1:9])} {FILLER}", []),
        (" ".join(WORDS[:9]).upper().replace(" ", ",\n"), [1, 2]),
        (f"前言。{HAN[:14]}。", [4]),
        (f"前言。{HAN[:13]}。", []),
        (f"前言。{HAN[1:14]}。", []),
        (f"前言。{HAN[14:28]}。", []),
        (f"{FILLER} tiny {FILLER}", []),
        (f"{' '.join(WORDS[:8])}. {FILLER} {' '.join(WORDS[:8])}", [1, 1]),
        (" ".join([*WORDS[:8], "x", *LONG]), [1, 6]),
        (" ".join([*LONG[:5], *LONG[5:]]), [6]),
        (f"{'字' * BLOCK}{HAN[:14]}{'字' * BLOCK}", [4]),
    ],
)
def test_shorter_texts_count_where_they_stand_whole(text: str, found: list[int], tmp_path: Path) -> None:
    short = [" ".join(WORDS[:8]), " ".join(WORDS[:9]), "tiny", HAN[:14], " ".join(LONG[3:11]), " ".join(LONG)]
    index = known_of(tmp_path / "index", short, whole=8)
    _, hits = judged([text], index, Options(whole=8))
    assert [hit.run.place for hit in hits] == [f"eval.jsonl:{line}" for line in found]
    assert all(same(hit.text, short[line - 1]) for hit, line in zip(hits, found, strict=True))
    assert not judged([text], known_of(tmp_path / "off", short[:5]), Options())[1]
    assert index_counts(index) == {"texts": 6, "short": 5, "whole": 4, "empty": 0}


def same(one: str, other: str) -> bool:
    return re.findall(r"\w+", one.casefold()) == re.findall(r"\w+", other.casefold())


@given(st.lists(LETTERS, min_size=1, max_size=4), LETTERS)
@settings(max_examples=150, deadline=None)
def test_whole_texts_are_those_of_a_slow_search(evaluation: list[str], text: str) -> None:
    index = known_of(Path("/tmp") / f"mrprep-test-{id(evaluation)}", evaluation, 5, 3)
    try:
        words = text.split()
        grams = [tuple(item.split()[at : at + 5]) for item in evaluation for at in range(len(item.split()) - 4)]
        expected = set()
        for item in (item.split() for item in evaluation):
            for at in range(len(words) - len(item) + 1) if 3 <= len(item) < 5 else ():
                if words[at : at + len(item)] == item and not joined(at, at + len(item) - 1, words, grams):
                    expected.add((2 * at, 2 * (at + len(item)) - 1))
        found = {(run.start, run.end) for run in runs(text, load_known(index), 5)}
        long = {(run.start, run.end) for run in runs(text, load_known(known_of(index, evaluation, 5)), 5)}
        assert found - long == expected
        assert long <= found
    finally:
        shutil.rmtree(index)


def joined(first: int, last: int, words: list[str], grams: list[tuple[str, ...]]) -> bool:
    """Tell whether one run of known 5-grams has the words from first to last."""
    begins = [at for at in range(len(words) - 4) if tuple(words[at : at + 5]) in grams]
    stretch: list[list[int]] = []
    for at in begins:
        if stretch and stretch[-1][1] + 1 == at:
            stretch[-1][1] = at
        else:
            stretch.append([at, at])
    return any(a <= first and last <= b + 4 for a, b in stretch)


@pytest.mark.parametrize("at", [100, BLOCK - 40, 2 * BLOCK - 3])
def test_a_stretch_is_found_anywhere_in_a_long_document(at: int, tmp_path: Path) -> None:
    index = known_of(tmp_path / "index", [" ".join(WORDS), HAN])
    for stretch in (" ".join(WORDS), HAN):
        text = ("x1 y2 " * BLOCK)[:at] + f" {stretch} " + "z3 " * BLOCK
        (item,), (hit,) = judged([text], index, Options())
        assert isinstance(item, Dropped)
        assert hit.text == stretch.rstrip("?") or hit.text == stretch
        assert hit.run.start == text.index(stretch)


def test_cutting_leaves_what_is_far_enough(tmp_path: Path) -> None:
    index = known_of(tmp_path / "index", [" ".join(WORDS)])
    before, after = "left " * 100, "right " * 100
    text = f"{before}{' '.join(WORDS)} {after}"
    (item,), hits = judged([text], index, Options(action="cut"))
    assert isinstance(item, Document) and item.edits == {"decontaminate": 1}
    start, end = hits[0].run.start, hits[0].run.end
    assert item.text == text[: start - MARGIN].strip() + "\n\n" + text[end + MARGIN :].strip()
    (short,), _ = judged([f"left {' '.join(WORDS)} right"], index, Options(action="cut"))
    assert isinstance(short, Dropped)
    many = ((" ".join(WORDS) + " " + "gap " * 200) * 11).strip()
    (item,), hits = judged([many], index, Options(action="cut"))
    assert isinstance(item, Dropped) and len(hits) == 11 and "and 10 more" in item.detail
    (item,), _ = judged([many.split("gap Which", 1)[0] + "gap"], index, Options(action="cut"))
    assert isinstance(item, Document)


def test_many_documents_come_back_in_their_order(tmp_path: Path) -> None:
    index = known_of(tmp_path / "index", [HAN, "tiny"])
    texts = [f"{n} {FILLER} {HAN if n % 7 == 0 else ''}" for n in range(2000)] + ["", "tiny"]
    items, hits = judged(texts, index, Options())
    assert [item.document.text if isinstance(item, Dropped) else item.text for item in items] == texts
    assert [isinstance(item, Dropped) for item in items] == [n < 2000 and n % 7 == 0 for n in range(2002)]
    assert len(hits) == 286


def test_files_are_read_by_string_and_by_line(tmp_path: Path) -> None:
    record = {"q": "one", "choices": [{"text": "two"}, "three"], "n": 4, "none": None}
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"\n" + json.dumps(record).encode() + b"\n"))
    assert list(texts_of(tmp_path / "a.jsonl.gz")) == [(2, "one"), (2, "two"), (2, "three")]
    (tmp_path / "b.txt").write_text("one\n\n二\n", "utf-8")
    assert list(texts_of(tmp_path / "b.txt")) == [(1, "one"), (3, "二")]
    index = known_of(tmp_path / "index", [" ".join(WORDS), "short", "短"])
    assert json.loads((index / "index.json").read_text())["counts"] == {"texts": 3, "short": 2, "whole": 0, "empty": 0}
    late = b"a\n" * (1 << 20) + b"\xff"
    for content, said in ((b'{"a": 1}\n{broken', "c.jsonl:2: not JSON"), (late, "c.txt:1048577 is not UTF-8")):
        path = tmp_path / said.split(":")[0]
        path.write_bytes(content)
        with pytest.raises(MrprepError, match=said):
            list(texts_of(path))
    with pytest.raises(MrprepError, match="cannot be read"):
        list(texts_of(tmp_path / "none.txt"))


def test_records_are_read_as_those_of_documents(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"q": "a \\ud800 b", "n": NaN}\n[{"a": "\\ud83d\\ude00"}]\n')
    assert list(texts_of(tmp_path / "a.jsonl")) == [(1, "a \ufffd b"), (2, "\U0001f600")]
    for name in ("p.parquet", "p.parquet.gz"):
        (tmp_path / name).write_bytes(b"PAR1")
        with pytest.raises(MrprepError, match="parquet evaluation files are not supported: give jsonl or text"):
            list(texts_of(tmp_path / name))


def test_evaluation_files_without_text_are_told(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "numbers.jsonl").write_text('{"a": 1}\n')
    source = jsonl(tmp_path / "in.jsonl", [FILLER])
    files = ("--decontaminate", tmp_path / "empty.jsonl", "--decontaminate", tmp_path / "numbers.jsonl")
    said = dedupe(source, "--out", tmp_path / "out", *files).stdout
    assert "0 evaluation texts were looked for\n            2 evaluation files hold no text\n" in said


def test_one_file_needs_no_list(tmp_path: Path) -> None:
    assert Options(files="x.jsonl").files == (Path("x.jsonl"),)  # type: ignore[arg-type]


def test_it_is_counted_shown_and_told(tmp_path: Path) -> None:
    evaluation = jsonl(tmp_path / "bench.jsonl", ["unrelated", " ".join(WORDS)])
    source = jsonl(tmp_path / "in.jsonl", [FILLER, f"{FILLER} {' '.join(WORDS)}", HAN])
    out = tmp_path / "out"
    said = dedupe(source, "--out", out, "--decontaminate", evaluation).stdout
    assert [record["line"] for record in records(out)] == [1, 3]
    assert "decontaminate dropped 1: contaminated 1" in said
    short = (
        "\n            1 evaluation texts were looked for; 1 were not: shorter than 13 words (22 Chinese characters)\n"
    )
    assert short in said
    told = {"texts": 2, "whole": 0, "not_looked_for": 1, "shortest": 13, "empty": 0}
    assert json.loads((out / "report/summary.json").read_text())["evaluation"] == told
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["ledger"]["documents"]["dropped"] == 1 == manifest["counts"]["read"]["hits"]
    (hit,) = pq.read_table(out / "report/hits-00000.parquet").to_pylist()
    assert (hit["path"], hit["line"], hit["evaluation"]) == (b"in.jsonl", 2, "bench.jsonl:2")
    assert hit["text"].split() == [*WORDS[:-1], "year?"]
    told = mrprep("why", out, "in.jsonl:2").stdout
    assert "decontaminate dropped: contaminated (bench.jsonl:2: Which of the" in told
    jsonl(evaluation, ["changed"])
    again = mrprep("dedupe", source, "--out", out, "--decontaminate", evaluation)
    assert again.returncode == 1 and "decontaminate.files" in again.stderr
    assert mrprep("dedupe", source, "--out", out, "--decontaminate", tmp_path / "no").returncode == 1


def test_stage_and_files_go_together_in_a_pipeline(tmp_path: Path) -> None:
    jsonl(tmp_path / "bench.jsonl", [" ".join(WORDS)])
    source = jsonl(tmp_path / "in.jsonl", [f"{'left ' * 100}{' '.join(WORDS)} {'right ' * 100}"])
    stages = 'stages = ["clean", "decontaminate", "dedupe", "tokenize", "pack", "shard"]\n'
    table = '[decontaminate]\nfiles = ["bench.jsonl"]\naction = "cut"\n'
    (tmp_path / "p.toml").write_text(stages + table)
    dedupe(source, "--out", tmp_path / "out", "--pipeline", tmp_path / "p.toml")
    assert "harbours" not in records(tmp_path / "out")[0]["text"]
    assert "decontaminate 1 stretch cut out" in mrprep("why", tmp_path / "out", "in.jsonl:1").stdout
    for content in (stages, table):
        (tmp_path / "p.toml").write_text(content)
        done = mrprep("dedupe", source, "--out", tmp_path / "x", "--pipeline", tmp_path / "p.toml")
        assert done.returncode == 1 and "go together" in done.stderr
