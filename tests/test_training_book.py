"""Runs on a real play: a planted garbage document is named by the step that it spoils; then eval and generate."""

import gzip
import json
import math
import random
from itertools import islice

import pytest

from mrprep import order
from mrprep.builddir.manifest import open_build
from mrprep.cli.app import run as mrprep
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.provenance.name import find_document
from mrprep.provenance.tables import stretches, stretches_of_row
from mrprep.training import checkpoint, metrics
from mrprep.training.evaluate import evaluate
from mrprep.training.generate import generate
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
    options = LoopOptions(on_spike=on_spike, seed=seed)
    schedule = ScheduleOptions(peak=3e-3)
    return train(build, out=out, steps=40, schedule=schedule, options=options, say=lambda line: None)


@pytest.fixture(scope="module")
def ignored(spoilt, seed, tmp_path_factory):
    """40 steps with the garbage let in."""
    return _train(spoilt, tmp_path_factory.mktemp("ignored"), seed, "ignore").run


def test_the_garbage_document_is_named_and_the_choice_obeyed(spoilt, seed, ignored, tmp_path):
    stopped = tmp_path / "stopped"
    with pytest.raises(MrprepError, match=r"rank-0: step (\d+) was not finite or far out.*incident\.txt"):
        _train(spoilt, stopped, seed, "stop")

    (incident,) = (ignored / "incidents").iterdir()
    told = json.loads((incident / "incident.json").read_text())
    other = json.loads((stopped / "incidents" / incident.name / "incident.json").read_text())
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
    seen = metrics.read(ignored / "metrics.jsonl")
    assert [m["step"] for m in seen if m["skipped"]] == []
    assert metrics.read(stopped / "metrics.jsonl")[-1]["skipped"]
    found = checkpoint.latest(stopped / "checkpoints")[1]
    assert (found.step, found.spikes) == (step, 1)


def _rows_are_those_of_provenance(build, told):
    opened = open_build(build)
    (shard,) = opened.manifest["splits"]["train"]["shards"]
    for row in told["rows"]:
        name, _, number = row["row"].partition(":")
        assert name == "train-00000"
        lines = stretches_of_row(opened, shard, int(number))
        assert [d["at"] for d in row["documents"]] == [[s["at"], s["at"] + s["length"]] for s in lines]


def test_eval_gives_the_loss_that_the_run_had_at_its_end(spoilt, ignored, capsys):
    last = metrics.last_validation(ignored / "valid.jsonl")
    counts = open_build(spoilt).manifest["counts"]["tokens"]
    assert last["bits_per_byte"] == pytest.approx(last["loss"] / math.log(2) * counts["tokens"] / counts["bytes"])
    assert last["tokens"] == open_build(spoilt).manifest["splits"]["valid"]["targets"]
    found = evaluate(ignored, spoilt)
    assert (found["step"], found["tokens"]) == (40, last["tokens"])
    assert found["loss"] == pytest.approx(last["loss"], abs=1e-6)
    assert mrprep(["eval", str(ignored), str(spoilt), "--split", "test"]) == 1
    assert "has no test split" in capsys.readouterr().err


def test_generate_continues_a_prompt_the_same_way_each_time(spoilt, ignored, capsys):
    texts = [generate(ignored, "SHYLOCK", tokens=30, seed=seed) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert mrprep(["generate", str(ignored), "--prompt", "SHYLOCK", "--tokens", "30", "--seed", "1"]) == 0
    assert capsys.readouterr().out.replace("\n", "") == printable("SHYLOCK" + texts[0].replace("\n", ""), 10_000)
    with pytest.raises(MrprepError, match=r"the prompt has \d+ tokens, the model's rows 128"):
        generate(ignored, "word " * 200)
    with pytest.raises(MrprepError, match="name it with --build"):
        generate(ignored / "checkpoints/step-00000040", "SHYLOCK")
    assert generate(ignored / "checkpoints/step-00000040", "SHYLOCK", tokens=30, seed=1, build=spoilt) == texts[0]


LAWS = (
    PIPELINE.replace('name = "book"', 'name = "laws"')
    .replace("book.txt", "laws.jsonl")
    .replace("seq = 128", "seq = 256")
)


@pytest.mark.slow
def test_among_many_rows_it_is_the_worst_stretch_that_tells(shared, tmp_path):
    """600 laws with 600 random characters as the 301st, 16 rows a step: loss and norm of the step are ordinary."""
    with gzip.open(shared / "corpora/zh_laws/laws.jsonl.gz", "rt", encoding="utf-8") as laws:
        texts = [json.loads(line)["text"] for line in islice(laws, 600)]
    noise = random.Random(2)
    texts.insert(300, "".join(chr(noise.randrange(0x21, 0x7E)) for _ in range(600)))
    (tmp_path / "laws.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (tmp_path / "mine.toml").write_text(LAWS.replace('documents = "line"', ""))
    assert mrprep(["build", "--pipeline", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "b")]) == 0
    build = open_build(tmp_path / "b")
    (piece,) = find_document(build, "laws.jsonl:301")
    split = build.manifest["splits"]["train"]
    starts, rows = {}, 0
    for shard in sorted(split["shards"], key=lambda shard: shard["file"]):
        starts[shard["file"]], rows = rows, rows + shard["rows"]
    bad = {starts[file] + line["row"] for file, line in stretches(build, piece.doc)}

    def step_of_first(seed):
        dealt = order.rows(seed, 0, rows, 16, 0, 1, 0, 55)
        return next((k // 16 for k, row in enumerate(dealt.tolist()) if row in bad), 0)

    options = LoopOptions(seed=next(s for s in range(1000) if step_of_first(s) >= 40), micro_batch=16, valid_rows=0)
    run = train(build.path, out=tmp_path / "run", steps=56, schedule=ScheduleOptions(peak=3e-3), options=options).run
    incidents = [json.loads(file.read_text()) for file in run.glob("incidents/*/incident.json")]
    assert incidents
    for told in incidents:
        assert "of a stretch of a row is far above" in told["reason"]
        assert (told["loss"] < told["loss_limit"], told["norm"] < told["norm_limit"]) == (True, True)
        assert "laws.jsonl:301" in {document["place"] for document in told["rows"][0]["documents"]}
