"""A build of the sample corpus gives every planted answer of ``samples/planted.json``, and its totals."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
PLANTED = json.loads((SAMPLES / "planted.json").read_text(encoding="utf-8"))
ENTRIES = PLANTED["planted"]
TOTALS = PLANTED["totals"]

pytestmark = pytest.mark.mindspore


class Built:
    """What a build says of each document, by ``path:line``."""

    def __init__(self, root: Path) -> None:
        rows = _rows(root / "text")
        names = [_name(row) for row in rows]
        self.texts = {name: row["text"] for name, row in zip(names, rows, strict=True)}
        self.dropped = {_name(row): row for row in _rows(root / "dropped")}
        clusters = pq.read_table(root / "dedup" / "clusters.parquet").to_pylist()
        self.twins = {names[row["doc"]]: (names[row["survivor"]], row["kind"]) for row in clusters}
        self.summary = json.loads((root / "report" / "summary.json").read_bytes())


def _rows(folder: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def _name(row: dict[str, Any]) -> str:
    return f"{row['path'].decode()}:{row['line']}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    out = tmp_path_factory.mktemp("samples") / "build"
    command = f"-m mrprep build {SAMPLES}/corpus --seq 256 --vocab-size 2000 --jobs 1 --out {out}"
    subprocess.run([sys.executable, *command.split()], check=True, capture_output=True)
    return Built(out)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e['file']}:{e.get('line', '')}")
def test_planted_answer(built: Built, entry: dict[str, Any]) -> None:
    name = f"{entry['file']}:{entry.get('line')}"
    skipped = {each["path"] for each in built.summary["not_read"]["skipped"]}
    assert (entry["file"] in skipped) == (entry["expect"] == "skipped")
    assert (name in built.texts) == (entry["expect"] in {"kept", "duplicate"})
    assert (name in built.dropped) == (entry["expect"] in {"dropped", "bad-record"})
    assert (name in built.twins) == (entry["expect"] == "duplicate")
    if entry["expect"] == "bad-record":
        assert (built.dropped[name]["stage"], built.dropped[name]["reason"]) == ("read", entry["kind"])
    if entry["expect"] == "duplicate":
        kind = "near" if entry["kind"] == "near-duplicate" else "exact"
        assert built.twins[name] == (entry["twin"], kind)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if "stays" in e or "gone" in e], ids=lambda e: e["file"])
def test_cleaned_text_holds_what_stays_and_nothing_of_what_goes(built: Built, entry: dict[str, Any]) -> None:
    text = built.texts[f"{entry['file']}:{entry['line']}"]
    assert [stays for stays in entry.get("stays", []) if stays not in text] == []
    assert [gone for gone in entry.get("gone", []) if gone in text] == []


def test_totals(built: Built) -> None:
    documents, duplicates = built.summary["documents"], built.summary["duplicates"]
    assert built.summary["files"] == TOTALS["files_read"]
    assert len(built.summary["not_read"]["skipped"]) == TOTALS["files_skipped"]
    assert sum(built.summary["bad_records"].values()) == TOTALS["bad_records"]
    assert documents["kept"] == TOTALS["kept"]
    assert documents["dropped"] == TOTALS["dropped"]
    assert (duplicates["exact"], duplicates["near"]) == (TOTALS["exact_duplicates"], TOTALS["near_duplicates"])
    assert documents["kept"] + documents["dropped"] + documents["duplicates"] == TOTALS["documents"]
