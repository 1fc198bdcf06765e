"""Some documents that each rule took out, for people who want to see what a threshold does."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
import pyarrow.parquet as pq

from mrprep.builddir.tables import TextPart
from mrprep.printable import printable
from mrprep.repeats.examples import Example, examples_of

EACH = 3
"""Examples of each reason: the first in the order of the input."""


def examples(parts: Sequence[TextPart]) -> dict[str, dict[str, list[dict[str, str]]]]:
    """Return stage -> reason -> up to EACH of {"place", "detail", "excerpt"}; opens only parts that still matter."""
    found: dict[str, dict[str, list[dict[str, str]]]] = {}
    for part in parts:
        counts = orjson.loads((part.path / "counts.json").read_bytes())["left_out"]
        if any(len(found.get(stage, {}).get(reason, ())) < EACH for stage, reason in _reasons(counts)):
            _add(found, pq.read_table(part.path / "dropped.parquet", use_threads=False).to_pylist())
    if repeats := _repeats(parts):
        found["paragraphs"] = {**found.get("paragraphs", {}), "repeat": repeats}
    return {stage: dict(sorted(of_stage.items())) for stage, of_stage in sorted(found.items())}


def _reasons(counts: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, str]]:
    return ((stage, reason) for stage, reasons in counts.items() for reason in reasons)


def _repeats(parts: Sequence[TextPart]) -> list[dict[str, str]]:
    """Return the most frequent of the paragraphs that were taken out, each where it went first."""
    found: dict[int, Example] = {}
    for part in parts:
        for each in examples_of(part.path):
            found.setdefault(each.key, each)
    most = sorted(found.values(), key=lambda each: (-each.copies, each.key))
    return [{"place": each.place, "detail": f"{each.copies:,} copies", "excerpt": each.excerpt} for each in most]


def _add(found: dict[str, dict[str, list[dict[str, str]]]], rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        listed = found.setdefault(row["stage"], {}).setdefault(row["reason"], [])
        if len(listed) < EACH:
            listed.append(
                {
                    "place": f"{printable(row['path'], 4096)}:{row['line']}",
                    "detail": printable(row["detail"], 400),
                    "excerpt": printable(row["excerpt"]),
                }
            )
