"""Rows of the shards as MindSpore tensors, in the order of ``order.rows``, from any step to any other.

The list of a stretch of an epoch is handed to MindData's ``SubsetSampler``, so memory and the time to the
first batch do not grow with the build: at most ``STRETCH_ROWS`` indices a pipeline, and no shuffle index.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mindspore as ms
from mindspore import Tensor, ops

from mrprep import order
from mrprep.training.mixture import I64, Mixture
from mrprep.training.rows import batches

STRETCH_ROWS = 1 << 17
"""Rows of this rank for which indices are held at a time."""


@dataclass(frozen=True, slots=True)
class Share:
    """Which rows one rank trains on."""

    seed: int
    """Of the row order."""
    micro_batch: int
    """Rows a forward pass of one rank."""
    accumulate: int
    """Forward passes a step."""
    rank: int
    """This process."""
    ranks: int
    """How many there are."""

    @property
    def global_batch(self) -> int:
        """Rows a step over all ranks."""
        return self.micro_batch * self.accumulate * self.ranks


def steps(mixture: Mixture, share: Share, start: int, stop: int) -> Iterator[tuple[int, list[tuple[Tensor, ...]]]]:
    """Yield each step from ``start`` to before ``stop`` with the micro-batches of this rank.

    Steps are counted from 0 over the whole run; after the last whole step of an epoch the next epoch begins.
    """
    for first, rows in stretches(mixture, share, start, stop):
        micro_batches = read(mixture, rows, share.micro_batch)
        count = len(rows) // (share.micro_batch * share.accumulate)
        for step in range(first, first + count):
            yield step, [next(micro_batches) for _ in range(share.accumulate)]


def stretches(mixture: Mixture, share: Share, start: int, stop: int) -> Iterator[tuple[int, I64]]:
    """Yield (first step, rows of this rank) piece by piece; no piece crosses the end of an epoch."""
    epoch_steps = order.steps_per_epoch(mixture.epoch_rows, share.global_batch)
    longest = max(1, STRETCH_ROWS // (share.micro_batch * share.accumulate))
    while start < stop:
        epoch, within = divmod(start, epoch_steps)
        count = min(stop - start, epoch_steps - within, longest)
        yield start, mixture.deal(share.seed, epoch, share.global_batch, share.rank, share.ranks, within, count)
        start += count


def read(mixture: Mixture, rows: I64, batch: int) -> Iterator[tuple[Tensor, ...]]:
    """Yield the columns of rows in the order asked for, in whole batches."""
    for columns in batches(mixture, rows, batch):
        yield tuple(Tensor(column) for column in columns)


def splitter(
    layout: str, pad_id: int | None, eod_id: int, seq: int | None = None, *, apart: bool = False
) -> Callable[..., tuple[Any, Any, Any]]:
    """Return the function, compiled into the step, from a layout's columns to (ids, labels, mask of targets).

    Without a pad id, flat rows are filled up with EOD: an EOD after an EOD is padding, as no document is empty.
    With ``seq`` each row is cut into rows of so many targets, which none is lost by; it must divide the row's.
    With ``apart`` the first token of a document is no target, as nothing before it is of its document.
    """

    def flat(row: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        ids, labels = row[:, :-1], row[:, 1:]
        target = ops.logical_or(ids != eod_id, labels != eod_id) if pad_id is None else labels != pad_id
        return ids, labels, target.astype(ms.float32)

    def mcore(ids: Tensor, labels: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return ids, labels, mask.astype(ms.float32)

    read = flat if layout == "flat" else mcore

    def within(*columns: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        ids, labels, mask = read(*columns)
        return ids, labels, mask * (ids != eod_id).astype(ms.float32)

    whole = within if apart else read

    def cut(*columns: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        ids, labels, mask = whole(*columns)
        return ids.reshape(-1, seq), labels.reshape(-1, seq), mask.reshape(-1, seq)

    return whole if seq is None else cut
