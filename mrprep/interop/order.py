"""Which rows one rank reads at which step: the trainer's order, for loops that are not ours."""

from dataclasses import dataclass

from mrprep import order
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.mixture import I64, Mixture, whole
from mrprep.training.shards import read_shards


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The rows of a split, dealt out to ranks as ``mrprep train --seed`` deals them.

    Step k takes ``batch * ranks`` rows of the epoch's permutation, rank r every ``ranks``-th of them from r: the rows
    of a step are the same at any number of ranks, and none comes twice in an epoch.
    """

    mixture: Mixture
    batch: int
    """Rows of one rank a step."""
    ranks: int
    rank: int
    seed: int

    @property
    def global_batch(self) -> int:
        """Rows a step over all ranks."""
        return self.batch * self.ranks

    @property
    def steps(self) -> int:
        """Whole steps an epoch."""
        return order.steps_per_epoch(self.mixture.rows, self.global_batch)

    def rows(self, epoch: int, start: int, stop: int) -> I64:
        """Return the rows of this rank in the steps from ``start`` to before ``stop`` of an epoch, in order."""
        return self.mixture.deal(self.seed, epoch, self.global_batch, self.rank, self.ranks, start, stop - start)


def row_order(build: str, split: str, batch: int, ranks: int, rank: int, seed: int) -> RowOrder:
    """Return the order of a split.

    Raises:
        MrprepError: no such build or split, sizes that cannot be, or fewer rows than one step takes.
    """
    from pathlib import Path

    if batch < 1 or not 0 <= rank < ranks:
        raise MrprepError(f"batch {batch}, rank {rank} of {ranks}: batch is 1 or more, and rank 0 to ranks - 1")
    found = RowOrder(whole(read_shards(Path(build), split)), batch, ranks, rank, seed)
    if not found.steps:
        raise MrprepError(
            f"{printable(build)} has {found.mixture.rows} rows in {split}, one step takes {found.global_batch}: "
            "take a smaller batch or fewer ranks"
        )
    return found
