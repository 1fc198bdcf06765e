"""Turn the texts of one part into tokens with their BOS and EOD, and say where each stretch of them stands.

Streams: memory is one row group of text, the ids of 4 MB of it, and about 60 bytes a text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from mrprep.builddir.npystream import NpyStream
from mrprep.builddir.tables import TOKEN_ENTRY, TextPart
from mrprep.order import I64, U64, shuffle_keys
from mrprep.tokenizers.copies import copies, keys
from mrprep.tokenizers.protocol import Ids, Offsets, Tokenizer

Mask = npt.NDArray[np.bool_]

BATCH_BYTES = 4 << 20
NARROW_VOCABULARY = 65_536
"""Up to so many ids are written as uint16."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns of rows of a part, equal in length."""

    doc: I64
    """Row ordinals."""
    id: U64
    source: I64
    """Index into the names of the sources."""
    bytes: I64
    """Of the text in UTF-8."""
    copies: I64
    """How often the row is written; 0 for what sampling left out."""
    unknown: I64
    """Unknown ids among its tokens."""
    start: I64
    """Where its tokens begin in ``tokens.npy``, its BOS counted; −1 where there are none."""

    @classmethod
    def joined(cls, blocks: list[Self]) -> Self:
        """Return the rows of all blocks, in their order."""
        none = {"id": np.zeros(0, np.uint64)}
        columns = {
            field.name: [
                none.get(field.name, np.zeros(0, np.int64)),
                *(getattr(b, field.name) for b in blocks),
            ]
            for field in fields(cls)
        }
        return cls(**{name: np.concatenate(column) for name, column in columns.items()})

    def where(self, mask: Mask) -> Self:
        """Return the rows that the mask marks."""
        return type(self)(**{field.name: getattr(self, field.name)[mask] for field in fields(self)})


@dataclass(frozen=True, slots=True)
class Written:
    """What became of the surviving rows of a part."""

    rows: Rows
    sources: tuple[str, ...]
    tokens: int
    """Tokens in ``tokens.npy``."""

    @property
    def encoded(self) -> Rows:
        """The rows that have tokens."""
        return self.rows.where(self.rows.start >= 0)


class TokenWriter:
    """Writes the ids of rows one after the other, an EOD where a document ends and a BOS where one begins.

    The EOD of a document is written when a row of another one comes, or at the end: so it follows the last
    piece that gave any ids, whichever row group that was in.
    """

    def __init__(self, stream: NpyStream, tokenizer: Tokenizer, *, add_bos: bool) -> None:
        self._stream, self._eod, self._unk = stream, tokenizer.eod_id, tokenizer.unk_id
        self._bos = tokenizer.bos_id if add_bos else None
        self._open: np.uint64 | None = None

    def write(self, rows: Rows, ids: Ids, offsets: Offsets) -> None:
        """Write ids and note in ``rows`` where they begin and how many are unknown.

        Args:
            rows: with ``start`` and ``unknown`` to fill.
            ids: of all texts of rows with copies, flat.
            offsets: where each of those texts begins in ``ids``, and the end.
        """
        texts = np.flatnonzero(rows.copies > 0)
        rows.unknown[texts] = self._unknown(ids, offsets)
        filled = np.diff(offsets) > 0
        places, at = texts[filled], offsets[:-1][filled]
        if not places.size:
            return
        opens, closes = self._marks(rows.id[places])
        bos = opens if self._bos is not None else np.zeros_like(opens)
        rows.start[places] = self._stream.length + at + np.cumsum(closes) + np.cumsum(bos) - bos
        marks = np.concatenate([at[closes], at[bos]])
        values = np.repeat([self._eod, self._bos or 0], [closes.sum(), bos.sum()])
        self._stream.write(np.insert(ids, marks, values))
        self._open = rows.id[places[-1]]

    def close(self) -> None:
        """Close the last document."""
        if self._open is not None:
            self._stream.write(np.array([self._eod]))

    def _marks(self, ids: U64) -> tuple[Mask, Mask]:
        """Return bool[n] each: a document begins with the row; another document ends before it."""
        opens = np.append(True, ids[1:] != ids[:-1])
        opens[0] = self._open is None or ids[0] != self._open
        closes = opens.copy()
        closes[0] &= self._open is not None
        return opens, closes

    def _unknown(self, ids: Ids, offsets: Offsets) -> I64:
        if self._unk is None:
            return np.zeros(offsets.size - 1, np.int64)
        return np.diff(np.searchsorted(np.flatnonzero(ids == self._unk), offsets))


def dtype_of(vocab_size: int) -> type[np.uint16] | type[np.int32]:
    """Return the dtype in which the ids of a vocabulary of that size are written."""
    return np.uint16 if vocab_size <= NARROW_VOCABULARY else np.int32


def write_tokens(
    part: TextPart,
    alive: Mask | None,
    tokenizer: Tokenizer,
    path: Path,
    *,
    weights: Mapping[str, float],
    seed: int,
    add_bos: bool,
) -> Written:
    """Encode the surviving rows of a part into ``path``, a flat ``.npy`` of uint16 or int32.

    Args:
        part: of the read phase.
        alive: bool[rows]; None for all.
        tokenizer: whose ids and EOD to write.
        path: of the file to write.
        weights: copies wanted of each source; 1 where it is not listed.
        seed: of the build.
        add_bos: open each document with BOS.
    """
    names: dict[str, int] = {}
    blocks: list[Rows] = []
    with NpyStream(path, dtype_of(tokenizer.vocab_size)) as stream:
        writer = TokenWriter(stream, tokenizer, add_bos=add_bos)
        for doc, table in _survivors(part, alive):
            rows = _rows(doc, table, names, weights, seed)
            texts = table["text"].filter(rows.copies > 0).to_pylist()
            writer.write(rows, *tokenizer.encode_batch(texts))
            blocks.append(rows)
        writer.close()
    return Written(Rows.joined(blocks), tuple(names), stream.length)


def _survivors(part: TextPart, alive: Mask | None) -> Iterator[tuple[I64, Any]]:
    """Yield the ordinals and the table (id, source, text) of surviving rows, some megabytes of text at a time."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(part.path / "text.parquet") as file:
        start = 0
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, ["id", "source", "text"])
            stop = start + table.num_rows
            places = np.arange(table.num_rows) if alive is None else np.flatnonzero(alive[start:stop])
            table, doc = table.take(places), part.base + start + places
            for first, last in _batches(table):
                yield doc[first:last], table.slice(first, last - first)
            start = stop


def _batches(table: Any) -> Iterator[tuple[int, int]]:
    """Yield the bounds of stretches of rows of about BATCH_BYTES of text, or one longer row."""
    import pyarrow.compute as pc

    ends = np.cumsum(pc.binary_length(table["text"]).to_numpy(), dtype=np.int64)
    cuts = np.flatnonzero(np.diff(ends // BATCH_BYTES)) + 1
    bounds = [0, *cuts.tolist(), table.num_rows]
    return ((first, last) for first, last in pairwise(bounds) if last > first)


def _rows(doc: I64, table: Any, names: dict[str, int], weights: Mapping[str, float], seed: int) -> Rows:
    """Return the columns of some rows; a source not met before gets the next number in ``names``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sources = pc.dictionary_encode(table["source"].cast(pa.string())).combine_chunks()
    numbers = [names.setdefault(name, len(names)) for name in sources.dictionary.to_pylist()]
    source = np.array(numbers, np.int64)[sources.indices.to_numpy()]
    wanted = np.array([weights.get(name, 1.0) for name in names], np.float64)
    ids = table["id"].to_numpy()
    return Rows(
        doc=doc,
        id=ids,
        source=source,
        bytes=pc.binary_length(table["text"]).to_numpy().astype(np.int64),
        copies=copies(seed, ids, wanted[source]),
        unknown=np.zeros(ids.size, np.int64),
        start=np.full(ids.size, -1, np.int64),
    )


def entries(written: Written, seed: int) -> npt.NDArray[np.void]:
    """Return one TOKEN_ENTRY for each copy of each row that has tokens, sorted by (key, doc, copy)."""
    rows = written.encoded
    row = np.repeat(np.arange(rows.id.size), rows.copies)
    first = np.cumsum(rows.copies) - rows.copies
    copy = np.arange(row.size) - first[row]
    out = np.zeros(row.size, TOKEN_ENTRY)
    out["key"], out["base"] = keys(seed, rows.id[row], copy), shuffle_keys(seed, rows.id)[row]
    out["doc"], out["copy"] = rows.doc[row], copy
    out["start"] = rows.start[row]
    out["length"] = np.diff(np.append(rows.start, written.tokens))[row]
    out["ends"] = np.append(rows.id[1:] != rows.id[:-1], [True])[row] if rows.id.size else False
    order = np.lexsort((out["copy"], out["doc"], out["key"]))
    return np.asarray(out[order])
