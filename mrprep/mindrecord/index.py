"""Where the rows of a MindRecord file lie, by its header and its index, the ``.db``: 1 us and 16 B a row.

A file is a header (its length in 8 bytes, then JSON) and pages of one size; the index, SQLite, says on which page each
row begins and ends: the length of its blob in 8 bytes, little-endian, then the blob, its arrays. MindRecord itself goes
by the names alone: of a file with another one's index it reads rows that are none, or crashes.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from mrprep.mindrecord.schema import index_of

I64 = npt.NDArray[np.int64]

LENGTH = 8
"""Bytes of the length before a row."""
_SPREAD = 1024
"""Rows that are looked at, spread over the file."""
_FETCHED = 1 << 15
_HEADER_MOST = 1 << 27
_PLACE_MOST = 1 << 31
_VERSION = "3.0"
_MISFIT = "its .db does not fit it: one of them is damaged, or another file's"
_ROWS = "SELECT PAGE_ID_BLOB, PAGE_OFFSET_BLOB, PAGE_OFFSET_BLOB_END FROM INDEXES ORDER BY ROW_ID"


class DamagedError(ValueError):
    """A file cannot be read; says why, for a sentence of the caller's."""


@dataclass(frozen=True, slots=True)
class Index:
    """The rows of a file, and what its arrays are."""

    schema: Mapping[str, Mapping[str, Any]]
    """Column -> ``{"type"}``, of arrays ``{"type", "shape"}``."""
    blobs: tuple[str, ...]
    """Columns that a blob holds, in their order."""
    start: I64
    """Where each row's blob begins in the file."""
    end: I64


def read_index(file: Path) -> Index:
    """Read the header and the index of a file, and look at some rows whether they are where the index says.

    Raises:
        DamagedError: the index is missing, one of the two is damaged, or they do not belong together.
    """
    index = index_of(file)
    if not index.is_file():
        raise DamagedError("its index, the .db, is missing")
    try:
        with file.open("rb") as data, closing(_open(index)) as table:
            header = _header(data)
            found = _index(header, table)
            _check(found, header, data, file.stat().st_size)
    except sqlite3.Error:
        raise DamagedError("its .db is damaged") from None
    except DamagedError:
        raise
    except (OSError, ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
        raise DamagedError("it is damaged, or another format") from None
    return found


def _open(index: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{index.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def _header(data: BinaryIO) -> dict[str, Any]:
    size = int.from_bytes(data.read(LENGTH), "little")
    if not 0 < size < _HEADER_MOST:
        raise ValueError("no header")
    header = dict(json.loads(data.read(size)))
    if header["version"] != _VERSION:
        raise DamagedError("it is of a version of the format that is not read: write it again with MindSpore 2")
    return header


def _index(header: Mapping[str, Any], table: sqlite3.Connection) -> Index:
    (schema,) = header["schema"]
    blobs = tuple(map(str, schema["blob_fields"]))
    columns = {str(name): dict(kind) for name, kind in schema["schema"].items()}
    if not set(blobs) <= columns.keys():
        raise ValueError("a blob of no column")
    places = np.concatenate([np.zeros((0, 3), np.int64), *_fetched(table)])
    if places.size and not 0 <= places.min() <= places.max() < _PLACE_MOST:
        raise DamagedError(_MISFIT)
    page, start, end = places.T
    page = int(header["header_size"]) + page * int(header["page_size"])
    return Index(columns, blobs, page + start + LENGTH, page + end)


def _fetched(table: sqlite3.Connection) -> Iterator[I64]:
    rows = table.execute(_ROWS)
    while some := rows.fetchmany(_FETCHED):
        yield np.array(some, np.int64)


def _check(found: Index, header: Mapping[str, Any], data: BinaryIO, size: int) -> None:
    """Raise DamagedError unless the rows are as many as the header says, within the file, and some in their places."""
    pages = [int(page["end_row_id"]) for page in header["page"] if page["page_type"] == "BLOB_DATA"]
    start, end = found.start, found.end
    fits = start.size == max(pages, default=0)
    fits = fits and bool(((start >= LENGTH) & (start <= end) & (end <= size)).all())
    if not fits or any(_astray(found, data)):
        raise DamagedError(_MISFIT)


def _astray(found: Index, data: BinaryIO) -> Iterator[bool]:
    """Yield for some rows whether they are elsewhere than the index says."""
    step = max(1, found.start.size // _SPREAD)
    for start, end in zip(found.start[::step].tolist(), found.end[::step].tolist(), strict=True):
        data.seek(start - LENGTH)
        yield int.from_bytes(data.read(LENGTH), "little") != end - start
