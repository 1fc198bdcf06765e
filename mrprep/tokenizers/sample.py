"""Which documents a vocabulary is trained on: a seeded sample of those that survive, whatever the number of
jobs.

The rows with the smallest hash of seed and document are taken until they have the bytes wanted, then sorted
by document. One pass over the ids; of the texts only row groups that hold a candidate are read, and the
more text there is the rarer those are. Memory is twice the bytes wanted and one row group.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mrprep.builddir.tables import TextPart
from mrprep.order import shuffle_keys

LONGEST = 256 << 10
"""Characters taken of one row, so that a few books do not make up the sample."""

Row = tuple[int, int, int, str]
"""Key, document id, row ordinal, text."""

_SALT = 0x766F636162756C61


@dataclass(slots=True)
class _Reservoir:
    """The texts with the smallest keys, as many as fill ``limit`` bytes."""

    limit: int
    rows: list[Row] = field(default_factory=list)
    bytes: int = 0
    bound: int = (1 << 64) - 1
    """No row with a larger key can still come in."""

    def add(self, row: Row) -> None:
        self.rows.append(row)
        self.bytes += len(row[3].encode())
        if self.bytes > 2 * self.limit:
            self.shrink()

    def shrink(self) -> None:
        """Drop the rows with the largest keys beyond the limit; the row that crosses it stays."""
        self.rows.sort()
        sizes = np.cumsum([len(row[3].encode()) for row in self.rows], dtype=np.int64)
        stay = int(np.searchsorted(sizes, self.limit)) + 1
        if stay < len(self.rows):
            self.rows = self.rows[:stay]
            self.bytes, self.bound = int(sizes[stay - 1]), self.rows[-1][0]


def sample(parts: Sequence[TextPart], verdict: Path | None, *, limit: int, seed: int) -> list[str]:
    """Return texts of surviving rows, in order of document, of together about ``limit`` bytes.

    Args:
        parts: of the read phase.
        verdict: ``verdict.npy`` of dedupe; None keeps all rows.
        limit: bytes of UTF-8 wanted.
        seed: of the build.
    """
    kept = None if verdict is None else np.load(verdict, mmap_mode="r")
    reservoir = _Reservoir(limit)
    for part in parts:
        alive = None if kept is None else kept[part.base : part.base + part.rows] == -1
        for row in _candidates(part, alive, reservoir, seed):
            reservoir.add(row)
    reservoir.shrink()
    return [text for _, _, _, text in sorted(reservoir.rows, key=lambda row: row[1:3])]


def _candidates(part: TextPart, alive: npt.NDArray[np.bool_] | None, reservoir: _Reservoir, seed: int) -> Iterator[Row]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(part.path / "text.parquet") as file:
        start = 0
        for group in range(file.num_row_groups):
            ids = file.read_row_group(group, ["id"])["id"].to_numpy()
            keys = shuffle_keys(seed ^ _SALT, ids)
            fits = keys <= np.uint64(reservoir.bound)
            if alive is not None:
                fits &= alive[start : start + ids.size]
            places = np.flatnonzero(fits)
            if places.size:
                texts = file.read_row_group(group, ["text"])["text"].take(places)
                for place, text in zip(places.tolist(), texts, strict=True):
                    yield int(keys[place]), int(ids[place]), part.base + start + place, text.as_py()[:LONGEST]
            start += ids.size
