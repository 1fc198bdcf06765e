"""The rows that a run reads: one split of one or more builds, mixed by weights; ``order`` says how.

An epoch takes as many rows as it can without one coming twice, so it ends with the build that its weight uses up
first; of the others the next epoch takes the rows that follow. Without weights every row is in every epoch.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mrprep import order
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.shards import TrainingShards, has_split, read_shards

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Mixture:
    """The same split of one or more builds, its rows numbered through them in order."""

    parts: tuple[TrainingShards, ...]
    """A build each; they agree in tokenizer, row length and layout."""
    taken: tuple[int, ...]
    """Rows of each in an epoch."""

    @property
    def like(self) -> TrainingShards:
        """The first, for what all have in common."""
        return self.parts[0]

    @property
    def rows(self) -> int:
        """Rows in all of them."""
        return sum(part.rows for part in self.parts)

    @property
    def epoch_rows(self) -> int:
        """Rows an epoch."""
        return sum(self.taken)

    @property
    def starts(self) -> list[int]:
        """Number of the first row of each build."""
        return [0, *accumulate(part.rows for part in self.parts)][:-1]

    @property
    def sha256(self) -> str:
        """Names the data in checkpoints: the manifest's, or one over those of all builds and their shares."""
        if len(self.parts) == 1:
            return self.like.manifest_sha256
        told = " ".join(f"{part.manifest_sha256}:{taken}" for part, taken in zip(self.parts, self.taken, strict=True))
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes of text a token of an epoch; None when a manifest does not count."""
        each = [part.bytes_per_token for part in self.parts]
        counted = [(ratio, taken) for ratio, taken in zip(each, self.taken, strict=True) if ratio is not None]
        whole = len(counted) == len(each)
        return sum(ratio * taken for ratio, taken in counted) / self.epoch_rows if whole else None

    def deal(self, seed: int, epoch: int, global_batch: int, rank: int, ranks: int, start: int, count: int) -> I64:
        """Return the rows that one rank trains on in ``count`` steps of an epoch from ``start``, see ``order.rows``."""
        places = order.rows(seed, epoch, self.epoch_rows, global_batch, rank, ranks, start, start + count)
        return order.blend(seed, epoch, [part.rows for part in self.parts], self.taken, places)

    @property
    def first(self) -> I64:
        """The first ``taken`` rows of each build."""
        return np.concatenate([start + np.arange(n) for start, n in zip(self.starts, self.taken, strict=True)])

    def locate(self, rows: I64) -> tuple[I64, I64]:
        """Return which build each row is of, and its number there, int64[n] both."""
        starts = np.asarray(self.starts)
        build = np.searchsorted(starts, rows, side="right") - 1
        return build, rows - starts[build]


def read_mixture(builds: Sequence[Path], weights: Sequence[float] | None = None) -> Mixture:
    """Read the train splits of builds.

    Args:
        builds: directories of finished builds.
        weights: share of each in the rows; proportional to its rows if None.

    Raises:
        MrprepError: see ``read_shards``; or two builds differ in what rows of one run must have in common, or are one.
    """
    _check_once(builds)
    parts = tuple(read_shards(build) for build in builds)
    for part in parts[1:]:
        _check_alike(parts[0], part)
    rows = [part.rows for part in parts]
    if weights is None or len(parts) == 1:
        return Mixture(parts, tuple(rows))
    empty = next((part for part in parts if not part.rows), None)
    if empty:
        raise MrprepError(f"the train split of {printable(str(empty.build))} has no rows: leave that build out")
    return Mixture(parts, tuple(order.shares(rows, weights)))


def _check_once(builds: Sequence[Path]) -> None:
    for k, build in enumerate(builds):
        if any(build.resolve() == other.resolve() for other in builds[:k]):
            raise MrprepError(
                f"{printable(str(build))} is named twice, and its rows would come twice an epoch: name each build "
                "once, and give --mix for more of one"
            )


def valid_mixture(builds: Sequence[Path], mixture: Mixture, most: int) -> Mixture | None:
    """Return the first rows of the valid splits of a mixture's builds, ``most`` in all, in shares like its own.

    None if no build has one. ``taken`` rows, from the first, are to be looked at.
    """
    found = [k for k, build in enumerate(builds) if has_split(build, "valid")]
    if not found or not most:
        return None
    parts = tuple(read_shards(builds[k], "valid") for k in found)
    weights = [mixture.taken[k] for k in found]
    wanted = [max(1, most * weight // sum(weights)) for weight in weights]
    return Mixture(parts, tuple(min(part.rows, count) for part, count in zip(parts, wanted, strict=True)))


def whole(shards: TrainingShards) -> Mixture:
    """Return a split as a mixture of one."""
    return Mixture((shards,), (shards.rows,))


_ALIKE = {
    "vocab_size": "a vocabulary of",
    "tokenizer_sha256": "a tokenizer with SHA-256",
    "seq": "rows of so many tokens:",
    "layout": "layout",
}


def _check_alike(one: TrainingShards, other: TrainingShards) -> None:
    for name, told in _ALIKE.items():
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine != theirs:
            raise MrprepError(
                f"{printable(str(one.build))} has {told} {mine}, {printable(str(other.build))} {theirs}: builds that "
                "are trained on together need the same, so build one again with the other's --tokenizer, --seq "
                "and --layout"
            )
