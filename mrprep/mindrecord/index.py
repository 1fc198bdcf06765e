"""Does an index belong to its MindRecord file? Each row that it lists must begin with its own length, in 8 bytes.

MindRecord itself goes by the names alone: of a file with another one's index it reads rows that are none, or crashes.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

from mrprep.mindrecord.schema import index_of

_LENGTH = 8
_ROWS = 1024
"""Rows that are looked at, spread over the file."""
_HEADER_MOST = 1 << 27


def misfit(file: Path) -> str:
    """Return why a file and its index do not go together, for a sentence; empty if they do."""
    index = index_of(file)
    if not index.is_file():
        return "its index, the .db, is missing"
    try:
        with file.open("rb") as data, closing(_open(index)) as table:
            return (
                "its .db does not fit it: one of them is damaged, or another file's"
                if any(_astray(data, table))
                else ""
            )
    except sqlite3.Error:
        return "its .db is damaged"
    except (OSError, ValueError, KeyError, TypeError):
        return "it is damaged, or another format"


def _open(index: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{index.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def _astray(data: BinaryIO, table: sqlite3.Connection) -> Iterator[bool]:
    """Yield for some rows whether they are elsewhere than the index says."""
    header = _header(data)
    pages = [page for page in header["page"] if page["page_type"] == "BLOB_DATA"]
    (rows,) = table.execute("SELECT COUNT(*) FROM INDEXES").fetchone()
    if not pages:
        return
    yield rows != max(int(page["end_row_id"]) for page in pages)
    places = table.execute(
        "SELECT PAGE_ID_BLOB, PAGE_OFFSET_BLOB, PAGE_OFFSET_BLOB_END FROM INDEXES WHERE ROW_ID % ? = 0",
        (max(1, rows // _ROWS),),
    )
    for page, start, stop in places:
        data.seek(int(header["header_size"]) + page * int(header["page_size"]) + start)
        yield int.from_bytes(data.read(_LENGTH), "little") != stop - start - _LENGTH


def _header(data: BinaryIO) -> dict[str, Any]:
    size = int.from_bytes(data.read(_LENGTH), "little")
    if not 0 < size < _HEADER_MOST:
        raise ValueError("no header")
    return dict(json.loads(data.read(size)))
