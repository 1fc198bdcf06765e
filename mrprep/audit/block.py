"""Some rows of one shard, with all that is known of them: their tokens, their documents, their text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mrprep.order import I64
from mrprep.printable import printable
from mrprep.provenance.tables import Found

I32 = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

EXCERPT = 160
"""Characters of text that an example shows."""
BLOCK_TOKENS = 2 << 20
"""Tokens in a block, about; some 40 MB."""


@dataclass(frozen=True, slots=True)
class Example:
    """A place to look at; safe to print."""

    row: str
    """``SHARD:ROW``, as ``mrprep show`` takes it."""
    place: str
    """``path:line`` of the document, or empty."""
    text: str


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches of documents in the rows of a block, in order of (row, at); arrays of one length."""

    row: I64
    """Index into the rows of the block."""
    at: I64
    doc: I64
    """Row ordinal in text/."""
    copy: I64
    token: I64
    """Offset within the tokens of that text, BOS and EOD counted."""
    length: I64


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one shard."""

    split: str
    shard: str
    """Its file, by its name in the manifest."""
    rows: I64
    """Their numbers in the shard, rising, int64[n]."""
    tokens: I32
    """int32[n, S+1], also in layout mcore."""
    stretches: Stretches
    owner: I32
    """Which stretch a token belongs to, -1 for padding; int32[n, S+1]."""
    found: Mapping[int, Found]
    """Where the documents came from, by ``stretches.doc``; of shards without a manifest nothing is known."""
    sizes: Mapping[int, int]
    """Bytes of their texts in UTF-8, of the same."""
    decoded: tuple[str, ...]
    """The text of each stretch by the tokenizer of the build."""
    lengths: I64 | None = None
    """Places of each row where rows differ in length, int64[n]; what follows them is no data."""
    texts: Mapping[int, str] = field(default_factory=dict)
    """Cleaned texts of some of the documents, as many as memory allows; the others are read again when needed."""

    @property
    def there(self) -> Mask:
        """Which places a row has, bool[n, S+1]: all but where rows of a foreign shard are shorter than others."""
        if self.lengths is None:
            return np.ones(self.tokens.shape, bool)
        return np.asarray(np.arange(self.tokens.shape[1]) < self.lengths[:, None])

    @property
    def text(self) -> Mask:
        """Which tokens are not padding, bool[n, S+1]."""
        return self.owner >= 0

    def sources(self) -> tuple[list[str], I64]:
        """Return names of sources, and which each stretch is of; "" where that is not known."""
        own = [self.found[doc].source if doc in self.found else "" for doc in self.stretches.doc.tolist()]
        names = sorted(set(own))
        number = {name: k for k, name in enumerate(names)}
        return names, np.array([number[name] for name in own], np.int64)

    def groups(self) -> tuple[list[str], I64]:
        """Return the same with the first folder of each document's path: of one folder of inputs, its kinds of text."""
        names = []
        for doc in self.stretches.doc.tolist():
            found = self.found.get(doc)
            folder = found.path.partition(b"/")[0] if found is not None and b"/" in found.path else b""
            name = found.source if found is not None else ""
            names.append(f"{name}/{printable(folder)}" if folder else name)
        number = {name: k for k, name in enumerate(dict.fromkeys(sorted(names)))}
        return list(number), np.array([number[name] for name in names], np.int64)

    def row_name(self, row: int) -> str:
        """Return ``SHARD:ROW`` of a row of the block."""
        return f"{PurePosixPath(self.shard).stem}:{self.rows[row]}"

    def example(self, stretch: int, text: str | None = None) -> Example:
        """Return an example of a stretch, its beginning unless ``text`` is given."""
        shown = self.decoded[stretch].strip("\ufffd") if text is None else text  # a row's end can cut a character
        doc = int(self.stretches.doc[stretch])
        place = self.found[doc].place if doc in self.found else ""
        return Example(self.row_name(int(self.stretches.row[stretch])), place, printable(shown, EXCERPT))

    def row_examples(self, rows: I64) -> Iterator[Example]:
        """Yield an example of each of some rows of the block: its first stretch."""
        for row in rows.tolist():
            first = int(np.searchsorted(self.stretches.row, row))
            if first < self.stretches.row.size and self.stretches.row[first] == row:
                yield self.example(first)
            else:
                yield Example(self.row_name(row), "", "")


class Look(Protocol):
    """What every check that goes by rows does with a block."""

    def see(self, block: Block) -> None:
        """Take in a block."""
