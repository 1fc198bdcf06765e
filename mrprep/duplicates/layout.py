"""What the phases of dedupe hand to each other.

Within them a document is its number among all documents in order of rows; a candidate is its number among
candidates, in order of (component, document).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mrprep.builddir.tables import TextPart

Records = npt.NDArray[Any]
"""A structured array."""

DOCUMENT = np.dtype(
    [
        ("exact", "<u8", 2),  # XXH3-128 of its texts
        ("units", "<i8"),
        ("rows", "<i4"),  # pieces
        ("banded", "?"),  # has a column in bands.npy of its part
    ]
)
"""What the sketch says of a document: ``documents.npy`` of a part."""

RANKED = np.dtype([("ordinal", "<i8"), ("rows", "<i4"), ("units", "<i8"), ("priority", "<f8")])
"""Of each document: its first row, how many rows, how long, and whom it gives way to (lower stays; `HELD` before all
else)."""

HELD = -np.inf
"""Priority of what an earlier build holds."""

REMOVED = np.dtype([("doc", "<i8"), ("survivor", "<i8"), ("jaccard", "<f8")])
"""Of each near duplicate: the document kept in its place, and its similarity."""

CONTAINED = np.dtype([*REMOVED.descr, ("share", "<f8")])
"""Of each document that stands inside another: that one, their Jaccard, and the share of its shingles that does."""


@dataclass(frozen=True)
class Corpus:
    """What is deduplicated; rows and documents are numbered through all parts."""

    parts: tuple[TextPart, ...]
    held: tuple[tuple[str, int], ...] = ()
    """Earlier builds whose parts come first: name, and how many parts."""
    sources: tuple[str, ...] = ()
    """Sources whose documents go before those of the next; empty: none does."""
    best: bool = False
    """Documents of a higher score go before others; those that have none come last."""

    @property
    def held_parts(self) -> int:
        """How many parts are of earlier builds."""
        return sum(parts for _, parts in self.held)


class Group(NamedTuple):
    """A range of candidates made of whole components."""

    first: int
    last: int
    units: int
    """Units of its texts: about as many shingles are to be compared."""


@dataclass(frozen=True)
class Found:
    """Where the candidates are."""

    ranked: Path
    """Directory of ``ranked.npy``, RANKED[documents]."""
    copies: Path
    """Directory of ``copy_of.npy``: which document with its very text stands for each, int64[documents]."""
    candidates: Path
    """Directory of ``candidates.npy``, the document of each, and ``ascending.npy``, these documents in order."""
    buckets: tuple[Path, ...] = ()
    """Directories of buckets of candidates."""


def documents_in(parts: Sequence[TextPart]) -> list[int]:
    """Return how many documents each part has."""
    return [len(np.load(part.path / "documents.npy", mmap_mode="r")) for part in parts]
