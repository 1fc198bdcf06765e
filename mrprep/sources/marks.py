"""What tells a file again once a build holds it: hashes of its place, size and mtime, or of its content."""

import os
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from mrprep.order import U64
from mrprep.sources.discover import Listing


@dataclass(frozen=True, slots=True)
class Marks:
    """The files that a build was made of; two files have one mark with a chance of one in 2^64."""

    known: U64
    """Rising."""
    contents: bool
    """Whether some are of contents (``--hash-inputs``)."""

    @classmethod
    def of(cls, listings: Sequence[Listing], inputs: Mapping[str, Any], *, hashed: bool) -> "Marks":
        """Return the marks of all files; ``inputs`` is what `plan.inputs_record` says of them."""
        found = by_content(inputs) if hashed else by_place(listings)
        return cls(np.unique(found), hashed)

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> "Marks":
        """Return what `record` was made of; of an empty one, none."""
        known = np.frombuffer(b64decode(record.get("files", "")), "<u8").astype(np.uint64)
        return cls(known, bool(record.get("contents")))

    def record(self) -> dict[str, Any]:
        """Return them as JSON has them: ``files``, base64 of uint64, little-endian."""
        return {"contents": self.contents, "files": b64encode(self.known.astype("<u8").tobytes()).decode()}

    def __or__(self, other: "Marks") -> "Marks":
        """Return the marks of both."""
        return Marks(np.union1d(self.known, other.known), self.contents or other.contents)

    def holds(self, marks: U64) -> npt.NDArray[np.bool_]:
        """Return of each row of marks (uint64[n, k]) whether one of them is known."""
        held: npt.NDArray[np.bool_] = np.isin(marks, self.known).any(axis=1)
        return held


def by_place(listings: Sequence[Listing]) -> U64:
    """Return two marks of each file, uint64[n, 2]: by its path from the folder it was named by, and by its whole path.

    The first holds for a folder that was moved, the second for a file that is named by a folder above or below.
    """
    marks = []
    for listing in listings:
        root = listing.root if listing.source.url else os.path.realpath(listing.root)
        folder = os.path.basename(root)
        for file in listing.files:
            marks.append(_mark(b"in", b"%s/%s" % (folder, file.path), file.size, file.version))
            marks.append(_mark(b"at", b"%s/%s" % (root, file.path), file.size, file.version))
    return np.array(marks, np.uint64).reshape(-1, 2)


def by_content(inputs: Mapping[str, Any]) -> U64:
    """Return a mark of each file, uint64[n, 1], of what `plan.inputs_record` says of them with their contents."""
    marks = [_mark(b"of", b"", size, content) for rows in inputs.values() for _, size, content in rows]
    return np.array(marks, np.uint64).reshape(-1, 1)


def _mark(kind: bytes, place: bytes, size: int, version: int | str) -> int:
    return xxhash.xxh3_64_intdigest(b"\0".join((kind, place, b"%d" % size, str(version).encode())))
