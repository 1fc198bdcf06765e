"""The page of a made-up run: what stands in it, worked out by hand. No MindSpore."""

import fcntl
import json
import math

import numpy as np
import pytest
from html_tree import read_html

from mrprep.cli.app import run as mrprep
from mrprep.pages.numbers import short
from mrprep.report.curves import smooth
from mrprep.report.layers import by_layer
from mrprep.report.page import write_report
from mrprep.training import history, metrics, rundir
from mrprep.training.presets import resolve
from mrprep.training.schedule import Schedule
from mrprep.training.settings import Settings

STEPS = 240
EVIL = "</script><b>法律</b>\u202e"


@pytest.fixture
def run(tmp_path):
    """240 of 300 steps at 2 ranks, killed at 100, an incident at step 150, whose update was skipped."""
    path = tmp_path / EVIL.replace("/", "_")
    path.mkdir()
    (path / rundir.LOCK).touch()
    settings = Settings(
        builds=(tmp_path / "gone",), run=path, model=resolve("tiny", 1000, 64), ranks=2, schedule=Schedule(total=300)
    )
    (path / "settings.json").write_text(settings.model_dump_json())
    log = metrics.StepLog(path, ["model.layers.0.a", "model.layers.0.b", "lm_head.weight"], 50)
    for step in range(1, STEPS + 1):
        log.write(_metric(step), [3.0, 4.0, 0.5])
    log.close()
    file = metrics.MetricsFile(path / "valid.jsonl")
    for step in (100, 200):
        file.write({"step": step, "loss": 3.5, "perplexity": 33.1, "bits_per_byte": 1.25, "tokens": 640})
    file.close()
    for what, step in (("started", 0), ("started", 100), ("stopped", 240)):
        history.note(path, what, step, "ranks: 2" if what == "started" else "")
    incident = path / "incidents/step-00000150"
    incident.mkdir(parents=True)
    (incident / "incident.json").write_text(json.dumps(_incident()))
    return path


def _metric(step):
    bad = step == 150
    return metrics.Metric(
        step=step, at=1.8e9 + step, loss=None if bad else 9 - step / 50, lr=1e-3, norm=None if bad else 1.0, peak=9.5,
        tokens=512, tokens_per_s=256.0, seconds=2.0, waited=0.02, communication=None if step < 5 else 0.5,
        memory=3 << 29, device_memory=None, skipped=bad, overflow=False,
        loss_scale=65536.0 if step < 150 else 32768.0,
    )  # fmt: skip


def _incident():
    documents = [
        {"id": "00000000000000aa", "source": "s", "place": "a.txt:7", "loss": 2.0, "text": "fine"},
        {"id": "00000000000000bb", "source": "s", "place": "a.txt:9", "loss": None, "text": EVIL},
    ]
    rows = [{"rank": 1, "build": "b", "row": "train-00000:5", "loss": None, "targets": 64, "documents": documents}]
    return {"step": 150, "reason": "loss or gradient is not finite", "loss": None, "update": "skipped", "rows": rows}


def _cards(page):
    return {
        card.all("dt")[0].text: [line.text for line in card.all("dd")]
        for card in page.all("dl", class_="cards")[0].children
    }


def test_the_page_tells_the_run(run):
    page = read_html(write_report(run).read_text())
    assert page.all("h1")[0].text == "Training run " + EVIL.replace("/", "_").replace("\u202e", r"\u202e")
    assert "stopped after step 240 of 300 · page made" in page.all("header")[0].text
    cards = _cards(page)
    assert cards["Loss"] == ["4.24", "from 8.980; nats a token"]  # mean of the last 5: 4.2 to 4.28
    assert cards["Validation loss"] == ["3.500", "perplexity 33.1, 1.250 bits a byte"]
    assert cards["Steps"] == ["240", "80 % of 300"]
    flops = resolve("tiny", 1000, 64).flops_per_token(64) * 256
    assert cards["Tokens a second"] == ["256", f"{short(flops)}FLOP/s; {short(240 * 512)} in all"]
    assert cards["Waiting for rows"] == ["1 %", "of the time"]
    assert cards["Sums over ranks"] == ["25 %", "of the time"]
    assert cards["Memory"][0] == "1.5 GiB"
    assert cards["Incidents"] == ["1", "1 of 240 steps skipped"]
    notes = [node.text for node in page.all("p", class_="note")]
    assert notes[0].startswith("The first 100 steps: falling")
    assert notes[1].startswith("The second half: falling")
    assert notes[2].endswith("gone is not a finished build (no manifest.json in it): name the --out of a build")


def test_curves_have_marks_and_the_incident_its_text(run):
    page = read_html(write_report(run).read_text())
    titles = [figure.all("strong")[0].text for figure in page.all("figure")]
    assert titles == [
        "Loss", "Loss by logarithms", "Gradient norm", "Worst stretch", "Learning rate", "Speed", "Memory",
        "Loss scale", "Time of a step", "Gradient norm of each layer",
    ]  # fmt: skip
    marks = [mark.all("title")[0].text for mark in page.all("figure")[0].all("g", class_="mark")]
    assert marks == ["started again after step 100 (ranks: 2)", "step 150: loss or gradient is not finite"]
    (opened,) = [fold for fold in page.all("details") if "open" in fold.attributes]
    assert opened.all("summary")[0].text == "Step 150: loss or gradient is not finite"
    assert [text.text for text in opened.all("pre")] == [EVIL.replace("\u202e", r"\u202e"), "fine"]
    assert [code.text for code in opened.all("code")] == [
        "mrprep show b train-00000:5", "mrprep why b 00000000000000bb", "mrprep why b 00000000000000aa",
    ]  # fmt: skip
    cells = page.all("table", class_="heat")[0].all("td")
    assert [cell.text for cell in cells] == ["layer / step", *["5"] * 4, *["0.5"] * 4]
    rows = [[cell.text for cell in row.all("td")][1:] for row in page.all("section")[4].all("tr")[1:]]
    assert rows == [
        ["started", "0", "ranks: 2"], ["started", "100", "the run before was killed; ranks: 2"], ["stopped", "240", ""],
    ]  # fmt: skip


def test_a_run_under_way_is_told_as_one(run, tmp_path):
    with (run / rundir.LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        page = read_html(write_report(run, tmp_path / "page.html", audited=False).read_text())
    assert "running: step 240 of 300" in page.all("header")[0].text
    assert _cards(page)["Steps"] == ["240", "80 % of 300; 2 min 00 s left"]


def test_of_what_is_no_run_or_has_no_step_there_is_no_page(run, tmp_path, capsys):
    assert mrprep(["report", str(tmp_path)]) == 1
    assert "is no training run" in capsys.readouterr().err
    (run / "metrics.jsonl").write_bytes(b"")
    assert mrprep(["report", str(run)]) == 1
    assert "has done no step yet" in capsys.readouterr().err
    assert not list(run.glob("*.html"))


def test_smoothing_by_a_slow_mean():
    values = np.random.default_rng(0).standard_normal(60)
    values[[0, 17, 18]] = math.nan
    smoothed = smooth(values, 7)
    for k, found in enumerate(smoothed):
        wanted = [v for v in values[k + 1 - min(7, 1 + k // 4) : k + 1] if not math.isnan(v)]
        assert found == pytest.approx(np.mean(wanted)) if wanted else math.isnan(found)


def test_norms_of_weights_come_together_by_layer():
    norms = {"model.embed_tokens.weight": 2.0, "model.layers.3.a.weight": 3.0, "model.layers.3.b.weight": 4.0,
             "model.layers.10.a.weight": None}  # fmt: skip
    assert by_layer(norms) == {"embed_tokens": 2.0, "layer 3": 5.0, "layer 10": None}
