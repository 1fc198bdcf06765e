"""Lines of too many documents go, the rest stays as it is, and the books say so."""

import json
import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow.parquet as pq
import pytest
from builds import build, hashes, kill_when, mrprep, phases
from dedupe_helpers import InProcess

from mrprep.builddir.layout import work_of
from mrprep.builddir.tables import TextPart, numbered
from mrprep.builddir.textpart import TextPartWriter, documents
from mrprep.document import Document, Dropped, FileNote, MapItem, Place
from mrprep.repeats import key_ranges
from mrprep.repeats.lines import Keys, keys_of, salt, without_lines
from mrprep.repeats.rewrite import Cut, without
from mrprep.stages import boilerplate, dedupe
from mrprep.stages.boilerplate import Options

NAVIGATION = ["首页 > 新闻", "Share this page", "\u3000\u3000版权所有"]
CHARACTERS = len("".join(NAVIGATION)) + 3
SLOT = 9


def removed_from(text: str, *lines: str, piece: int = 0) -> Any:
    document = Document(Place("s", b"a", 0, 1, piece), text, {"nfc": 3})
    return after(document, frozenset(keys_of(lines, salt("s"))))


def after(document: Document, removed: Keys) -> MapItem:
    return without(document, Cut("boilerplate", lambda each: without_lines(each, removed), "each of {}"))


def test_lines_go_with_the_white_space_that_opens_up() -> None:
    text = "首页 > 新闻\n\nTitle\nShare this page \n\n\nOne.\n\u3000版权所有\n"
    item = removed_from(text, *NAVIGATION)
    assert (item.text, item.edits) == ("Title\n\n\nOne.", {"nfc": 3, "boilerplate": 3})
    assert removed_from("a\n\n\nb\n\n\nc", "b").text == "a\n\n\nc"


def test_what_has_none_is_the_very_same_and_what_is_nothing_else_is_dropped() -> None:
    text = "Share this page!\n\n\n\n\n x "
    document = Document(Place("s", b"a", 0, 1), text)
    assert after(document, frozenset(keys_of(NAVIGATION, salt("s")))) is document
    item = removed_from("Share this page\n \nShare this page", *NAVIGATION)
    assert isinstance(item, Dropped)
    assert (item.reason, item.detail) == ("nothing-left", "each of 2")


def test_the_ends_of_a_piece_stay_and_so_do_lines_of_another_source() -> None:
    assert removed_from("\nx\nShare this page\n", *NAVIGATION, piece=2).text == "\nx\n"
    foreign = frozenset(keys_of(NAVIGATION, salt("other")))
    assert isinstance(after(Document(Place("s", b"a", 0, 1), NAVIGATION[0]), foreign), Document)


def written(root: Path, given: list[Document], parts: int) -> list[TextPart]:
    """Lay out documents as the read phase does, each tenth as dropped by the filter."""
    paths = []
    for number in range(parts):
        path = root / f"read-{number}"
        path.mkdir(parents=True)
        writer = TextPartWriter(path, lambda texts, ids: None)
        for document in given[len(given) * number // parts : len(given) * (number + 1) // parts]:
            writer.saw(document)
            if document.place.offset % 10 == SLOT:
                writer.drop(Dropped(document, "short"), "filter")
            else:
                writer.keep(document)
        writer.note(FileNote("s", b"a"))
        writer.close()
        paths.append(path)
    return numbered(paths)


def corpus(seed: int, size: int) -> list[Document]:
    """Return documents of two sources from a few hundred lines, the first ones frequent; some of two pieces."""
    rng = random.Random(seed)
    lines = [f"line {at}" for at in range(300)]
    given = []
    for at in range(size):
        source = rng.choice(["s", "t"])
        for piece in range(rng.choice([1, 1, 1, 2])):
            chosen = [lines[min(int(rng.expovariate(0.06)), 299)] for _ in range(rng.randrange(1, 12))]
            given.append(Document(Place(source, b"a", at, 1, piece), "\n".join(chosen), {"nfc": 1} if at % 3 else {}))
    return given


def expected(given: list[Document], options: Options) -> tuple[dict[tuple[int, int], str], int]:
    """Return the texts that stay by (offset, piece), and the lines that go, by counting documents in sets."""
    kept = [document for document in given if document.place.offset % 10 != SLOT]
    whole: dict[tuple[str, int], set[str]] = {}
    for document in kept:
        lines = whole.setdefault((document.place.source, document.place.offset), set())
        lines |= set(document.text.split("\n"))
    sizes = Counter(source for source, _ in whole)
    held = Counter((source, line) for (source, _), lines in whole.items() for line in lines)
    gone = {
        key
        for key, count in held.items()
        if count > options.max_share * sizes[key[0]] and count >= options.min_documents
    }
    texts, removed = {}, 0
    for document in kept:
        lines = [line for line in document.text.split("\n") if (document.place.source, line) not in gone]
        removed += (document.text.count("\n") + 1 - len(lines)) if lines else 0
        if lines:
            texts[document.place.offset, document.place.piece] = "\n".join(lines)
    return texts, removed


@pytest.mark.parametrize("parts", [1, 5])
@pytest.mark.parametrize("keys_a_range", [8 << 20, 40])
def test_the_stage_does_what_sets_of_lines_say(
    parts: int, keys_a_range: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_ranges, "KEYS_A_RANGE", keys_a_range)
    options = Options(max_share=0.15, min_documents=20)
    given = corpus(4, 400)
    read = written(tmp_path, given, parts)
    done = boilerplate.run(InProcess(tmp_path), read, options, ["s", "t"], dedupe.Options())
    texts, removed = expected(given, options)
    kept = {(d.place.offset, d.place.piece): d for part in done for d in documents(part.path)}
    assert {place: document.text for place, document in kept.items()} == texts
    assert len(texts) < sum(part.rows for part in read)
    assert [part.base for part in done] == [sum(part.rows for part in done[:at]) for at in range(len(done))]
    books = [orjson.loads((part.path / "counts.json").read_bytes()) for part in done]
    assert sum(book["edits"]["boilerplate"] for book in books) == removed
    assert sum(book["edits"]["nfc"] for book in books) == sum(d.edits.get("nfc", 0) for d in kept.values())
    for part, book in zip(done, books, strict=True):
        assert book["documents"] == book["rows"] + sum(sum(why.values()) for why in book["left_out"].values())
        assert pq.read_table(part.path / "dropped.parquet").num_rows == book["documents"] - book["rows"]
        assert pq.read_table(part.path / "files.parquet").num_rows == 1
        sketches = dedupe.sketches(dedupe.Options())
        table = pq.read_table(part.path / "text.parquet")
        sketches.add(table["text"], table["id"].to_numpy())
        sketches.save(tmp_path)
        for name in ("documents.npy", "bands.npy"):
            assert (np.load(tmp_path / name) == np.load(part.path / name)).all()


def test_without_a_dedupe_there_is_no_sketch(tmp_path: Path) -> None:
    (part,) = boilerplate.run(InProcess(tmp_path), written(tmp_path, corpus(1, 30), 1), Options(), ["s", "t"], None)
    assert not list(part.path.glob("*.npy"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 90 web pages under three menu lines, and one that is all menu."""
    folder = tmp_path_factory.mktemp("pages") / "pages"
    folder.mkdir()
    rng = random.Random(2)
    words = ["ferry", "pier", "fog", "captain", "coal", "price", "north", "bench", "market", "pepper", "hill", "coin"]
    for at in range(90):
        prose = " ".join(f"the {rng.choice(words)} of {rng.choice(words)}" for _ in range(60))
        (folder / f"{at:02d}.txt").write_text("\n".join([*NAVIGATION[:2], prose, NAVIGATION[2]]), "utf-8")
    (folder / "menu.txt").write_text("\n".join(NAVIGATION), "utf-8")
    return folder


PIPELINE = """
stages = ["clean", "filter", "boilerplate", "dedupe", "tokenize", "pack", "shard"]
[tokenize]
vocab_size = 400
[pack]
seq = 64
"""


@pytest.mark.mindspore
def test_a_build_tells_of_it(pages: Path, tmp_path: Path) -> None:
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(PIPELINE)
    out, killed = tmp_path / "out", tmp_path / "killed"
    manifest = build(pages, out, "--pipeline", pipeline, "--jobs", 2)
    assert manifest["counts"]["read"]["edits"]["boilerplate"] == 90 * 3
    assert manifest["counts"]["read"]["shortened"]["boilerplate"] == {
        "documents": 90,
        "stretches": 90 * 3,
        "characters": 90 * CHARACTERS,
    }
    assert manifest["counts"]["read"]["left_out"]["boilerplate"] == {"nothing-left": 1}
    said = json.loads((out / "report/summary.json").read_text())
    assert said["dropped"]["boilerplate"] == {"nothing-left": 1}
    assert "boilerplate 3 lines taken out\n" in mrprep("why", out, "07.txt").stdout
    dropped = mrprep("why", out, "menu.txt").stdout
    assert "filter    passed\nboilerplate dropped: nothing-left (each of its 3 lines is boilerplate)" in dropped
    assert mrprep("verify", out).returncode == 0
    home = work_of(killed) / "phases" / "boilerplate.texts"
    code = kill_when(home.is_dir, signal.SIGKILL, "build", pages, "--pipeline", pipeline, "--out", killed)
    assert code == -signal.SIGKILL
    build(pages, killed, "--pipeline", pipeline, "--jobs", 1)
    assert phases(killed)["boilerplate.frequent"] == (1, 1)
    assert hashes(killed) == hashes(out)
