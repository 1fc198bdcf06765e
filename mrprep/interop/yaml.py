"""Plain values as YAML that people can go on editing: a key a line, lists and scalars as JSON writes them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Alias:
    """What stands under another key of the top level, which gets an anchor."""

    key: str


def dump(values: Mapping[str, Any]) -> str:
    """Return the YAML of nested mappings; leaves: strings, numbers, truths, None, lists of such, and ``Alias``."""
    text = "\n".join(_lines(values, "")) + "\n"
    for key in values:
        if f": *{key}\n" in text:
            text = text.replace(f"\n{key}:\n", f"\n{key}: &{key}\n", 1)
    return text


def _lines(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list) and value and (isinstance(value[0], Mapping) or len(value) > 8):
            yield f"{indent}{key}:"
            yield from (f"{indent}  - {_leaf(item)}" for item in value)
        else:
            yield f"{indent}{key}: {_leaf(value)}"


def _leaf(value: Any) -> str:
    if isinstance(value, Alias):
        return f"*{value.key}"
    if isinstance(value, float):
        digits = repr(value)
        return digits.replace("e", ".0e") if "e" in digits and "." not in digits else digits  # YAML 1.1 wants the point
    return orjson.dumps(value).decode()
