"""What a stage with a barrier is given to run its phases with."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

Unit = TypeVar("Unit")


class RunPhase(Protocol):
    """Run ``function(unit, out)`` for every unit that is not done yet; return their directories in order.

    ``function`` is a module-level function and ``unit`` a picklable value: both travel to a worker process.
    It writes its files into the directory ``out``, which appears under its final name only when the function
    has returned. ``settings`` is everything besides the units and earlier phases that decides the bytes written
    (options, VERSION); it is the phase's part of the fingerprint. ``weights`` (bytes or the like, one a unit)
    drive the progress bar and let the largest go first.
    """

    def __call__(  # noqa: D102
        self,
        name: str,
        units: Sequence[Unit],
        function: Callable[[Unit, Path], None],
        *,
        settings: Mapping[str, Any],
        weights: Sequence[int] | None = None,
    ) -> list[Path]: ...
