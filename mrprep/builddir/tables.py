"""The tables that phases hand to each other, and that a finished build keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa

_SOURCE = pa.dictionary(pa.int32(), pa.string())
_PATH = pa.dictionary(pa.int32(), pa.binary())

_WHERE = [
    pa.field("id", pa.uint64(), nullable=False),  # order.document_id; the pieces of a document share it
    pa.field("source", _SOURCE, nullable=False),
    pa.field("path", _PATH, nullable=False),  # relative to the source's root, bytes as the file system has them
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("line", pa.int64(), nullable=False),
    pa.field("piece", pa.int32(), nullable=False),
]

TEXT = pa.schema(
    [
        *_WHERE,
        pa.field("text", pa.string(), nullable=False),
        pa.field("edits", pa.string()),  # what cleaning did, such as "nfc 3, zero-width 1"; null where nothing
        pa.field("score", pa.float64()),  # what its record holds in the field named as its score
    ]
)
"""Documents that passed the map stages, cleaned; duplicates included."""

DROPPED = pa.schema(
    [
        *_WHERE,
        pa.field("stage", pa.string(), nullable=False),  # "read" for a record that is no document
        pa.field("reason", pa.string(), nullable=False),
        pa.field("detail", pa.string(), nullable=False),
        pa.field("excerpt", pa.string(), nullable=False),  # first 200 characters, cleaned as far as it got
    ]
)
"""Records that are no documents, and documents that a map stage took out."""

FILES = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("path", pa.binary(), nullable=False),
        pa.field("encoding", pa.string(), nullable=False),
        pa.field("confidence", pa.float64(), nullable=False),
        pa.field("replaced", pa.int64(), nullable=False),
        pa.field("problem", pa.string(), nullable=False),
    ]
)
"""What reading each span of a file found."""

HITS = pa.schema(
    [
        *_WHERE,
        pa.field("evaluation", pa.string(), nullable=False),  # file:line of the evaluation set
        pa.field("text", pa.string(), nullable=False),  # what both hold, its first 200 characters
    ]
)
"""Stretches of documents that evaluation sets hold too, in documents that decontamination has dropped or cut."""

CLUSTERS = pa.schema(
    [
        pa.field("doc", pa.int64(), nullable=False),  # ordinal of the removed document's first row
        pa.field("survivor", pa.int64(), nullable=False),  # ordinal of the first row of the document kept
        pa.field("against", pa.string()),  # name of the earlier build that holds the survivor; null: this build
        pa.field("cluster", pa.int64(), nullable=False),  # the smallest ordinal in it
        pa.field("kind", pa.string(), nullable=False),  # exact | near | chain | contained
        pa.field(
            "jaccard", pa.float64()
        ),  # exact Jaccard of doc and survivor; null: not compared, in a chain of containment
        pa.field("share", pa.float64()),  # of contained: which share of its shingles the survivor has
    ]
)
"""Removed duplicates, each with the document that stays."""

PROVENANCE = pa.schema(
    [
        pa.field("row", pa.int32(), nullable=False),
        pa.field("at", pa.int32(), nullable=False),  # position in the row
        pa.field("doc", pa.int64(), nullable=False),  # row ordinal in text/
        pa.field("copy", pa.int32(), nullable=False),
        pa.field("token", pa.int64(), nullable=False),  # offset within the tokens of that text, BOS and EOD counted
        pa.field("length", pa.int32(), nullable=False),
    ]
)
"""Which stretch of which document stands where in a shard; in order of (row, at)."""

TOKEN_ENTRY = np.dtype(
    [
        ("key", "<u8"),  # order.shuffle_keys(seed, id, copy)
        ("base", "<u8"),  # order.shuffle_keys(seed, id, 0): what the valid split goes by
        ("doc", "<i8"),  # row ordinal
        ("start", "<i8"),  # where its tokens begin in tokens.npy of the same part
        ("length", "<i8"),  # tokens, BOS and EOD counted
        ("copy", "<i4"),
        ("ends", "?"),  # an EOD closes it: the only or last surviving piece of a document
    ]
)


@dataclass(frozen=True, slots=True)
class TextPart:
    """One part of the texts, as the read phase or a stage after it that changes texts has published it."""

    path: Path
    """Its directory: ``text.parquet``, the sketch, …"""
    base: int
    """Ordinal of its first row."""
    rows: int
    """Rows in its ``text.parquet``."""

    @property
    def text_bytes(self) -> int:
        """Size of its ``text.parquet``; 0 when that was deleted to make room."""
        path = self.path / "text.parquet"
        return path.stat().st_size if path.exists() else 0


def numbered(paths: Sequence[Path]) -> list[TextPart]:
    """Return the parts in these directories, in their order, with the ordinals of their rows."""
    rows = [orjson.loads((path / "counts.json").read_bytes())["rows"] for path in paths]
    return [
        TextPart(path, base, count) for path, base, count in zip(paths, accumulate(rows, initial=0), rows, strict=False)
    ]
