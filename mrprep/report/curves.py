"""The curves of a run, over its steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mrprep.pages.chart import Caption
from mrprep.pages.html import Html
from mrprep.pages.lines import Mark, Series, line_chart
from mrprep.pages.page import side_by_side
from mrprep.report.state import Run

Floats = npt.NDArray[np.float64]

_SMOOTH = 50
"""The smoothed line is a mean over this part of the steps, and over at least ``_LEAST``."""
_LEAST = 5


@dataclass(frozen=True, slots=True)
class _Curve:
    """How one number of the steps is shown."""

    name: str
    """In ``metrics.jsonl``."""
    title: str
    told: str = ""
    y: str = ""
    log_y: bool = False
    noisy: bool = False
    """Whether it is smoothed too."""
    factor: float = 1.0
    zero: bool = True
    """Whether it begins at 0, if it does not go by the logarithm."""


_CURVES = (
    _Curve("norm", "Gradient norm", "Before clipping.", log_y=True, noisy=True),
    _Curve(
        "peak",
        "Worst stretch",
        "Highest mean loss of 128 places or so of a row.",
        "nats a place",
        noisy=True,
        zero=False,
    ),
    _Curve("lr", "Learning rate"),
    _Curve("tokens_per_s", "Speed", "All ranks together.", "tokens a second", noisy=True),
    _Curve("memory", "Memory", "Of rank 0.", "GiB", factor=2**-30),
    _Curve("device_memory", "Device memory", "Of rank 0.", "GiB", factor=2**-30),
    _Curve("loss_scale", "Loss scale", "Halved where half precision overflows.", log_y=True),
)


def curves(run: Run) -> Html:
    """Return all charts over steps; of numbers that the run does not know there is none."""
    marks = list(_marks(run))
    known = [curve for curve in _CURVES if np.isfinite(column(run, curve.name)).any()]
    return side_by_side(*_loss(run, marks), *(_chart(run, curve, marks) for curve in known))


def _loss(run: Run, marks: Sequence[Mark]) -> Iterator[Html]:
    """Yield the loss over steps, and over their logarithm."""
    steps, loss = [m["step"] for m in run.steps], column(run, "loss")
    lines = [
        Series("train, each step", steps, loss.tolist(), faint=True, color=0),
        Series("train, smoothed", steps, smooth(loss, window(len(steps))).tolist(), color=0),
    ]
    if run.valid:
        seen = [v["step"] for v in run.valid], [v["loss"] for v in run.valid]
        lines.append(Series("validation", *seen, points=True, color=1))
    yield line_chart(Caption("Loss", _marks_told(marks), "step", "nats a token"), lines, marks=marks)
    told = "A power law is a straight line here."
    yield line_chart(Caption("Loss by logarithms", told, "step", "nats a token"), lines, log_x=True, log_y=True)


def _chart(run: Run, curve: _Curve, marks: Sequence[Mark]) -> Html:
    steps, values = [m["step"] for m in run.steps], column(run, curve.name) * curve.factor
    series = [Series("each step", steps, values.tolist(), faint=curve.noisy, color=0)]
    if curve.noisy:
        series.append(Series("smoothed", steps, smooth(values, window(len(steps))).tolist(), color=0))
    caption = Caption(curve.title, curve.told, "step", curve.y)
    return line_chart(caption, series, marks=marks, log_y=curve.log_y, zero=curve.zero and not curve.log_y)


def column(run: Run, name: str) -> Floats:
    """Return one number of each step; NaN where there is none."""
    values = [m.get(name) for m in run.steps]
    return np.array([np.nan if value is None else value for value in values], np.float64)


def window(steps: int) -> int:
    """Return over how many steps is smoothed."""
    return max(_LEAST, steps // _SMOOTH)


def smooth(values: Floats, width: int) -> Floats:
    """Return at each place the mean of the last ``width`` values, at the start of fewer: of a quarter of those before.

    Values that are not finite are left out; NaN where there is none else.
    """
    good, place = np.isfinite(values), np.arange(len(values))
    sums, counts = (np.concatenate([[0.0], np.cumsum(part)]) for part in (np.where(good, values, 0.0), good))
    first = place + 1 - np.minimum(width, 1 + place // 4)
    total, count = sums[place + 1] - sums[first], counts[place + 1] - counts[first]
    return np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0)


def _marks(run: Run) -> Iterator[Mark]:
    for event in run.events:
        if event["what"] == "started" and event["step"]:
            yield Mark(event["step"], f"started again after step {event['step']:,} ({event['told']})")
    for incident in run.incidents:
        yield Mark(incident["step"], f"step {incident['step']:,}: {incident['reason']}", bad=True)


def _marks_told(marks: Sequence[Mark]) -> str:
    bad = sum(mark.bad for mark in marks)
    named = [(bad, "red: an incident"), (len(marks) - bad, "grey: started again")]
    told = ", ".join(word for count, word in named if count)
    return f"Upright lines, {told}." if told else ""
