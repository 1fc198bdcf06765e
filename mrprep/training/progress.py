"""What a user sees of a run as it goes, told by the launcher from what rank 0 writes to ``metrics.jsonl``."""

import sys
from collections.abc import Callable
from types import TracebackType

from tqdm import tqdm

from mrprep.training.metrics import Follower, Metric
from mrprep.training.scalars import Scalars
from mrprep.training.verdict import verdict

FIRST_STEPS = 100
"""Steps after which a first verdict is given."""


class Watch:
    """A bar over the steps when stderr is a terminal, a verdict after the first hundred, and scalars if wanted.

    Args:
        follower: of the metrics.
        done: steps done before.
        total: steps of the whole run.
        say: takes a line for the user.
        scalars: takes each step, for TensorBoard.
    """

    def __init__(
        self, follower: Follower, done: int, total: int, say: Callable[[str], None], scalars: Scalars | None = None
    ) -> None:
        self._follower, self._say, self._scalars = follower, say, scalars
        self._first: list[Metric] = []
        self._bar = tqdm(total=total, initial=done, unit="step", disable=not sys.stderr.isatty())
        self._done = done

    def __enter__(self) -> "Watch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
        if self._scalars:
            self._scalars.close()

    def update(self) -> None:
        """Tell of the steps done since the last call."""
        for metric in self._follower.new():
            if metric["step"] > self._done:
                self._done = metric["step"]
                self._tell(metric)

    def _tell(self, metric: Metric) -> None:
        if self._scalars:
            self._scalars.write(metric)
        self._bar.set_postfix_str(_line(metric))
        self._bar.update()
        if len(self._first) < FIRST_STEPS:
            self._first.append(metric)
            if len(self._first) == FIRST_STEPS:
                self._say(f"after {FIRST_STEPS} steps {verdict(self._first)}")


def _line(metric: Metric) -> str:
    loss = "not finite" if metric["loss"] is None else f"{metric['loss']:.3f}"
    skipped = " (skipped)" if metric["skipped"] else ""
    waited = metric["waited"] / metric["seconds"]
    return f"loss {loss}{skipped}, lr {metric['lr']:.2g}, {metric['tokens_per_s']:,.0f} tok/s, waiting {waited:.1%}"
