"""Some paragraphs that were taken out of a part, for people who want to see what the stage does."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

_FILE = "repeats.json"


@dataclass(frozen=True, slots=True)
class Example:
    """A paragraph, one of the most frequent of a build."""

    key: int
    copies: int
    """Before any was taken out."""
    place: str
    """``file:line`` of the first document that it was taken out of."""
    excerpt: str
    """How it begins, safe to show."""


def write_examples(examples: Iterable[Example], out: Path) -> None:
    """Write the examples of a part into its directory."""
    (out / _FILE).write_bytes(orjson.dumps(list(examples)))


def examples_of(part: Path) -> list[Example]:
    """Return the examples of a part; none if the stage has not written it."""
    path = part / _FILE
    return [Example(**each) for each in orjson.loads(path.read_bytes())] if path.exists() else []
