"""The sample corpus is what ``samples/make.py`` gives, and holds what ``samples/planted.json`` says it does.

Read here by means of its own, so that the planted answers don't rest on the code they are meant to test.
"""

import gzip
import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
CORPUS = SAMPLES / "corpus"
PLANTED = json.loads((SAMPLES / "planted.json").read_text(encoding="utf-8"))
ENTRIES = PLANTED["planted"]
TOTALS = PLANTED["totals"]
ENCODINGS = {"dirt/gb18030.txt": "gb18030", "dirt/utf16.txt": "utf-16"}
SHARED_LINE = "HARBOUR BULLETIN. Read it, pass it on, and don't leave it on the bench."


def all_files() -> list[str]:
    return sorted(p.relative_to(CORPUS).as_posix() for p in CORPUS.rglob("*") if p.is_file())


def skipped(name: str) -> bool:
    return Path(name).name.startswith(".") or name.endswith(".csv")


def raw(name: str) -> bytes:
    return (CORPUS / name).read_bytes()


def records(name: str) -> Iterator[tuple[int, str | None]]:
    """Yield (line or row, text); None where the record is no document."""
    content = raw(name)
    if name.endswith((".txt", ".md")):
        yield 1, content.decode(ENCODINGS.get(name, "utf-8-sig"))
    elif name.endswith(".parquet"):
        yield from enumerate(pq.read_table(CORPUS / name)["text"].to_pylist(), 1)
    else:
        lines = (gzip.decompress(content) if name.endswith(".gz") else content).split(b"\n")
        yield from ((at, json_text(line)) for at, line in enumerate(lines, 1) if line.strip())


def json_text(line: bytes) -> str | None:
    try:
        text = json.loads(line).get("text")
    except json.JSONDecodeError:
        return None
    return text if isinstance(text, str) else None


@cache
def documents() -> dict[str, str | None]:
    return {f"{name}:{at}": text for name in all_files() if not skipped(name) for at, text in records(name)}


def text_of(entry: dict[str, Any]) -> str:
    text = documents()[f"{entry['file']}:{entry['line']}"]
    assert text is not None
    return text


def twin_of(entry: dict[str, Any]) -> str:
    text = documents()[entry["twin"]]
    assert text is not None
    return text


def units(text: str) -> list[str]:
    """Han characters and words, width and case folded, punctuation left out; a character at a time."""
    found, word = [], ""
    for char in unicodedata.normalize("NFKC", text).casefold():
        if unicodedata.name(char, "").startswith("CJK UNIFIED"):
            found += [word, char]
            word = ""
        elif unicodedata.category(char)[0] in "LNM":
            word += char
        else:
            found.append(word)
            word = ""
    return [unit for unit in [*found, word] if unit]


def shingles(text: str) -> set[tuple[str, ...]]:
    stream = units(text)
    return {tuple(stream[at : at + 5]) for at in range(max(1, len(stream) - 4))}


def jaccard(one: str, other: str) -> float:
    a, b = shingles(one), shingles(other)
    return len(a & b) / len(a | b)


def is_gb18030(entry: dict[str, Any]) -> bool:
    content = raw(entry["file"])
    with pytest.raises(UnicodeDecodeError):
        content.decode("utf-8")
    four_bytes = [c for c in text_of(entry) if len(c.encode("gb18030")) == 4]
    return "，" in text_of(entry) and any(c > "\uffff" for c in four_bytes)


def is_controls(entry: dict[str, Any]) -> bool:
    text = text_of(entry)
    return all(c in text for c in "\x1b\x07\0\f\x1a\x1f\x91") and "night.\fSo" in text


def is_joiners(entry: dict[str, Any]) -> bool:
    return all(stays in text_of(entry) for stays in entry["stays"]) and bool(set(text_of(entry)) & {"\u200c", "\u200d"})


def is_crlf(entry: dict[str, Any]) -> bool:
    text = text_of(entry)
    return text.count("\r\n") == text.count("\n") > 5 and text.replace("\r\n", "\n") == twin_of(entry)


def is_nfd(entry: dict[str, Any]) -> bool:
    text = text_of(entry)
    return text != twin_of(entry) and unicodedata.normalize("NFC", text) == twin_of(entry)


def is_near(entry: dict[str, Any]) -> bool:
    return 0.84 <= jaccard(text_of(entry), twin_of(entry)) <= 0.95 and len(text_of(entry)) < len(twin_of(entry))


def is_repetitive(entry: dict[str, Any]) -> bool:
    lines = text_of(entry).splitlines()
    return len(lines) == 200 and len(set(lines)) == 1


def broken_line(entry: dict[str, Any]) -> bytes:
    line: int = entry["line"]
    return raw(entry["file"]).split(b"\n")[line - 1]


def is_bad_json(entry: dict[str, Any]) -> bool:
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken_line(entry))
    return True


CHECKS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "gb18030": is_gb18030,
    "utf8-bom": lambda e: raw(e["file"]).startswith(b"\xef\xbb\xbf"),
    "utf16-bom": lambda e: raw(e["file"]).startswith(b"\xff\xfe") and "The Second Byte" in text_of(e),
    "controls": is_controls,
    "zero-width": lambda e: all(c in text_of(e) for c in "\u200b\u2060\ufeff\u200e\u00ad"),
    "joiners": is_joiners,
    "crlf": is_crlf,
    "cr": lambda e: raw(e["file"]).count(b"\r") == 5 and b"\n" not in raw(e["file"]),
    "nfc": lambda e: unicodedata.is_normalized("NFC", text_of(e)),
    "nfd": is_nfd,
    "exact-duplicate": lambda e: text_of(e) == twin_of(e) and Path(e["file"]).suffix != Path(e["twin"]).suffix,
    "near-duplicate": is_near,
    "look-alike": lambda e: 0.5 <= jaccard(text_of(e), twin_of(e)) <= 0.7,
    "bad-json": is_bad_json,
    "no-text": lambda e: "text" not in json.loads(broken_line(e)),
    "null-text": lambda e: json.loads(broken_line(e)) == {"text": None},
    "no-final-newline": lambda e: not raw(e["file"]).endswith(b"\n") and text_of(e).startswith("Every evening"),
    "blank-text": lambda e: text_of(e) != "" and text_of(e).strip() == "",
    "empty-file": lambda e: raw(e["file"]) == b"",
    "empty-jsonl": lambda e: raw(e["file"]) == b"",
    "garbled": lambda e: text_of(e).count("\ufffd") > len(text_of(e)) * 0.4,
    "repetitive": is_repetitive,
    "boilerplate": lambda e: text_of(e).split("\n")[0] == SHARED_LINE,
    "special-tokens": lambda e: "</s>" in text_of(e) and "<|endoftext|>" in text_of(e),
    "unknown-ending": lambda e: e["file"].endswith(".csv"),
    "hidden": lambda e: Path(e["file"]).name.startswith("."),
}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e['file']}:{e.get('line', '')}")
def test_planted_dirt_is_there(entry: dict[str, Any]) -> None:
    assert CHECKS[entry["kind"]](entry)


def plainly_cleaned(text: str) -> str:
    text = re.sub(r"\x1b\[[0-9;]*m|\x1b\][^\x07]*\x07", "", text)
    text = re.sub(r"\r\n|\r|\f", "\n", text)
    return re.sub("[\0-\x08\x0e-\x1f\x7f-\x9f\u200b\u200e\u2060\ufeff\u00ad]", "", text)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if "stays" in e or "gone" in e], ids=lambda e: e["file"])
def test_stays_and_gone_are_true_of_a_text_cleaned_by_hand(entry: dict[str, Any]) -> None:
    cleaned = plainly_cleaned(text_of(entry))
    assert [stays for stays in entry.get("stays", []) if stays not in cleaned] == []
    assert [gone for gone in entry.get("gone", []) if gone in cleaned] == []


@pytest.mark.parametrize("kind", ["controls", "zero-width", "crlf", "cr"])
def test_something_is_there_to_be_cleaned(kind: str) -> None:
    (entry,) = (e for e in ENTRIES if e["kind"] == kind)
    assert any(gone in text_of(entry) for gone in entry["gone"])


def test_the_planted_pairs_are_the_only_ones() -> None:
    sets = {name: shingles(text) for name, text in documents().items() if text and text.strip()}
    alike = {
        frozenset(pair)
        for pair in itertools.combinations(sets, 2)
        if len(sets[pair[0]] & sets[pair[1]]) >= 0.4 * len(sets[pair[0]] | sets[pair[1]])
    }
    assert alike == {frozenset([f"{e['file']}:{e['line']}", e["twin"]]) for e in ENTRIES if "twin" in e}


def test_totals_are_those_of_a_plain_count() -> None:
    expected = Counter(e["expect"] for e in ENTRIES)
    near = sum(e["kind"] == "near-duplicate" for e in ENTRIES)
    names = all_files()
    texts = documents()
    good = [name for name, text in texts.items() if text is not None]
    counted = {
        "files_read": sum(not skipped(name) for name in names),
        "files_skipped": sum(skipped(name) for name in names),
        "records": len(texts),
        "documents": len(good),
        "bad_records": len(texts) - len(good),
        "dropped": expected["dropped"],
        "exact_duplicates": expected["duplicate"] - near,
        "near_duplicates": near,
        "kept": len(good) - expected["dropped"] - expected["duplicate"],
    }
    assert counted == TOTALS
    assert expected["bad-record"] == TOTALS["bad_records"]
    assert expected["skipped"] == TOTALS["files_skipped"]


def test_the_rest_of_the_corpus_is_clean_and_about_half_chinese() -> None:
    planted = {e["file"] for e in ENTRIES if e["file"].startswith("dirt/")}
    assert planted | {"dirt/near-ferry.md"} == {name for name in all_files() if name.startswith("dirt/")}
    clean = [text for name, text in documents().items() if name.startswith("clean/")]
    joined = "".join(text for text in clean if text)
    assert None not in clean
    assert not [c for c in set(joined) if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Co", "Cn"}]
    assert unicodedata.is_normalized("NFC", joined)
    chinese = sum(len(text.encode()) for text in clean if text and len(text.encode()) > 2 * len(text))
    everything = sum(len(text.encode()) for text in documents().values() if text)
    assert 150_000 <= everything <= 300_000
    assert 0.4 <= chinese / len(joined.encode()) <= 0.6


def test_the_committed_corpus_is_what_the_script_gives(tmp_path: Path) -> None:
    """To the byte, but for Parquet and gzip, whose bytes are those of one pyarrow and one zlib: what they hold."""
    subprocess.run([sys.executable, SAMPLES / "make.py", tmp_path], check=True, env=os.environ | {"LC_ALL": "C"})
    made = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file())
    assert made == [n for n in all_files() if not n.startswith(("clean/en/", "clean/zh/"))]
    for name in made:
        if name.endswith(".parquet"):
            assert pq.read_table(tmp_path / name).equals(pq.read_table(CORPUS / name)), name
        elif name.endswith(".gz"):
            assert gzip.decompress((tmp_path / name).read_bytes()) == gzip.decompress(raw(name)), name
        else:
            assert (tmp_path / name).read_bytes() == raw(name), name


@pytest.mark.parametrize("name", ["clean/tales.parquet", "clean/tools.parquet"])
def test_parquet_holds_large_strings_in_several_row_groups(name: str) -> None:
    file = pq.ParquetFile(CORPUS / name)
    assert file.schema_arrow.field("text").type == pa.large_string()
    assert file.num_row_groups > 1


@pytest.mark.parametrize("name", ["clean/kitchen.jsonl.gz", "clean/stories.jsonl.gz"])
def test_gzip_carries_no_time_and_no_name(name: str) -> None:
    assert raw(name)[3:8] == b"\0" * 5


def test_readme_names_every_planted_file() -> None:
    readme = (SAMPLES / "README.md").read_text(encoding="utf-8")
    assert not [e["file"] for e in ENTRIES if e["file"] not in readme]


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("samples_demo", SAMPLES / "demo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "OUT", tmp_path / "demo-out")
    monkeypatch.setattr(module, "MARK", tmp_path / "demo-out" / ".made-by-demo")
    return module


def test_demo_stops_at_the_first_failure_with_its_code(
    demo: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "COMMANDS", ("mrprep --version", "mrprep no-such-command", "mrprep --help"))
    assert demo.main() == 2
    out = capfd.readouterr().out
    assert "$ mrprep no-such-command" in out
    assert "$ mrprep --help" not in out
    assert "Where to look next" not in out


def test_demo_removes_only_what_it_made(demo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "COMMANDS", ())
    demo.OUT.mkdir()
    (demo.OUT / "mine.txt").write_text("not the demo's")
    assert demo.main() == 1
    assert (demo.OUT / "mine.txt").exists()
    (demo.OUT / "mine.txt").rename(demo.OUT / ".made-by-demo")
    (demo.OUT / "old").mkdir()
    assert demo.main() == 0
    assert not (demo.OUT / "old").exists()


def test_demo_points_to_documents_that_are_there(demo: Any) -> None:
    for name in ("dirt/near-river.txt", "clean/en/tides.md"):
        assert f"demo-out/build {name} " in demo.WHERE_NEXT
        assert (CORPUS / name).is_file()
