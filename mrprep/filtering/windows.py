"""Long arrays by windows: what is made on the way stays in a cache.

An array of a whole batch with eight bytes a character would also come fresh from the system each time
(`engine.executor`), which costs more than what is done with it.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Value = TypeVar("Value", bound=np.generic)

_WINDOW = 1 << 16


def windows(size: int) -> Iterator[slice]:
    """Yield the windows of an array of that many entries."""
    return (slice(begin, begin + _WINDOW) for begin in range(0, size, _WINDOW))


def take(table: npt.NDArray[Value], places: npt.NDArray[Any]) -> npt.NDArray[Value]:
    """Return ``table.take(places)``; no place may be beyond the table."""
    found = np.empty(len(places), table.dtype)
    for window in windows(len(places)):
        found[window] = table.take(places[window], mode="wrap")  # the fastest mode
    return found
