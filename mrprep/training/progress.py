"""The progress bar of a run, drawn by the launcher from what rank 0 writes to ``metrics.jsonl``."""

import sys
from types import TracebackType

from tqdm import tqdm

from mrprep.training.metrics import Follower, Metric


class Bar:
    """A bar over steps with loss, learning rate and tokens a second; nothing when stderr is no terminal."""

    def __init__(self, follower: Follower, done: int, total: int) -> None:
        self._follower = follower
        self._bar = tqdm(total=total, initial=done, unit="step", disable=not sys.stderr.isatty())

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

    def update(self) -> None:
        """Draw the steps done since the last call."""
        for metric in self._follower.new():
            self._show(metric)

    def _show(self, metric: Metric) -> None:
        if metric["step"] <= self._bar.n:
            return
        loss = "not finite" if metric["loss"] is None else f"{metric['loss']:.3f}"
        self._bar.set_postfix_str(f"loss {loss}, lr {metric['lr']:.2g}, {metric['tokens_per_s']:,.0f} tok/s")
        self._bar.update()
