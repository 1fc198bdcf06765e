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

RANKED = np.dtype([("ordinal", "<i8"), ("rows", "<i4"), ("units", "<i8"), ("copy_of", "<i8")])
"""Of each document: its first row, how many rows, how long, and the first document with its very text."""

REMOVED = np.dtype([("doc", "<i8"), ("survivor", "<i8"), ("cluster", "<i8"), ("jaccard", "<f8")])
"""Of each near duplicate: the document kept in its place, the first of its cluster, and its similarity."""


class Group(NamedTuple):
    """A range of candidates made of whole components, and the range of the buckets that hold them."""

    first: int
    last: int
    first_bucket: int
    last_bucket: int
    units: int
    """Units of its texts: about as many shingles are to be compared."""


@dataclass(frozen=True)
class Found:
    """Where the candidates are."""

    ranked: Path
    """Directory of ``ranked.npy``, RANKED[documents], and ``banded.npy``."""
    candidates: Path
    """Directory of ``candidates.npy``, ``members.npy``, ``starts.npy`` and ``plan.json``."""


def documents_in(parts: Sequence[TextPart]) -> list[int]:
    """Return how many documents each part has."""
    return [len(np.load(part.path / "documents.npy", mmap_mode="r")) for part in parts]
