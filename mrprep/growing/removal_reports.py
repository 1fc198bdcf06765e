"""What the reports of a build quote, without what stands in documents that were removed on request."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from mrprep.builddir import layout
from mrprep.builddir.manifest import Build


@dataclass(frozen=True, slots=True)
class Quotes:
    """Excerpts of documents in the examples of the manifest and in ``report/duplicates.json``."""

    excerpts: tuple[str, ...]

    @classmethod
    def of(cls, build: Build) -> "Quotes":
        """Return those of a build."""
        found = [example["excerpt"] for example in _examples(build.manifest["examples"])]
        found += [each["text"] for each in _duplicates(build).get("largest", ())]
        return cls(tuple(dict.fromkeys(text for text in found if text)))


def without_quotes(build: Build, quotes: Quotes, said: Collection[int], folder: Path) -> tuple[Any, dict[str, Path]]:
    """Return the examples of the manifest without some of the quotes, by their numbers, and the report likewise.

    Args:
        build: as it stands.
        quotes: of the build.
        said: which of them stand in what goes.
        folder: to write into.
    """
    gone = {quotes.excerpts[number] for number in said}
    examples = {
        stage: {reason: [row for row in rows if row["excerpt"] not in gone] for reason, rows in reasons.items()}
        for stage, reasons in build.manifest["examples"].items()
    }
    found = _duplicates(build)
    if not found:
        return examples, {}
    found["largest"] = [each for each in found["largest"] if each["text"] not in gone]
    path = folder / "duplicates.json"
    path.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2))
    return examples, {layout.DUPLICATES: path}


def _examples(examples: Mapping[str, Mapping[str, Any]]) -> Iterator[Mapping[str, str]]:
    return (row for reasons in examples.values() for rows in reasons.values() for row in rows)


def _duplicates(build: Build) -> dict[str, Any]:
    if not build.holds(layout.DUPLICATES):
        return {}
    found: dict[str, Any] = orjson.loads(build.file(layout.DUPLICATES).read_bytes())
    return found
