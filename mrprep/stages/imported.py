"""Rows of MindRecord files that others wrote, into documents: split at EOD, their ids kept as they are.

Texts are decoded for the tables alone, so that ``why``, ``show``, dedupe and the audit work. Where a document came from
is not known: its place is the file and the row in which it begins. 3 Mtok/s a core. Memory: a piece of a document.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mrprep.builddir.npystream import NpyStream
from mrprep.builddir.textpart import TextPartWriter
from mrprep.document import Document, FileNote, Place
from mrprep.errors import MrprepError
from mrprep.mindrecord.foreign import describe, read_ragged
from mrprep.printable import printable
from mrprep.stages import dedupe
from mrprep.tokenizers.choices import Choices
from mrprep.tokenizers.family import open_tokenizer
from mrprep.tokenizers.protocol import Tokenizer
from mrprep.tokenizers.slices import MAX_PIECE_IDS, Slices
from mrprep.tokenizers.stored import IDS, STARTS

VERSION = 1
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
_LOOKED_AT = 64


@dataclass(frozen=True, slots=True)
class ImportUnit:
    """What one worker reads."""

    file: Path
    source: str
    name: bytes
    """Of the file, relative to its source."""
    model: Path
    """The tokenizer file of the vocabulary phase."""
    choices: Choices
    bos: bool
    """Documents begin with a BOS, which is taken off and written again."""
    joined: bool
    """A row goes on where the one before it ends."""
    sketched: dedupe.Options | None
    """Make sketches for dedupe."""


def import_unit(unit: ImportUnit, out: Path) -> None:
    """Write what the read phase writes, and the documents' ids: ``ids.npy``, int32 flat, and ``starts.npy``.

    Raises:
        MrprepError: it is no MindRecord file, has no rows of ids, or an id that the tokenizer does not have.
    """
    tokenizer = open_tokenizer(unit.model, unit.choices, checked=True)
    slices = Slices(tokenizer)
    sketches = dedupe.sketches(unit.sketched)
    writer = TextPartWriter(out, sketches.add)
    starts = [0]
    with NpyStream(out / IDS, np.int32) as stream:
        for piece in _pieces(unit, tokenizer, slices):
            place = Place(unit.source, unit.name, piece.offset, piece.row + 1, piece.number)
            document = Document(place, slices.text(piece.ids, begins=not piece.number))
            writer.saw(document)
            writer.keep(document)
            stream.write(piece.ids)
            starts.append(stream.length)
    writer.note(FileNote(unit.source, unit.name))
    writer.close()
    sketches.save(out)
    np.save(out / STARTS, np.array(starts))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A document, or a piece of one that is longer than ``Slices`` makes them."""

    row: int
    """In which the document begins."""
    offset: int
    """Tokens before the document in the file."""
    number: int
    ids: I32
    """Without BOS and EOD."""


class _Begun:
    """A document that has begun: its ids, without those of the pieces that were handed on."""

    def __init__(self, row: int, offset: int, bos: int | None) -> None:
        self._row, self._offset, self._bos = row, offset, bos
        self._number = 0
        self._held: list[I32] = []
        self._size = 0

    def add(self, ids: I64) -> None:
        """Add ids; the BOS before the first is taken off."""
        if ids.size and self._bos is not None:
            ids, self._bos = ids[int(ids[0] == self._bos) :], None
        self._held.append(ids.astype(np.int32))
        self._size += ids.size

    def pieces(self, slices: Slices, *, ended: bool) -> Iterator[_Piece]:
        """Yield the pieces that are whole: if the document has ended, all."""
        if not ended and self._size <= MAX_PIECE_IDS:
            return
        ids = np.concatenate([np.zeros(0, np.int32), *self._held])
        while ids.size > (0 if ended else MAX_PIECE_IDS):
            end = slices.piece_end(ids)
            yield _Piece(self._row, self._offset, self._number, ids[:end])
            ids, self._number = ids[end:], self._number + 1
        self._held, self._size = [ids], ids.size


def _pieces(unit: ImportUnit, tokenizer: Tokenizer, slices: Slices) -> Iterator[_Piece]:
    """Yield the documents of a file, long ones in pieces."""
    overlaps = _overlap(unit.file)
    bos = tokenizer.bos_id if unit.bos else None
    begun: _Begun | None = None
    at = 0
    for row, whole in enumerate(_rows(unit.file)):
        ids = _unpadded(_known(whole, unit, tokenizer, row), tokenizer)[1 if overlaps and row else 0 :]
        cuts = [0, *(np.flatnonzero(ids == tokenizer.eod_id) + 1).tolist(), len(ids)]
        for start, stop in pairwise(cuts):
            if start == stop:
                continue
            begun = begun or _Begun(row, at + start, bos)
            closed = bool(ids[stop - 1] == tokenizer.eod_id)
            begun.add(ids[start : stop - closed])
            ended = closed or (stop == len(ids) and not (overlaps or unit.joined))
            yield from begun.pieces(slices, ended=ended)
            begun = None if ended else begun
        at += len(ids)
    if begun:
        yield from begun.pieces(slices, ended=True)


def _rows(file: Path) -> Iterator[I64]:
    """Yield the ids of each row; of inputs and targets in two columns, shifted by one, the ids of both."""
    _, columns = describe(file)
    if "input_ids" not in columns:
        raise MrprepError(f"{printable(str(file))} has no column input_ids of integers: import shards that have one")
    if "labels" not in columns or not _shifted(file):
        yield from read_ragged(file, "input_ids")
        return
    for ids, labels in zip(read_ragged(file, "input_ids"), read_ragged(file, "labels"), strict=True):
        yield np.append(ids, labels[-1:][labels[-1:] >= 0])


def _shifted(file: Path) -> bool:
    """Tell whether the labels of the first rows are their inputs, one place on; masked ones do not count."""
    pairs = zip(read_ragged(file, "input_ids"), read_ragged(file, "labels"), strict=True)
    return all(
        len(ids) == len(labels) and ((labels[:-1] == ids[1:]) | (labels[:-1] < 0)).all()
        for ids, labels in islice(pairs, _LOOKED_AT)
    )


def _overlap(file: Path) -> bool:
    """Tell whether each of the first rows begins with the last token of the one before it."""
    rows = list(islice(_rows(file), _LOOKED_AT))
    return len(rows) > 1 and all(len(a) and len(b) and a[-1] == b[0] for a, b in pairwise(rows))


def _unpadded(ids: I64, tokenizer: Tokenizer) -> I64:
    """Return a row without the padding at its end."""
    if tokenizer.pad_id is None:
        return ids
    filled = np.flatnonzero(ids != tokenizer.pad_id)
    return ids[: filled[-1] + 1] if len(filled) else ids[:0]


def _known(ids: I64, unit: ImportUnit, tokenizer: Tokenizer, row: int) -> I64:
    wrong = (ids < 0) | (ids >= tokenizer.vocab_size)
    if wrong.any():
        raise MrprepError(
            f"{printable(str(unit.file))} row {row} holds id {ids[wrong.argmax()]}, the tokenizer has "
            f"{tokenizer.vocab_size}: give the --tokenizer with which these shards were made"
        )
    return ids
