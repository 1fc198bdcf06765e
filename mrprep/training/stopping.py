"""The wish to stop: signals in the launcher, a flag in the ranks.

The first Ctrl-C or SIGTERM lets the ranks finish their step, write a checkpoint and end; a second Ctrl-C stops
at once. In a rank the signal only sets a flag; the step sums the flags, so all ranks stop after the same step.
"""

import signal
from types import FrameType, TracebackType
from typing import Any

from mrprep.errors import MrprepError


class InterruptedRunError(MrprepError):
    """Ctrl-C; a checkpoint was written: exit code 130, as a shell says it."""

    exit_code = 130


class TerminatedRunError(MrprepError):
    """SIGTERM; a checkpoint was written: exit code 143, so a scheduler sees a run that is not finished."""

    exit_code = 143


class StopRequest:
    """While it is entered, the first SIGINT or SIGTERM is noted in ``number`` and nothing else happens.

    Raises:
        KeyboardInterrupt: from wherever the program stands, at a second SIGINT.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _note(self, number: int, _: FrameType | None) -> None:
        if self.number is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.number = self.number or number


def stopped(number: int, sentence: str) -> MrprepError:
    """Return the error that tells what a run stopped by a signal left."""
    return InterruptedRunError(sentence) if number == signal.SIGINT else TerminatedRunError(sentence)
