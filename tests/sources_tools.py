"""How the tests of sources read a path: as a build does, from discovery to the last note."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mrprep.document import BadRecord, Document, FileNote
from mrprep.sources.discover import Skipped, discover
from mrprep.sources.read import read
from mrprep.sources.source import Source
from mrprep.sources.spans import Span, count_lines, cut, to_count, with_first_lines


@dataclass
class Reading:
    documents: list[Document]
    bad: list[BadRecord]
    notes: list[FileNote]
    skipped: tuple[Skipped, ...]

    @property
    def texts(self) -> list[str]:
        return [document.text for document in self.documents]

    @property
    def problems(self) -> list[str]:
        return [note.problem for note in self.notes if note.problem]

    @property
    def reasons(self) -> list[str]:
        return [record.reason for record in self.bad]


def units_of(path: Path, unit: int, **options: Any) -> list[tuple[Span, ...]]:
    units = cut([discover(Source(name="s", path=path, **options))], unit)
    return with_first_lines(units, [count_lines(span) for span in to_count(units)])


def read_path(path: Path, unit: int = 1 << 21, **options: Any) -> Reading:
    listing = discover(Source(name="s", path=path, **options))
    units = cut([listing], unit)
    units = with_first_lines(units, [count_lines(span) for span in to_count(units)])
    result = Reading([], [], [], listing.skipped)
    for span in (span for spans in units for span in spans):
        items = list(read(span))
        assert isinstance(items[-1], FileNote)
        for item in items[:-1]:
            (result.documents if isinstance(item, Document) else result.bad).append(item)
        result.notes.append(items[-1])
    return result


def read_bytes(folder: Path, data: bytes, name: str = "a.jsonl", unit: int = 1 << 21, **options: Any) -> Reading:
    (folder / name).write_bytes(data)
    return read_path(folder / name, unit, **options)
