"""Run calls in processes side by side; a worker that dies takes its unit, not the build.

Workers are spawned (0.3 s each, once a build), ignore Ctrl-C, and end when their parent does, however it ends.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from mrprep.errors import MrprepError

ATTEMPTS = 2
"""How often a call is tried alone after a worker died on it."""
WORKER_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": str(32 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(4 << 20),
}
"""One thread a worker, and memory goes back to the system: 280 MB instead of 350 at the peak of a Chinese build."""

Call = tuple[Callable[..., Any], tuple[Any, ...]]
Done = tuple[int, Any]
"""The index of a call that has returned, and what it returned."""


class Executor(Protocol):
    """Runs calls in any order and says which are done."""

    far: bool
    """Whether calls run on other machines, which alone can put on the disk what these have written."""

    def run(self, calls: Sequence[Call], labels: Sequence[str]) -> Iterator[Done]:
        """Yield each call when it has returned; an exception of a call is raised here."""
        ...

    def close(self) -> None:
        """Stop whatever still runs."""
        ...


class Inline:
    """Runs calls one after another in this process: for tests, and for looking at them in a debugger."""

    far = False

    def run(self, calls: Sequence[Call], labels: Sequence[str]) -> Iterator[Done]:  # noqa: ARG002, D102
        for index, (function, arguments) in enumerate(calls):
            yield index, function(*arguments)

    def close(self) -> None:  # noqa: D102
        return


class Pool:
    """Runs calls in ``jobs`` processes, started at the first use."""

    far = False

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def run(self, calls: Sequence[Call], labels: Sequence[str]) -> Iterator[Done]:  # noqa: D102
        waiting = deque(range(len(calls)))
        while waiting:
            suspects: list[int] = []
            try:
                yield from self._side_by_side(calls, waiting, suspects)
            except BrokenProcessPool:
                self.close()
                for index in suspects:
                    yield index, self._alone(calls[index], labels[index])

    def close(self) -> None:  # noqa: D102
        if self._pool is None:
            return
        for process in list((self._pool._processes or {}).values()):
            process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None

    def _side_by_side(self, calls: Sequence[Call], waiting: deque[int], flying: list[int]) -> Iterator[Done]:
        """Keep one call a worker and one more under way; ``flying`` holds those whose end is not known."""
        futures: dict[Future[Any], int] = {}
        while waiting or futures:
            while waiting and len(futures) <= self._jobs:
                index = waiting.popleft()
                flying.append(index)
                function, arguments = calls[index]
                futures[self._started().submit(function, *arguments)] = index
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                result, index = future.result(), futures.pop(future)
                flying.remove(index)
                yield index, result

    def _alone(self, call: Call, label: str) -> Any:
        function, arguments = call
        for _ in range(ATTEMPTS):
            try:
                return self._started().submit(function, *arguments).result()
            except BrokenProcessPool:
                self.close()
        raise MrprepError(
            f"workers died {ATTEMPTS + 1} times on {label} (out of memory, or a crash in a library): look at that "
            "input, or give the machine more memory or fewer --jobs, and run the same command again"
        )

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            for name, value in WORKER_ENVIRONMENT.items():
                os.environ.setdefault(name, value)
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._jobs, mp_context=context, initializer=_become_worker)
        return self._pool


def _become_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
