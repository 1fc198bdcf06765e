"""The rows of a build as a PyTorch dataset, in the trainer's order, resumable at any step and number of ranks."""
# mypy: disable-error-code="misc"

from collections.abc import Iterator, Mapping
from typing import Any

from mrprep.errors import MrprepError
from mrprep.interop.library import Place
from mrprep.interop.order import RowOrder, row_order
from mrprep.training.rows import COLUMNS, batches

try:
    from torch import from_numpy
    from torch.utils.data import IterableDataset, get_worker_info
except ImportError:
    raise MrprepError("mrprep.TorchRows needs PyTorch: pip install torch") from None

_ROWS_AT_ONCE = 1 << 16


class TorchRows(IterableDataset):
    """Batches, column -> int64[batch, places], and ``step``, an int counted over the whole run.

    Give it to a ``DataLoader`` with ``batch_size=None``, as it makes the batches itself; worker processes change
    nothing in their order. Layout flat has ``input_ids`` [S + 1]; mcore ``input_ids``, ``labels``, ``loss_mask`` [S].
    Iterating goes to the end of the epoch, and the next time through the next one.

    With worker processes it is they who count: say ``set_epoch`` before each epoch, and
    ``state_dict(batch["step"] + 1)`` after a step.
    """

    def __init__(
        self, path: Place, *, batch: int, ranks: int = 1, rank: int = 0, seed: int = 0, split: str = "train"
    ) -> None:
        """Open the split of a build; arguments as for ``mrprep.dataset``.

        Raises:
            MrprepError: no such build or split, or fewer rows than one step takes.
        """
        self._order: RowOrder = row_order(str(path), split, batch, ranks, rank, seed)
        self._step = 0

    def __len__(self) -> int:
        """Steps an epoch."""
        return self._order.steps

    def set_epoch(self, epoch: int) -> None:
        """Go to the start of an epoch, counted from 0."""
        self._step = epoch * len(self)

    def state_dict(self, step: int | None = None) -> dict[str, Any]:
        """Return what ``load_state_dict`` needs to go on at ``step``, or at the one that comes next."""
        data = self._order.mixture.sha256
        held = {"seed": self._order.seed, "global_batch": self._order.global_batch, "data": data}
        return {"step": self._step if step is None else step, **held}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where ``state_dict`` was called; the number of ranks may be another, the rows of a step may not.

        Raises:
            MrprepError: it is of another build, seed or number of rows a step.
        """
        differs = [key for key, value in self.state_dict().items() if key != "step" and state.get(key) != value]
        if differs:
            raise MrprepError(
                f"the state is of other rows ({', '.join(differs)}): open the build, seed and batch * ranks it is of"
            )
        self._step = int(state["step"])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        base = self._step
        epoch = base // len(self)
        end = (epoch + 1) * len(self)
        for step in range(base, end, self._stretch):
            yield from self._between(epoch, step, min(step + self._stretch, end), (worker - (step - base)) % workers)
        self._step = end

    @property
    def _stretch(self) -> int:
        return max(1, _ROWS_AT_ONCE // self._order.batch)

    def _between(self, epoch: int, start: int, stop: int, skip: int) -> Iterator[dict[str, Any]]:
        """Yield the steps of a worker from ``start`` to before ``stop``, of which the first ``skip`` are another's."""
        info = get_worker_info()
        stride = info.num_workers if info else 1
        order, first = self._order, epoch * len(self)
        rows = order.rows(epoch, start - first, stop - first).reshape(-1, order.batch)[skip::stride]
        names = COLUMNS[order.mixture.like.layout]
        found = batches(order.mixture, rows.ravel(), order.batch)
        for step, columns in zip(range(start + skip, stop, stride), found, strict=True):
            self._step = step + 1
            yield {"step": step} | {
                name: from_numpy(column).long() for name, column in zip(names, columns, strict=True)
            }
