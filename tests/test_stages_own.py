"""A user's own stages: asked for, counted, the same bytes at any number of jobs, redone when they change."""

import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mrprep.building.build import build
from mrprep.config import load_pipeline, with_inputs
from mrprep.document import Document, Dropped, Place
from mrprep.errors import MrprepError
from mrprep.request import RunOptions
from mrprep.stages import own

MODEL = Path(__file__).resolve().parents[2] / "shared/corpora/tokenizers/spm_test_en_unigram1k.model"
RULES = """
from dataclasses import replace
from mrprep import Document, Dropped

def odd(document):
    number = int(document.text.split()[1])
    if number % 10 == 7:
        1 / 0
    if number % 2:
        return Dropped(document, "odd", f"{number} is")
    return replace(document, text=document.text.replace("fox", "cat"))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make a folder with 60 documents, a pipeline and its module; numbers 7, 17, … fail, other odd ones are dropped."""
    (tmp_path / "in").mkdir()
    for name, numbers in (("a", range(30)), ("b", range(30, 60))):
        lines = (json.dumps({"text": f"number {i} of the quick brown fox"}) for i in numbers)
        (tmp_path / "in" / f"{name}.jsonl").write_text("\n".join(lines))
    (tmp_path / "rules.py").write_text(RULES)
    (tmp_path / "p.toml").write_text(
        'stages = ["clean", "rules:odd", "tokenize", "pack", "shard"]\n'
        f'[tokenize]\nmodel = "{MODEL}"\n'
        "[pack]\nseq = 16\n[shard]\nshards = 1\nvalid = 0.0\n"
    )
    return tmp_path


def made(place: Path, out: str, say: Any = lambda _: None, **options: Any) -> Path:
    pipeline = with_inputs(load_pipeline(str(place / "p.toml"), {}), [place / "in"])
    switches = {"jobs": 1, "allow_code": True, **options}
    return build(pipeline, place / out, RunOptions(**switches), say).path


def digests(path: Path) -> dict[str, str]:
    files = (each for each in path.rglob("*") if each.is_file() and each.name != "run.json")
    return {str(each.relative_to(path)): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


def test_documents_are_changed_dropped_and_counted(place: Path) -> None:
    path = made(place, "one")
    texts = pq.read_table(path / "text").to_pylist()
    assert [row["text"] for row in texts] == [f"number {i} of the quick brown cat" for i in range(0, 60, 2)]
    assert {row["edits"] for row in texts} == {"rules:odd 1"}
    ledger = json.loads((path / "manifest.json").read_text())["ledger"]
    assert ledger["documents"] == {"kept": 30, "dropped": 30, "duplicates": 0, "sampled_out": 0, "empty": 0}
    dropped = pq.read_table(path / "dropped")
    assert Counter(zip(*(dropped.column(name).to_pylist() for name in ("stage", "reason")), strict=True)) == {
        ("rules:odd", "odd"): 24, ("rules:odd", "error"): 6,
    }  # fmt: skip
    assert digests(made(place, "two", jobs=4)) == digests(path)


def test_a_failure_names_the_line_of_the_module_and_of_the_document(place: Path) -> None:
    path = made(place, "one")
    (dropped,) = (pq.read_table(each).to_pylist() for each in (path / "dropped").iterdir())
    failed = [row for row in dropped if row["reason"] == "error"]
    assert [(row["path"], row["line"]) for row in failed] == [(b"a.jsonl", i + 1) for i in (7, 17, 27)] + [
        (b"b.jsonl", i - 29) for i in (37, 47, 57)
    ]
    assert {row["detail"] for row in failed} == {"rules.py:8: ZeroDivisionError: division by zero"}
    for strict in ("one", "new"):
        with pytest.raises(MrprepError, match=r"a\.jsonl:8: .*rules\.py:8: ZeroDivisionError"):
            made(place, strict, strict=True)


def test_a_changed_function_redoes_the_work_unless_its_version_stands(place: Path) -> None:
    said: list[str] = []
    rules = place / "rules.py"
    rules.write_text("VERSION = 1\n" + RULES)
    first = digests(made(place, "out", keep_work=True))
    rules.write_text("VERSION = 1\n# the same\n" + RULES)
    own._module.cache_clear()
    assert digests(made(place, "out", keep_work=True)) == first
    rules.write_text("VERSION = 2\n" + RULES.replace("cat", "dog"))
    own._module.cache_clear()
    with pytest.raises(MrprepError, match=r"own\.rules:odd: \"1\" -> \"2\""):
        made(place, "out", keep_work=True)
    made(place, "out", said.append, keep_work=True, overwrite=True)
    assert any("own.rules:odd" in line for line in said)
    assert "dog" in pq.read_table(place / "out" / "text").column("text")[0].as_py()


def test_no_code_runs_unasked_nor_out_of_the_current_directory(place: Path) -> None:
    (place / "rules.py").write_text("raise SystemExit('ran')")
    with pytest.raises(MrprepError, match=r"runs code of its own \(rules:odd\).*--allow-code"):
        made(place, "out", allow_code=False)
    (place / "elsewhere").mkdir()
    (place / "rules.py").rename(place / "elsewhere" / "rules.py")
    for flags, said in (((), "--allow-code"), (("--allow-code",), "there is no")):
        done = subprocess.run(
            [sys.executable, "-m", "mrprep", "build", place / "in", "--pipeline", place / "p.toml", *flags],
            cwd=place / "elsewhere", capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert said in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise ValueError('x')", r"rules\.py:1: ValueError: x"),
        ("def odd(:", "SyntaxError"),
        ("odd = 3", "odd is no function"),
        ("", "has no attribute 'odd'"),
    ],
)
def test_a_module_that_cannot_be_loaded_is_a_sentence(place: Path, code: str, said: str) -> None:
    (place / "rules.py").write_text(code)
    with pytest.raises(MrprepError, match=said):
        made(place, "out")


def test_an_installed_module_is_found(tmp_path: Path) -> None:
    (stage,) = own.found(["clean", "textwrap:dedent"], tmp_path, allowed=True)
    assert (stage.name, stage.file) == ("textwrap:dedent", None)


@pytest.mark.parametrize("name", ["a:b:c", "a b:c", ":c", "a:", "../a:b", "a..b:c"])
def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "p.toml").write_text(f'stages = ["{name}", "tokenize", "pack", "shard"]')
    with pytest.raises(MrprepError, match="is no module:function"):
        load_pipeline(str(tmp_path / "p.toml"), {})


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ("None", "gave NoneType, not a Document or a Dropped"),
        ("document.text", "gave str"),
        ("Document(Place('s', b'other', 0, 1), 'x')", "another place"),
        ("Document(document.place, '\\ud800')", "surrogates not allowed"),
        ("Dropped(document, '')", "no word"),
    ],
)
def test_what_a_function_must_not_give_is_an_error_of_that_document(tmp_path: Path, given: str, detail: str) -> None:
    (tmp_path / "r.py").write_text(
        f"from mrprep.document import Document, Dropped, Place\ndef f(document):\n    return {given}\n"
    )
    (stage,) = own.found(["r:f"], tmp_path, allowed=True)
    document = Document(Place("s", b"a", 0, 1), "text")
    (item,) = own.passed(stage, [document])
    assert isinstance(item, Dropped)
    assert (item.reason, item.document) == ("error", document)
    assert detail in item.detail
