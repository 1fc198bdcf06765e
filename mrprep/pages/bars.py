"""Bars: a table of named amounts, a histogram, and one bar cut into parts."""

from collections.abc import Callable, Sequence

from mrprep.pages.axis import Axis, axis
from mrprep.pages.chart import COLORS, Caption, Key, figure, grid, percents
from mrprep.pages.html import Html, tag
from mrprep.pages.numbers import percent, short


def bar_table(caption: Caption, amounts: Sequence[tuple[str, float]], shown: Callable[[float], str] = short) -> Html:
    """Return named amounts, not negative, as a table with a bar in each row; names may be long.

    Args:
        caption: of it; ``x`` heads the names and ``y`` the amounts.
        amounts: names and what is shown of them, in the order wanted.
        shown: the amount as text.
    """
    most = max((amount for _, amount in amounts), default=0.0) or 1.0
    rows = [
        tag(
            "tr",
            tag("th", name, scope="row", dir="auto"),
            tag("td", _bar(amount / most), class_="bar", aria_hidden="true"),
            tag("td", shown(amount), class_="number"),
        )
        for name, amount in amounts
    ]
    head = tag("tr", tag("th", caption.x, scope="col"), tag("td"), tag("th", caption.y, scope="col", class_="number"))
    return tag(
        "figure",
        tag("figcaption", tag("strong", caption.title), tag("span", caption.told) if caption.told else ""),
        tag("table", tag("thead", head) if caption.x or caption.y else "", tag("tbody", *rows), class_="bars"),
    )


def _bar(share: float) -> Html:
    return tag("svg", tag("rect", width=percents(share), height="100%", rx=2, class_="c0"), class_="in-row")


def histogram(
    caption: Caption, edges: Sequence[float], counts: Sequence[float], *, log_x: bool = False, log_y: bool = False
) -> Html:
    """Return a histogram; ``edges`` are one more than ``counts``, rising, and above 0 if ``log_x``.

    With ``log_y`` a bar reaches from 0.5 up, so that a count of 1 is seen.
    """
    x = axis(edges, log=log_x)
    y = Axis(0.5, max([*counts, 1.0]) * 1.2, log=True) if log_y else axis([0.0, *counts], zero=True, margin=0.04)
    places = x.places(edges).tolist()
    bars = [
        _column(left, right, max(0.0, y.place(count)), f"{short(a)} to {short(b)}: {short(count)}")
        for left, right, a, b, count in zip(places, places[1:], edges, edges[1:], counts, strict=False)
        if count
    ]
    return figure(caption, [grid(x, y), tag("g", *bars, class_="c0 columns")])


def _column(left: float, right: float, up: float, told: str) -> Html:
    return tag(
        "rect",
        tag("title", told),
        x=percents(left),
        width=percents(right - left),
        y=percents(1 - up),
        height=percents(up),
    )


def parts_bar(caption: Caption, parts: Sequence[tuple[str, float]]) -> Html:
    """Return one bar cut into parts by their amounts, not negative, with a legend that gives their shares."""
    whole = sum(amount for _, amount in parts) or 1.0
    left, drawn = 0.0, []
    for color, (name, amount) in enumerate(parts):
        told = tag("title", f"{name}: {percent(amount / whole)}")
        place = {"x": percents(left), "width": percents(amount / whole)}
        drawn.append(tag("rect", told, height="100%", class_=f"c{color % COLORS} part", **place))
        left += amount / whole
    legend = [Key(f"{name} {percent(amount / whole)}", color) for color, (name, amount) in enumerate(parts)]
    return figure(caption, drawn, legend, kind="strip")
