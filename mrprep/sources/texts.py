"""Takes the text out of a record, or says in one sentence why it has none."""

from collections.abc import Sequence
from decimal import Decimal
from math import isfinite
from typing import Any

from mrprep.printable import printable

_NAMES = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
_REASONS = {
    bool: "bool-text",
    int: "number-text",
    float: "number-text",
    list: "list-text",
    dict: "object-text",
}
_MISSING = object()


class NoTextError(Exception):
    """A record that is no document."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


def text_of(record: Any, fields: Sequence[str]) -> str:
    """Return the text in the named fields of a JSON value, several joined by a blank line.

    Raises:
        NoTextError: it is no object, or none of the fields is there, or one holds something else than text.
    """
    if type(record) is not dict:
        kind = _NAMES.get(type(record), "a string" if isinstance(record, str) else "null")
        raise NoTextError("not-object", f"the record is {kind}, not an object")
    values = {field: _look_up(record, field) for field in fields}
    there = {field: value for field, value in values.items() if value is not _MISSING}
    if not there:
        raise NoTextError("no-text", f"{_quoted(fields)} is missing; fields there: {_quoted(list(record)) or 'none'}")
    texts = [_checked(field, value) for field, value in there.items() if value is not None]
    if not texts:
        raise NoTextError("null-text", f"{_quoted(list(there))} is null")
    return "\n\n".join(texts)


def score_of(record: Any, field: str | None) -> float | None:
    """Return the number in the named field of a JSON value, None if there is none, or none that is finite."""
    value = _look_up(record, field) if field and isinstance(record, dict) else None
    return finite(value)


def finite(value: Any) -> float | None:
    """Return a number as one; None for what is no number, or is not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _look_up(record: dict[str, Any], field: str) -> Any:
    """Return a field by its name, or by the way to it, ``meta.body``."""
    if field in record:
        return record[field]
    head, dot, rest = field.partition(".")
    inner = record.get(head)
    return _look_up(inner, rest) if dot and isinstance(inner, dict) else _MISSING


def _checked(field: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    kind = type(value)
    raise NoTextError(_REASONS[kind], f"{_quoted([field])} is {_NAMES[kind]}, not text")


def _quoted(fields: Sequence[str], most: int = 12) -> str:
    names = ", ".join(f'"{printable(field, 60)}"' for field in fields[:most])
    return f"{names}, …" if len(fields) > most else names
