"""Line charts: series over a common axis, straight or by logarithm, with points, marks and limits."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from mrprep.pages.axis import Axis, Floats, axis
from mrprep.pages.chart import Caption, Key, figure, grid, group, percents, stretched
from mrprep.pages.html import Html, tag
from mrprep.pages.numbers import short

STRETCHES = 400
"""Into so many stretches the axis under a long series is cut; the least and the greatest value of each are drawn."""


@dataclass(frozen=True, slots=True)
class Series:
    """A line."""

    name: str
    """In the legend."""
    x: Sequence[float]
    """Rising."""
    y: Sequence[float | None]
    """One to each x; None and what is not finite are gaps."""
    faint: bool = False
    """Drawn thin and pale, under the others: raw values beside smoothed ones."""
    points: bool = False
    """Whether each value has a point: for few values."""
    color: int | None = None
    """Its colour; by its place among the series if None."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on the x axis worth knowing."""

    at: float
    """Where."""
    told: str
    """What happened there."""
    bad: bool = False
    """Whether it is a fault."""


def line_chart(
    caption: Caption,
    series: Sequence[Series],
    *,
    log_x: bool = False,
    log_y: bool = False,
    zero: bool = False,
    marks: Sequence[Mark] = (),
) -> Html:
    """Return a line chart.

    Args:
        caption: of it.
        series: its lines, those first that lie under the others.
        log_x: x by its logarithm.
        log_y: y by its logarithm; values not above 0 are left out.
        zero: y begins at 0.
        marks: upright lines, told when pointed at.
    """
    x = axis(chain.from_iterable(one.x for one in series), log=log_x)
    y = axis(chain.from_iterable(_numbers(one.y) for one in series), log=log_y, zero=zero, margin=0.04)
    colors = [k if one.color is None else one.color for k, one in enumerate(series)]
    drawn = [_line(one, color, x, y) for one, color in zip(series, colors, strict=True)]
    points = [_points(one, color, x, y) for one, color in zip(series, colors, strict=True) if one.points]
    legend = [Key(one.name, color, one.faint) for one, color in zip(series, colors, strict=True)]
    legend = legend if len(series) > 1 else []
    return figure(caption, [grid(x, y), stretched(drawn), *points, *(_mark(mark, x) for mark in marks)], legend)


def _numbers(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _line(series: Series, color: int, x: Axis, y: Axis) -> Html:
    across, up = x.places(series.x), y.places(_numbers(series.y))
    kept = thin(across, up, STRETCHES)
    across, up = across[kept], up[kept]
    path = "".join(_strokes(across * 1000, (1 - up) * 1000))
    return group([tag("path", d=path, class_="line faint" if series.faint else "line")], color)


def _strokes(across: Floats, down: Floats) -> Iterator[str]:
    pen = "M"
    for a, b in zip(across.tolist(), down.tolist(), strict=True):
        if math.isnan(a) or math.isnan(b):
            pen = "M"
            continue
        yield f"{pen}{a:.1f} {b:.1f}"
        pen = "L"


def thin(across: Floats, up: Floats, stretches: int) -> npt.NDArray[np.int64]:
    """Return the indices of the least and the greatest value of each of so many equal stretches of the x axis.

    What is drawn of them looks the same as all of them: no peak is lost.

    Args:
        across: places from 0 to 1, rising.
        up: values; NaN is a gap.
        stretches: of the axis.
    """
    if len(up) <= 2 * stretches:
        return np.arange(len(up))
    of = np.clip(np.nan_to_num(across) * stretches, 0, stretches - 1).astype(np.int64)
    firsts = np.unique(of, return_index=True)[1]
    ranked = [np.lexsort((np.where(np.isnan(up), np.inf, sign * up), of))[firsts] for sign in (1, -1)]
    found: npt.NDArray[np.int64] = np.unique(np.concatenate([[0, len(up) - 1], *ranked]))
    return found


def _points(series: Series, color: int, x: Axis, y: Axis) -> Html:
    places = zip(series.x, series.y, x.places(series.x), y.places(_numbers(series.y)), strict=True)
    circles = [
        tag("circle", tag("title", f"{short(a)}: {short(b)}"), cx=percents(across), cy=percents(1 - up), r=3)
        for a, b, across, up in places
        if b is not None and not math.isnan(up)
    ]
    return group(circles, color)


def _mark(mark: Mark, x: Axis) -> Html:
    at = percents(x.place(mark.at))
    return tag(
        "g",
        tag("title", mark.told),
        tag("line", x1=at, x2=at, y1="0", y2="100%"),
        tag("circle", cx=at, cy="0", r=4),
        class_="mark bad" if mark.bad else "mark",
    )
