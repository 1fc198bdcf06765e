"""mrprep clean shows what cleaning does: hunks that rebuild the text, a line each, nothing that drives a terminal."""

import re
import time
from pathlib import Path

import pytest
from builds import mrprep
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.cleaning.hunks import hunks
from mrprep.cleaning.show import changes
from mrprep.document import Document, Place
from mrprep.printable import printable
from mrprep.stages.clean import Options, clean, steps


def rebuilt(before: str, after: str) -> str:
    """Put ``after`` together from what stays of ``before`` and what the hunks put in; the rest must be equal."""
    out, at, new = [], 0, 0
    for hunk in hunks(before, after):
        assert before[at : hunk.start] == after[new : hunk.new_start]
        assert (hunk.stop, hunk.new_stop) > (hunk.start, hunk.new_start)
        out += [before[at : hunk.start], after[hunk.new_start : hunk.new_stop]]
        at, new = hunk.stop, hunk.new_stop
    return "".join([*out, before[at:]])


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.text("ab\n", max_size=30), st.sampled_from(["", "x", "ab", "aaaa"])), max_size=12))
def test_hunks_rebuild_the_text(stretches: list[tuple[str, str]]) -> None:
    clean_text = "".join(text for text, _ in stretches)
    dirty = "".join(text + dirt for text, dirt in stretches)
    assert rebuilt(dirty, clean_text) == clean_text
    assert rebuilt(clean_text, dirty) == dirty


@settings(deadline=None, max_examples=200)
@given(st.text("ab ", max_size=60), st.text("ab ", max_size=60))
def test_hunks_rebuild_any_other_text(before: str, after: str) -> None:
    assert rebuilt(before, after) == after


def test_hunks_are_the_changes_themselves() -> None:
    before = "中\u200b文字和\u200b别的，还有一长段没有变化的文字。\r\n"
    found = [before[h.start : h.stop] for h in hunks(before, before.replace("\u200b", "").replace("\r", ""))]
    assert found == ["\u200b", "\u200b", "\r"]


def shown(text: str, limit: int | None = None, **options: object) -> list[str]:
    document = Document(Place("s", b"a.txt", 0, 1), text)
    return list(changes(steps(document, Options.model_validate(options)), limit, colour=False))


TABLE = [
    ("中\u200b文字和别的", ["     1  zero_width        中[-\\u200b-]文字和别的"]),
    ("one\x1b[31mred\x1b[0m here", 2 * [r"     1  ansi              .*\[-\\x1b\[\d+m-\]"]),
    ("Cafe\u0301 au lait", ["     1  nfc               Caf[-e\\u0301-]{+é+} au lait"]),
    ("a\n\nb \nc", ["     3  trailing_space    a\\n\\nb[- -]\\nc"]),
    ("x\r\ny", ["     1  line_ends         x[-\\r-]\\ny"]),
    ("clean", []),
]


@pytest.mark.parametrize(("text", "lines"), TABLE)
def test_a_change_is_a_line(text: str, lines: list[str]) -> None:
    found = shown(text)
    assert len(found) == len(lines)
    assert all(line == want or re.match(want, line) for line, want in zip(found, lines, strict=True))


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=80))
def test_the_last_step_is_what_cleaning_gives(text: str) -> None:
    document = Document(Place("s", b"a.txt", 0, 1), text)
    (cleaned,) = clean([document], Options(html_entities=True))
    taken = list(steps(document, Options(html_entities=True)))
    assert isinstance(cleaned, Document)
    assert (taken[-1][2] if taken else text) == cleaned.text
    assert {rule for rule, _, _ in taken} == set(cleaned.edits)
    assert all(line.replace("\xa0", " ") == printable(line, 999).replace("\xa0", " ") for line in shown(text))


def test_few_of_very_many_changes_take_no_time() -> None:
    text = "word \u200band another\r\n" * 200_000
    start = time.process_time()
    assert len(shown(text, 3)) == 3 + 3
    assert time.process_time() - start < 2


@pytest.fixture
def dirty(tmp_path: Path) -> Path:
    file = tmp_path / "dirty.txt"
    file.write_text(
        "".join(f"te\u200bxt {at} \x1b[2J\u202eevil\n" if at % 2 else "clean\n" for at in range(60)), "utf-8"
    )
    return file


PIPELINE = 'stages = ["clean", "tokenize", "pack", "shard"]\n[input]\ndocuments = "line"\n'


def test_the_command_is_bounded_and_safe_to_print(dirty: Path, tmp_path: Path) -> None:
    pipeline = tmp_path / "p.toml"
    pipeline.write_text(PIPELINE + "[clean]\nbidi = false\n")
    done = mrprep("clean", dirty, "--pipeline", pipeline)
    lines = done.stdout.splitlines()
    assert (done.returncode, len(lines)) == (0, 10 * 3 + 1)
    assert lines[:2] == [
        "dirty.txt:2  ansi 1, zero_width 1",
        "     1  ansi              te\\u200bxt 1 [-\\x1b[2J-]\\u202eevil",
    ]
    assert lines[-1] == "60 documents, 30 changed: ansi 30, zero_width 30"
    assert all(line.isprintable() for line in lines)
    everything = mrprep("clean", dirty, "--pipeline", pipeline, "--all").stdout.splitlines()
    assert len(everything) == 30 * 3 + 1


def test_what_is_no_document_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "fine"}\n{"body": 1}\n')
    done = mrprep("clean", file)
    assert done.stdout.splitlines() == [
        'a.jsonl:2  not a document: "text" is missing; fields there: "body"',
        "1 documents, 0 changed",
    ]
    assert mrprep("clean", tmp_path / "none.txt").returncode == 1


def test_colours_mark_what_goes_and_comes() -> None:
    document = Document(Place("s", b"a.txt", 0, 1), "Cafe\u0301 x")
    (line,) = changes(steps(document, Options()), None, colour=True)
    assert line.endswith("Caf\x1b[31;7me\\u0301\x1b[0m\x1b[32;7mé\x1b[0m x")
