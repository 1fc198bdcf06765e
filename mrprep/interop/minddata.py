"""The rows of a build as a MindSpore pipeline, in the trainer's order, for a training loop of one's own."""

from collections.abc import Sequence
from typing import Any

from mrprep.errors import MrprepError
from mrprep.interop.library import Place
from mrprep.interop.order import row_order
from mrprep.mindrecord.read import batched
from mrprep.mindrecord.schema import columns_of


def dataset(
    path: Place,
    *,
    batch: int,
    ranks: int = 1,
    rank: int = 0,
    seed: int = 0,
    epoch: int = 0,
    start: int = 0,
    split: str = "train",
    columns: Sequence[str] | None = None,
) -> Any:
    """Return a ``mindspore.dataset.MindDataset``, batched, of the steps of one epoch of one rank.

    Each epoch has an order of its own: ask for the next one with ``epoch``, and for the rest of one with ``start``.
    Costs 8 bytes and a Python int for each row of this rank; 30 Mtok/s.

    Args:
        path: of a build.
        batch: rows of this rank a step.
        ranks: how many processes train.
        rank: which one this is.
        seed: of the order, as ``mrprep train --seed``.
        epoch: counted from 0.
        start: first step wanted, within the epoch.
        split: name of the split.
        columns: names wanted; all of the layout's if None.

    Raises:
        MrprepError: no such build or split, fewer rows than one step takes, no such epoch, column or start.
    """
    order = row_order(str(path), split, batch, ranks, rank, seed)
    if epoch < 0 or not 0 <= start < order.steps:
        raise MrprepError(
            f"epoch {epoch}, start {start}: epochs are counted from 0, and start is 0 to "
            f"{order.steps - 1}, the steps of one"
        )
    shards = order.mixture.like
    names = list(columns or columns_of("mcore" if shards.layout == "mcore" else "flat", 1, 1))
    return batched(shards.files, names, order.rows(epoch, start, order.steps).tolist(), batch)
