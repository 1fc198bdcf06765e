"""Size and SHA-256 of a file, as a build's manifest records them."""

import hashlib
from pathlib import Path
from typing import TypedDict


class FileRecord(TypedDict):
    """What the manifest says of one file."""

    bytes: int
    sha256: str


def digest(path: Path) -> FileRecord:
    """Read a file once and return its record."""
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
        return {"bytes": stream.tell(), "sha256": found}
