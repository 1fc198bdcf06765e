"""Scalars for TensorBoard, by tensorboardX (the extra ``tensorboard``), in ``RUN/tensorboard``."""

from pathlib import Path
from typing import Any

from mrprep.errors import MrprepError
from mrprep.training.metrics import Metric

_SHOWN = ("loss", "lr", "norm", "peak", "tokens_per_s", "waited", "communication", "memory")


class Scalars:
    """Writes a step's numbers; close it at the end.

    Raises:
        MrprepError: tensorboardX is not installed.
    """

    def __init__(self, run: Path, done: int) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise MrprepError("--tensorboard needs tensorboardX: pip install 'mrprep[tensorboard]'") from None
        self._writer: Any = SummaryWriter(str(run / "tensorboard"), purge_step=done + 1)

    def write(self, metric: Metric) -> None:
        """Add one step; what is not finite is left out."""
        for name in _SHOWN:
            value = metric[name]  # type: ignore[literal-required]
            if value is not None:
                self._writer.add_scalar(f"train/{name}", value, metric["step"])

    def close(self) -> None:
        """Write out what is held back."""
        self._writer.close()
