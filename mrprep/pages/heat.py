"""Heat maps: a matrix of amounts as cells of one colour, the fuller the more."""

from collections.abc import Callable, Sequence

from mrprep.pages.chart import Caption
from mrprep.pages.html import Html, tag
from mrprep.pages.numbers import short


def heat_map(
    caption: Caption,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    *,
    shown: Callable[[float], str] = short,
    most: float | None = None,
) -> Html:
    """Return a heat map as a table, whose cells hold their numbers.

    Args:
        caption: of it; ``y`` names the rows and ``x`` the columns.
        rows: names.
        columns: names.
        values: one a cell, not negative; None leaves it empty.
        shown: the number as text.
        most: value of the fullest colour; the greatest if None.
    """
    full = most or max((value for row in values for value in row if value is not None), default=0.0) or 1.0
    corner = " / ".join(name for name in (caption.y, caption.x) if name)
    head = tag("tr", tag("td", corner), *(tag("th", name, scope="col", dir="auto") for name in columns))
    body = [
        tag("tr", tag("th", name, scope="row", dir="auto"), *(_cell(value, full, shown) for value in row))
        for name, row in zip(rows, values, strict=True)
    ]
    return tag(
        "figure",
        tag("figcaption", tag("strong", caption.title), tag("span", caption.told) if caption.told else ""),
        tag("div", tag("table", tag("thead", head), tag("tbody", *body), class_="heat"), class_="wide"),
    )


def _cell(value: float | None, full: float, shown: Callable[[float], str]) -> Html:
    if value is None:
        return tag("td")
    share = min(1.0, max(0.0, value / full))
    return tag("td", shown(value), style=f"--heat:{100 * share:.0f}%")
