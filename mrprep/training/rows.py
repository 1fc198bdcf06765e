"""Rows of a mixture by number, in batches of NumPy arrays; ids beyond the vocabulary never come out of here.

MindData reads 64 rows at a time of each build, in a thread of its own, through its ``SubsetSampler``; batches are put
together from those.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mrprep.builddir.manifest import open_build
from mrprep.errors import BugError, MrprepError
from mrprep.mindrecord.read import read_batches
from mrprep.printable import printable
from mrprep.provenance import tables
from mrprep.training.mixture import I64, Mixture
from mrprep.training.shards import TrainingShards, place

I32 = npt.NDArray[np.int32]

COLUMNS = {"flat": ["input_ids"], "mcore": ["input_ids", "labels", "loss_mask"]}
"""What is read of each layout."""
_IDS = {"flat": 1, "mcore": 2}  # so many of them hold ids
_TOLD = 5


def batches(mixture: Mixture, rows: I64, batch: int) -> Iterator[list[I32]]:
    """Yield the columns, int32[batch, places] each, of rows in the order asked for; a last part of a batch is not read.

    Args:
        mixture: whose rows they are.
        rows: their numbers.
        batch: rows at a time.

    Raises:
        MrprepError: a shard cannot be read, or holds an id beyond the vocabulary; its documents are named.
    """
    if rows.size and (rows.min() < 0 or rows.max() >= mixture.rows):
        raise BugError(f"row indices outside 0..{mixture.rows - 1}")
    rows = rows[: len(rows) // batch * batch]
    build, within = mixture.locate(rows)
    streams = [_Stream(part, within[build == k]) for k, part in enumerate(mixture.parts)]
    for start in range(0, len(rows), batch):
        yield _merge(streams, build[start : start + batch])


class _Stream:
    """The rows asked for of one build, handed out in pieces."""

    def __init__(self, shards: TrainingShards, rows: I64) -> None:
        self._shards, self._rows, self._given = shards, rows, 0
        self._held: list[I32] = []
        names = COLUMNS[shards.layout]
        self._chunks = (
            [chunk[name] for name in names] for chunk in read_batches(shards.files, names, rows, shards.rows)
        )

    def take(self, count: int) -> list[I32]:
        """Return the next rows' columns, int32[count, places] each."""
        while not self._held or len(self._held[0]) < count:
            more = next(self._chunks)
            self._held = [np.concatenate(both) for both in zip(self._held, more, strict=True)] if self._held else more
        columns, self._held = [c[:count] for c in self._held], [c[count:] for c in self._held]
        for column in columns[: _IDS[self._shards.layout]]:
            if int(column.view(np.uint32).max()) >= self._shards.vocab_size:  # a negative id is large there
                raise MrprepError(self._damage(column))
        self._given += count
        return columns

    def _damage(self, column: I32) -> str:
        wrong = column.view(np.uint32) >= self._shards.vocab_size
        place = int(wrong.any(axis=1).argmax())
        return describe_damage(self._shards, int(self._rows[self._given + place]), int(column[place][wrong[place]][0]))


def _merge(streams: list[_Stream], build: I64) -> list[I32]:
    if len(streams) == 1:
        return streams[0].take(len(build))
    found: list[I32] = []
    for k in np.unique(build):
        mine = build == k
        columns = streams[k].take(int(mine.sum()))
        if not found:
            found = [np.empty((len(build), column.shape[1]), column.dtype) for column in columns]
        for whole, column in zip(found, columns, strict=True):
            whole[mine] = column
    return found


def describe_damage(shards: TrainingShards, row: int, wrong: int) -> str:
    """Return the sentence about a row with an id that the vocabulary does not have: its shard and documents."""
    opened = open_build(shards.build)
    shard, row = place(opened, shards.split, row)
    try:
        lines = tables.stretches_of_row(opened, dict(shard), row)[:_TOLD]
        places = ", ".join(tables.by_ordinal(opened, line["doc"])[0].place for line in lines)
    except (MrprepError, OSError, ValueError):
        places = "not known: its provenance is gone"
    build = printable(str(shards.build))
    return (
        f"{printable(str(opened.file(shard['file'])))} row {row} holds id {wrong}, the vocabulary has "
        f"{shards.vocab_size} (documents of the row: {places}): the shard is damaged; run mrprep verify {build}, and "
        "build it again"
    )
