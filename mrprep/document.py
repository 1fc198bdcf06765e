"""What flows through the stages: documents, and what was left out of them, with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

_SHORTEST_FIRST_PIECE = 2 << 20
"""Characters; a cut falls into the second half of 16 MB, and a character has four bytes at most."""
NO_EDITS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document begins; with its source it is the document's identity."""

    source: str
    """Name of the source it came from."""
    path: bytes
    """Path of the file relative to the source's root, as the file system has it."""
    offset: int
    """Bytes before it in the decoded stream of its file; in a table, rows before it."""
    line: int
    """Line it begins on, counted from 1; in a table, its row counted from 1."""
    piece: int = 0
    """Which piece of a document that was cut for its length (over 16 MB); 0 for the first or only one."""


@dataclass(frozen=True, slots=True)
class Document:
    """One text, or one piece of a text that is longer than 16 MB."""

    place: Place
    text: str
    edits: Mapping[str, int] = field(default_factory=lambda: NO_EDITS)
    """What cleaning did to it: rule -> number of characters or places changed."""
    score: float | None = None
    """What its record holds in the field that is said to rate it, if one is."""

    @property
    def may_be_piece(self) -> bool:
        """Whether its ends may be cuts: a piece after the first, or as long as a first piece is (8 MB at least)."""
        return self.place.piece > 0 or len(self.text) >= _SHORTEST_FIRST_PIECE


@dataclass(frozen=True, slots=True)
class Dropped:
    """A document that a map stage takes out, and why; the engine counts it."""

    document: Document
    reason: str
    """A short stable word, such as ``short``; it is a key of the ledger."""
    detail: str = ""
    """The number against its threshold, for people: ``12 characters, at least 50 wanted``."""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that could not be read as a document: one broken line, one null text."""

    place: Place
    reason: str
    """A short stable word, such as ``bad-json``; it is a key of the ledger."""
    message: str
    """One sentence for people."""


@dataclass(frozen=True, slots=True)
class FileNote:
    """What reading one file, or one part of it, found; the last item a reader yields for a span."""

    source: str
    path: bytes
    encoding: str = "utf-8"
    confidence: float = 1.0
    """How sure the detection is, 0 to 1; 1 where it was told or proven."""
    replaced: int = 0
    """Undecodable bytes that became U+FFFD."""
    problem: str = ""
    """One sentence when the file, or the rest of it, could not be read; else empty."""


ReadItem = Document | BadRecord | FileNote
"""What a reader yields."""
MapItem = Document | Dropped
"""What a map stage yields, one for each document it is given and in that order."""
