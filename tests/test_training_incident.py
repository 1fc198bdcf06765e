"""A garbage document planted in a real book is named by the step that it spoils."""

import json
import random

import pytest

from mrprep import order
from mrprep.builddir.manifest import open_build
from mrprep.cli.app import run as mrprep
from mrprep.errors import MrprepError
from mrprep.provenance.name import find_document
from mrprep.provenance.tables import stretches, stretches_of_row
from mrprep.training import checkpoint, metrics
from mrprep.training.run import train
from mrprep.training.schedule import ScheduleOptions
from mrprep.training.settings import LoopOptions

pytestmark = pytest.mark.mindspore

PIPELINE = """
stages = ["clean", "tokenize", "pack", "shard"]
[[source]]
name = "book"
path = "book.txt"
documents = "line"
[pack]
seq = 128
[tokenize]
vocab_size = 1000
"""


@pytest.fixture(scope="module")
def spoilt(shared, tmp_path_factory):
    """A play, six paragraphs a document, with a document of random Hangul as its line 121."""
    folder = tmp_path_factory.mktemp("spoilt")
    books = sorted((shared / "corpora/en_gutenberg").rglob("*.md"), key=lambda path: path.stat().st_size)
    text = next(book for book in books if book.stat().st_size > 120_000).read_text()
    paragraphs = [part.replace("\n", " ") for part in text.split("\n\n") if part.strip()]
    documents = [" ".join(paragraphs[k : k + 6]) for k in range(0, len(paragraphs), 6)]
    noise = random.Random(0)
    documents.insert(120, "".join(chr(noise.randrange(0xAC00, 0xD7A3)) for _ in range(130)))
    (folder / "book.txt").write_text("\n".join(documents) + "\n")
    (folder / "mine.toml").write_text(PIPELINE)
    assert mrprep(["build", "--pipeline", str(folder / "mine.toml"), "--out", str(folder / "b")]) == 0
    return folder / "b"


@pytest.fixture(scope="module")
def seed(spoilt):
    """The first with which the row that holds most of the garbage comes in the steps 30 to 39."""
    build = open_build(spoilt)
    (piece,) = find_document(build, "book.txt:121")
    row = max(stretches(build, piece.doc), key=lambda found: found[1]["length"])[1]["row"]
    rows = build.manifest["splits"]["train"]["rows"]
    return next(seed for seed in range(1000) if row in order.rows(seed, 0, rows, 4, 0, 1, 29, 39))


def _train(build, out, seed, on_spike):
    options = LoopOptions(on_spike=on_spike, valid_rows=0, seed=seed)
    schedule = ScheduleOptions(peak=3e-3)
    return train(build, out=out, steps=40, schedule=schedule, options=options, say=lambda line: None)


def test_the_garbage_document_is_named_and_the_choice_obeyed(spoilt, seed, tmp_path):
    _train(spoilt, tmp_path / "ignored", seed, "ignore")
    with pytest.raises(MrprepError, match=r"rank-0: step (\d+) was not finite or far out.*incident\.txt"):
        _train(spoilt, tmp_path / "stopped", seed, "stop")

    (incident,) = (tmp_path / "ignored/incidents").iterdir()
    told = json.loads((incident / "incident.json").read_text())
    other = json.loads((tmp_path / "stopped/incidents" / incident.name / "incident.json").read_text())
    assert (told.pop("update"), other.pop("update")) == ("made", "skipped")
    assert told == other

    worst = told["rows"][0]
    culprit = max(worst["documents"], key=lambda document: document["loss"])
    assert (culprit["source"], culprit["place"]) == ("book", "book.txt:121")
    assert culprit["loss"] > told["loss_limit"]
    assert "\uac00" <= culprit["text"][0] < "\ud7a4"
    assert "loss" in (incident / "incident.txt").read_text()
    assert sum(row["loss"] * row["targets"] for row in told["rows"]) / told["tokens"] == pytest.approx(
        told["loss"], abs=1e-3
    )
    _rows_are_those_of_provenance(spoilt, told)

    step = told["step"]
    seen = metrics.read(tmp_path / "ignored/metrics.jsonl")
    assert [m["step"] for m in seen if m["skipped"]] == []
    assert metrics.read(tmp_path / "stopped/metrics.jsonl")[-1]["skipped"]
    found = checkpoint.latest(tmp_path / "stopped/checkpoints")[1]
    assert (found.step, found.spikes) == (step, 1)


def _rows_are_those_of_provenance(build, told):
    opened = open_build(build)
    (shard,) = opened.manifest["splits"]["train"]["shards"]
    for row in told["rows"]:
        name, _, number = row["row"].partition(":")
        assert name == "train-00000"
        lines = stretches_of_row(opened, shard, int(number))
        assert [d["at"] for d in row["documents"]] == [[s["at"], s["at"] + s["length"]] for s in lines]
