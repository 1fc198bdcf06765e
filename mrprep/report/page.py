"""The whole page of a run, in one file."""

import os
import time
from pathlib import Path

from mrprep.pages.bars import parts_bar
from mrprep.pages.chart import Caption
from mrprep.pages.html import Html, join
from mrprep.pages.numbers import duration
from mrprep.pages.page import cards, facts, foldable, note, page, section, side_by_side
from mrprep.report import data, events, heads
from mrprep.report.curves import curves
from mrprep.report.layers import layers
from mrprep.report.state import Run, read_run


def write_report(path: Path, out: Path | None = None, *, audited: bool = True) -> Path:
    """Write the page of a run, finished or under way, and return where it stands.

    Args:
        path: directory of the run.
        out: file to write; ``report.html`` in the run if None.
        audited: look at some rows of its builds too, a second or so each.

    Raises:
        MrprepError: no run, or one that has done no step yet.
    """
    target = out or path / "report.html"
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.write_text(run_page(read_run(path), audited=audited), encoding="utf-8")
    temporary.replace(target)
    return target


def run_page(run: Run, *, audited: bool) -> Html:
    """Return the page."""
    verdicts = [note(told, level) for told, level in heads.verdicts(run)]
    made = f"{run.path.resolve()} · {run.told} · page made {events.moment(time.time())}"
    return page(
        f"Training run {run.path.resolve().name}",
        made,
        cards(*heads.cards(run)),
        *verdicts,
        section("Curves", curves(run)),
        section("Incidents", events.incidents(run)),
        section("Where the time went", side_by_side(_time(run), *layers(run))),
        section("Data", data.data(run, audited=audited)),
        section("Starts and ends", events.history(run)),
        section("Settings", _settings(run)),
    )


def _time(run: Run) -> Html:
    seconds = sum(m["seconds"] for m in run.steps)
    waited = sum(m["waited"] for m in run.steps)
    sums = sum(m["communication"] or 0.0 for m in run.steps)
    told = f"{duration(seconds)} of steps in all; sums over the ranks as timed alone."
    parts = [("computing", max(0.0, seconds - waited - sums)), ("waiting for rows", waited)]
    return parts_bar(Caption("Time of a step", told), [*parts, *([("sums over the ranks", sums)] if sums else [])])


def _settings(run: Run) -> Html:
    settings, model = run.settings, run.settings.model
    batch = f"{settings.global_batch} rows = {settings.micro_batch} x {settings.ranks} ranks x {settings.accumulate}"
    schedule = settings.schedule
    known = [
        ("parameters", f"{model.parameter_count:,}"),
        ("layers", f"{model.num_hidden_layers} of {model.hidden_size}"),
        ("global batch", batch),
        ("learning rate", f"{schedule.peak:g}, {schedule.decay}, {schedule.warmup} steps of warm-up"),
    ]
    every = [(name, str(value)) for name, value in settings.model_dump(exclude={"model", "schedule"}).items()]
    shape = [(name, str(value)) for name, value in model.model_dump().items()]
    return join([facts(known), foldable("All settings", facts(every)), foldable("The model's shape", facts(shape))])
