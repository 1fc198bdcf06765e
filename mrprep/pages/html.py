"""HTML as nested calls; whatever is not HTML already is escaped, so data cannot become markup."""

from collections.abc import Iterable
from html import escape

from mrprep.printable import printable

_VOID = {"br", "meta"}

Value = str | float | bool | None
"""Of an attribute: None and False leave it out, True gives it without a value."""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(content: str) -> Html:
    """Return text escaped for elements and quoted attributes; what is hidden or drives a terminal is written out."""
    if isinstance(content, Html):
        return content
    shown = content if content.isprintable() else "\n".join(printable(line, len(line)) for line in content.split("\n"))
    return Html(escape(shown))


def join(parts: Iterable[str]) -> Html:
    """Return the parts one after the other."""
    return Html("".join(text(part) for part in parts))


def tag(element: str, /, *children: str, **attributes: Value) -> Html:
    """Return an element.

    Args:
        element: its name.
        children: HTML, or text, which is escaped.
        attributes: ``class_`` is ``class``, ``stroke_width`` is ``stroke-width``.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items() if value not in (None, False))
    return Html(f"<{element}{given}>" if element in _VOID else f"<{element}{given}>{join(children)}</{element}>")


def _attribute(key: str, value: Value) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{text(value if isinstance(value, str) else f"{value:.10g}")}"'
