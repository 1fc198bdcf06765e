"""The page around the figures: head, cards, sections, tables, foldables. One file, nothing fetched, no script."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Literal

from mrprep.pages.html import Html, join, tag

Level = Literal["good", "warning", "bad"]


@dataclass(frozen=True, slots=True)
class Card:
    """One number at the head of a page."""

    name: str
    """What it is."""
    value: str
    """The number, with its unit."""
    told: str = ""
    """A few words under it."""
    level: Level | None = None
    """A judgement, shown as a coloured edge; ``told`` must say it too."""


def page(title: str, told: str, *parts: str, language: str = "en") -> Html:
    """Return a whole page.

    Args:
        title: of the page.
        told: a line under it: of what, from when.
        parts: cards, sections, figures.
        language: of its words, as in HTML's ``lang``.
    """
    style = resources.files("mrprep.pages").joinpath("page.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Html(style)),
    )
    body = tag("body", tag("header", tag("h1", title), tag("p", told)), tag("main", *parts))
    return Html("<!DOCTYPE html>\n" + tag("html", head, body, lang=language) + "\n")


def cards(*all_cards: Card) -> Html:
    """Return cards in a row that breaks where the screen ends."""
    return tag("dl", *(_card(card) for card in all_cards), class_="cards")


def _card(card: Card) -> Html:
    told = tag("dd", card.told, class_="told") if card.told else ""
    return tag("div", tag("dt", card.name), tag("dd", card.value, class_="value"), told, class_=card.level)


def section(title: str, *parts: str) -> Html:
    """Return a part of the page under a heading."""
    return tag("section", tag("h2", title), *parts)


def side_by_side(*figures: str) -> Html:
    """Return figures in two columns where the screen is wide enough."""
    return tag("div", *figures, class_="figures")


def note(told: str, level: Level = "good") -> Html:
    """Return a sentence that is to be seen."""
    return tag("p", told, class_=f"note {level}")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> Html:
    """Return a table; the columns whose places are in ``numbers`` are set to the right."""
    kinds = ["number" if place in numbers else None for place in range(len(head))]
    top = [tag("th", name, scope="col", class_=kind) for name, kind in zip(head, kinds, strict=True)]
    body = [
        tag("tr", *(tag("td", cell, class_=kind, dir="auto") for cell, kind in zip(row, kinds, strict=True)))
        for row in rows
    ]
    return tag("div", tag("table", tag("thead", tag("tr", *top)), tag("tbody", *body)), class_="wide")


def facts(pairs: Sequence[tuple[str, str]]) -> Html:
    """Return names and what is known of them, two columns."""
    return tag("dl", join(tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs), class_="facts")


def foldable(summary: str, *parts: str, opened: bool = False) -> Html:
    """Return parts that are shown when the summary is clicked."""
    return tag("details", tag("summary", summary), *parts, open=opened)


def excerpt(content: str) -> Html:
    """Return a piece of a document as it is, lines kept, in the direction of its script."""
    return tag("pre", content, class_="excerpt", dir="auto")
