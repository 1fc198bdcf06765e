"""A span: a file, or a stretch of one, and how it is to be read."""

import os
from dataclasses import dataclass

from mrprep.sources.discover import Compression
from mrprep.sources.source import TABLES, Documents, Format


@dataclass(frozen=True)
class Span:
    """A file, or a stretch of one, and all that is needed to read it."""

    source: str
    root: bytes
    path: bytes
    format: Format
    compression: Compression
    documents: Documents
    text: tuple[str, ...]
    score: str | None
    encoding: str
    start: int
    """First byte (of a table: first row)."""
    stop: int
    """Byte (of a table: row) to end before; a whole file is 0 to its listed size in bytes."""
    first_line: int
    """Line that holds byte ``start``, counted from 1 (of a table: its row)."""
    whole: bool
    """Whether it is all of its file."""
    size: int
    """Bytes it has on disk, about: what reading it costs."""
    packed: int = 0
    """Bytes of the compressed file of which this is a stretch; ``start`` and ``stop`` count what comes out of it."""

    @property
    def full_path(self) -> bytes:
        """Path by which the file is opened."""
        return os.path.join(self.root, self.path)


def is_of_lines(span: Span) -> bool:
    """Return whether a record of the file is a line, or a stretch of lines between blank ones."""
    return span.format == "jsonl" or (span.format in {"txt", "md"} and span.documents != "file")


def is_of_stretches(span: Span) -> bool:
    """Return whether a record of the file is a stretch of lines between blank ones."""
    return span.format in {"txt", "md"} and span.documents == "blank-line"


def is_table(span: Span) -> bool:
    """Return whether the file is a table, in which rows are counted and not bytes."""
    return span.format in TABLES
