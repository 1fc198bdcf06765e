"""The endings of units: what a worker has written is put on the disk while the worker is at its next unit.

The disk of this machine has threads of this process for that. Of another machine only itself knows what it has not
written yet, so that its workers end their units themselves.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any

from mrprep.engine.executor import Done
from mrprep.engine.parts import WAITERS, Ending
from mrprep.engine.spent import Spent


def to_its_end(run: Callable[..., Ending | None], *arguments: Any) -> None:
    """Run a unit and end it."""
    _end(run(*arguments))


def published_beside(returned: Iterator[Done]) -> Iterator[tuple[int, Spent]]:
    """End the units of calls that have returned; yield the calls of those that are ended, in any order.

    Args:
        returned: the results of calls of ``timed``.
    """
    ending: dict[Future[None], tuple[int, Spent]] = {}
    with ThreadPoolExecutor(WAITERS) as threads:
        for index, (spent, end) in returned:
            ending[threads.submit(_end, end)] = index, spent
            yield from _ended(ending, [future for future in ending if future.done()])
        yield from _ended(ending, as_completed(list(ending)))


def _ended(ending: dict[Future[None], tuple[int, Spent]], done: Iterable[Future[None]]) -> Iterator[tuple[int, Spent]]:
    for future in done:
        future.result()
        yield ending.pop(future)


def _end(end: Ending | None) -> None:
    if end is not None:
        end()
