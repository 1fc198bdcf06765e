"""What all charts share: the figure with its caption and legend, the grid, the marks on the axes.

An SVG without a viewBox: places are percentages of the plot, text and lines keep their size on every screen. The room
for the marks is padding of the element (``page.css``), into which the marks are drawn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mrprep.pages.axis import Axis
from mrprep.pages.html import Html, join, tag
from mrprep.pages.numbers import apart

COLORS = 6
"""Colours of series, ``--c0`` and so on in ``page.css``; more begin anew."""


@dataclass(frozen=True, slots=True)
class Caption:
    """What a reader is told of a chart."""

    title: str
    """What it shows."""
    told: str = ""
    """The same for those who do not see it, and under the title: what to read from it, in a sentence."""
    x: str = ""
    """Name of the axis from left to right."""
    y: str = ""
    """Name of the axis from bottom to top."""


@dataclass(frozen=True, slots=True)
class Key:
    """A line of the legend."""

    name: str
    """Of a series."""
    color: int
    """Its colour."""
    faint: bool = False
    """Whether it is drawn pale."""


def figure(caption: Caption, drawing: Sequence[Html], legend: Sequence[Key] = (), kind: str = "") -> Html:
    """Return a chart.

    Args:
        caption: of it.
        drawing: the contents of the SVG.
        legend: of the series, if there is more than one.
        kind: class of the SVG, for its height and room.
    """
    named = tag("title", caption.title), tag("desc", caption.told or f"{caption.y} by {caption.x}")
    keys = [tag("li", tag("span", class_=_key(key)), key.name) for key in legend]
    return tag(
        "figure",
        tag("figcaption", tag("strong", caption.title), tag("span", caption.told) if caption.told else ""),
        tag("ul", *keys, class_="legend") if keys else "",
        tag("div", caption.y, class_="y-name") if caption.y else "",
        tag("svg", *named, *drawing, role="img", class_=f"plot {kind}".strip()),
        tag("div", caption.x, class_="x-name") if caption.x else "",
    )


def _key(key: Key) -> str:
    return f"key c{key.color % COLORS}" + (" faint" if key.faint else "")


def grid(x: Axis | None, y: Axis | None) -> Html:
    """Return lines and marks of the axes that are given."""
    parts: list[Html] = []
    heights, widths = y.ticks() if y else [], x.ticks() if x else []
    for mark, told in zip(heights, apart(heights), strict=True):
        at = percents(1 - y.place(mark)) if y else ""
        parts += [
            tag("line", x1="0", x2="100%", y1=at, y2=at, class_="grid"),
            tag("text", told, x="-8", y=at, dy="0.32em", text_anchor="end"),
        ]
    for mark, told in zip(widths, apart(widths), strict=True):
        parts.append(tag("text", told, x=percents(x.place(mark) if x else 0), y="100%", dy="1.6em"))
    parts.append(tag("line", x1="0", x2="100%", y1="100%", y2="100%", class_="axis"))
    return tag("g", *parts, class_="marks", aria_hidden="true")


def stretched(shapes: Iterable[Html]) -> Html:
    """Return shapes whose coordinates run from 0 to 1000 both ways, stretched over the plot."""
    return tag(
        "svg", *shapes, viewBox="0 0 1000 1000", preserveAspectRatio="none", width="100%", height="100%", class_="over"
    )


def percents(place: float) -> str:
    """Return a place between 0 and 1 as an SVG length."""
    return f"{100 * place:.2f}%"


def group(shapes: Iterable[Html], color: int) -> Html:
    """Return shapes in the colour of a series."""
    return tag("g", join(shapes), class_=f"c{color % COLORS}")
