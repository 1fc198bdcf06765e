"""The first copies of a paragraph stay, later ones go, whatever the parts and the jobs; the books say so."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow.parquet as pq
import pytest
from builds import build, hashes, mrprep
from dedupe_helpers import InProcess
from hypothesis import given
from hypothesis import strategies as st
from test_boilerplate import written

from mrprep.builddir.tables import TextPart
from mrprep.builddir.textpart import documents
from mrprep.document import Document, Place
from mrprep.repeats import key_ranges
from mrprep.repeats.examples import examples_of
from mrprep.repeats.paragraphs import joined, split
from mrprep.stages import dedupe, paragraphs
from mrprep.stages.paragraphs import Options

HEADER = "Permission is granted, free of charge, to any person who obtains a copy of this work, to deal in it."
NOTICE = "本网站所载文章均由作者授权刊登，未经书面许可，任何单位和个人不得以任何形式转载、摘编或者镜像。"
TALK = "“好。”他说。"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n\nc", ["a\nb", "c"]),
        ("a\r\nb\r\n\r\nc\n \u3000\n\n  d", ["a\r\nb\r", "c", "  d"]),
        ("a\nb\nc", ["a", "b", "c"]),
        ("a\n\u3000\u3000b\n", ["a", "\u3000\u3000b", ""]),
        ("", [""]),
    ],
)
def test_a_paragraph_is_a_block_or_where_there_are_none_a_line(text: str, expected: list[str]) -> None:
    assert split(text)[0] == expected


@given(st.text(st.sampled_from("ab \n\r\u3000"), max_size=30), st.sets(st.integers(0, 9)))
def test_what_is_not_taken_out_stays_as_it_was(text: str, gone: set[int]) -> None:
    blocks, between = split(text)
    assert joined(list(blocks), between) == text
    some = [None if at in gone else block for at, block in enumerate(blocks)]
    assert joined(some, between).split() == " ".join(block for block in some if block).split()


def stage(root: Path, texts: list[str], options: Options, parts: int = 1) -> tuple[list[str], list[TextPart]]:
    given = [Document(Place("s", b"a", 10 * at, at + 1), text) for at, text in enumerate(texts)]
    done = paragraphs.run(InProcess(root), written(root, given, parts), options, None)
    return [document.text for part in done for document in documents(part.path)], done


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_copies_by_hand(parts: int, tmp_path: Path) -> None:
    texts = [
        f"{HEADER}\n\nOne.\n\n\n  {HEADER} ",
        f"{HEADER}\n\n\nTwo.\n\n{TALK}\n\n{HEADER}\n\nTwo and a half.",
        f"{NOTICE}\n{TALK}\n三\n{TALK}",
        f"标题\n{NOTICE}\n\u3000\u3000{NOTICE}\n四\n{NOTICE}",
        HEADER,
        f"Five.\n\n{HEADER}",
        f"Six {HEADER}\n\n{HEADER.upper()}",
    ]
    found, done = stage(tmp_path, texts, Options(keep=2, min_bytes=60), parts)
    assert found == [
        texts[0],
        f"Two.\n\n{TALK}\n\nTwo and a half.",
        texts[2],
        f"标题\n{NOTICE}\n四",
        "Five.",
        texts[6],
    ]
    (why,) = [row for part in done for row in pq.read_table(part.path / "dropped.parquet").to_pylist()]
    assert (why["stage"], why["reason"], why["detail"]) == (
        "paragraphs",
        "nothing-left",
        "each of its 1 paragraphs is a repeat",
    )
    cut = Counter[str]()
    for part in done:
        books = orjson.loads((part.path / "counts.json").read_bytes())
        cut.update(books["shortened"].get("paragraphs", {}))
    assert cut == {
        "stretches": 5,
        "documents": 3,
        "characters": sum(len(texts[at]) - len(found[to]) for at, to in ((1, 1), (3, 3), (5, 4))),
    }
    first = {each.key: each for part in reversed(done) for each in examples_of(part.path)}
    assert {(each.copies, each.place, each.excerpt[:4]) for each in first.values()} == {
        (6, "a:2", HEADER[:4]),
        (4, "a:4", NOTICE[:4]),
    }


def test_the_shortest_is_counted_in_bytes_without_white_space(tmp_path: Path) -> None:
    texts = [f"{'x' * 99}\n\n{'y' * 100}\n\n{'字' * 33} \n\n{'句' * 34}\n\n{at}" for at in range(2)]
    found, _ = stage(tmp_path, texts, Options(keep=1))
    assert found[1].split("\n\n") == ["x" * 99, "字" * 33 + " ", "1"]


def corpus(seed: int, size: int) -> list[Document]:
    """Return documents of blocks or of lines, some frequent; some documents in two pieces."""
    rng = random.Random(seed)
    known = [rng.choice(["block", "块"]) * rng.randrange(1, 40) + str(at) for at in range(200)]
    made = []
    for at in range(size):
        for piece in range(rng.choice([1, 1, 2])):
            chosen = [known[min(int(rng.expovariate(0.05)), 199)] for _ in range(rng.randrange(1, 9))]
            text = rng.choice(["\n", "\n\n"]).join(chosen)
            made.append(Document(Place(rng.choice("st"), b"a", at, 1, piece), text, {"nfc": 1} if at % 3 else {}))
    return made


def expected(read: list[TextPart], options: Options) -> tuple[list[str], int]:
    """Return the texts that stay and how many paragraphs go, with one counter over all documents.

    The end of a later piece of a document is no end of a text: the break before a last paragraph that goes stays.
    """
    seen: Counter[str] = Counter()
    texts, removed = [], 0
    for document in (document for part in read for document in documents(part.path)):
        separator = "\n\n" if "\n\n" in document.text else "\n"
        kept = []
        for block in document.text.split(separator):
            seen[block] += len(block.encode()) >= options.min_bytes
            if seen[block] <= options.keep:
                kept.append(block)
        if kept:
            open_end = document.place.piece > 0 and seen[block] > options.keep
            texts.append(separator.join(kept) + separator * open_end)
            removed += document.text.count(separator) + 1 - len(kept)
    return texts, removed


@pytest.mark.parametrize("parts", [1, 5])
@pytest.mark.parametrize(("keep", "keys_a_range"), [(1, 8 << 20), (1, 40), (6, 40), (6, 8 << 20)])
def test_the_stage_does_what_one_counter_over_all_says(
    parts: int, keep: int, keys_a_range: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_ranges, "KEYS_A_RANGE", keys_a_range)
    options = Options(keep=keep, min_bytes=20)
    read = written(tmp_path, corpus(7, 300), parts)
    texts, removed = expected(read, options)
    done = paragraphs.run(InProcess(tmp_path), read, options, dedupe.Options())
    assert [document.text for part in done for document in documents(part.path)] == texts
    books = [orjson.loads((part.path / "counts.json").read_bytes()) for part in done]
    assert removed > 100
    assert sum(book["edits"]["paragraphs"] for book in books) == removed
    for part, book in zip(done, books, strict=True):
        assert book["documents"] == book["rows"] + sum(sum(why.values()) for why in book["left_out"].values())
        table = pq.read_table(part.path / "text.parquet")
        sketches = dedupe.sketches(dedupe.Options())
        sketches.add(table["text"], table["id"].to_numpy())
        sketches.save(tmp_path)
        for name in ("documents.npy", "bands.npy"):
            assert (np.load(tmp_path / name) == np.load(part.path / name)).all()


def test_no_documents_and_no_repeats(tmp_path: Path) -> None:
    assert stage(tmp_path / "none", [], Options())[0] == []
    assert stage(tmp_path / "once", [HEADER, NOTICE], Options(keep=1))[0] == [HEADER, NOTICE]


PIPELINE = """
stages = ["clean", "boilerplate", "paragraphs", "dedupe", "tokenize", "pack", "shard"]
[paragraphs]
keep = 3
[tokenize]
vocab_size = 400
[pack]
seq = 64
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 60 pages under one line of boilerplate, twelve of them with a header, and one that is only that."""
    folder = tmp_path_factory.mktemp("pages") / "pages"
    folder.mkdir()
    rng = random.Random(5)
    words = ["ferry", "pier", "fog", "captain", "coal", "price", "north", "bench", "market", "pepper", "hill", "coin"]
    for at in range(60):
        prose = " ".join(f"the {rng.choice(words)} of {rng.choice(words)}" for _ in range(60))
        blocks = ["Share this page", *([HEADER] if at % 5 == 0 else []), prose]
        (folder / f"{at:02d}.txt").write_text("\n\n".join(blocks), "utf-8")
    (folder / "header.txt").write_text(HEADER, "utf-8")
    return folder


def told(out: Path, manifest: dict[str, Any]) -> None:
    read = manifest["counts"]["read"]
    assert read["edits"]["paragraphs"] == 9
    assert read["shortened"] == {
        "boilerplate": {"documents": 60, "stretches": 60, "characters": 60 * len("Share this page\n\n")},
        "paragraphs": {"documents": 9, "stretches": 9, "characters": 9 * (len(HEADER) + 2)},
    }
    assert read["left_out"] == {"paragraphs": {"nothing-left": 1}}
    said = json.loads((out / "report/summary.json").read_text())
    assert said["examples"]["paragraphs"]["repeat"] == [{"place": "15.txt:1", "detail": "13 copies", "excerpt": HEADER}]
    assert said["dropped"] == read["left_out"]
    assert "paragraphs 1 repeat taken out\n" in mrprep("why", out, "55.txt").stdout
    assert "paragraphs no repeats taken out\n" in mrprep("why", out, "00.txt").stdout
    assert "paragraphs dropped: nothing-left" in mrprep("why", out, "header.txt").stdout
    assert mrprep("verify", out).returncode == 0


def test_documents_are_the_same_at_any_number_of_jobs(pages: Path, tmp_path: Path) -> None:
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(PIPELINE)
    outs = [tmp_path / "one", tmp_path / "two"]
    for jobs, out in enumerate(outs, 1):
        done = mrprep("dedupe", pages, "--pipeline", pipeline, "--out", out, "--jobs", jobs)
        assert done.returncode == 0, done.stderr
        assert "paragraphs  9 repeats taken out of 9 documents, 918 characters\n" in done.stdout
    assert hashes(outs[0]) == hashes(outs[1])


@pytest.mark.mindspore
def test_rows_of_a_build_are_traced_to_the_texts_that_stay(pages: Path, tmp_path: Path) -> None:
    pipeline, out = tmp_path / "p.toml", tmp_path / "out"
    pipeline.write_text(PIPELINE)
    told(out, build(pages, out, "--pipeline", pipeline, "--jobs", 2))
    audited = mrprep("audit", out)
    assert "ok       alignment: 0 of " in audited.stdout


def test_bounds_of_the_options_are_those_of_the_counts() -> None:
    assert Options(keep=2**31 - 1).keep == 2**31 - 1
    for name in ("keep", "min_bytes"):
        with pytest.raises(ValueError, match="less than 2147483648"):
            Options(**{name: 2**31})
