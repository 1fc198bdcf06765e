"""When workers are at units: what each call took, and the stretches in which a worker was busy."""

import os
import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

Returned = TypeVar("Returned")

APART = 0.05
"""Seconds between two units of a worker that are told as one stretch."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a call took; times in seconds since 1970."""

    worker: str
    """Host and process."""
    began: float
    ended: float
    cpu: float
    """Seconds of processors, of all threads of the worker."""


def timed(function: Callable[..., Returned], *arguments: Any) -> tuple[Spent, Returned]:
    """Call a function and return what that took, and what it has returned."""
    began, cpu = time.time(), time.process_time()
    returned = function(*arguments)
    return Spent(f"{platform.node()}:{os.getpid()}", began, time.time(), time.process_time() - cpu), returned


def busy(calls: Iterable[Spent], zero: float) -> dict[str, list[tuple[float, float]]]:
    """Return worker -> stretches in which it was busy, in seconds since ``zero``, rounded to a millisecond."""
    found: dict[str, list[tuple[float, float]]] = {}
    for call in sorted(calls, key=lambda call: (call.worker, call.began)):
        stretches = found.setdefault(call.worker, [])
        began, ended = round(call.began - zero, 3), round(call.ended - zero, 3)
        if stretches and began - stretches[-1][1] <= APART:
            began, ended = stretches[-1][0], max(ended, stretches[-1][1])
            stretches.pop()
        stretches.append((began, ended))
    return found
