"""``history.jsonl``: when a run was started, how it ended, and what it was started with; a line an event.

A start that follows a start was killed in between.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypedDict

import orjson

from mrprep.errors import MrprepError
from mrprep.training.metrics import Follower, read

FILE = "history.jsonl"

What = Literal["started", "finished", "stopped", "failed"]


class Event(TypedDict):
    """A line."""

    at: float
    """Seconds since the epoch."""
    what: What
    """What happened."""
    step: int
    """Steps done by then."""
    told: str
    """With what it was started; why it failed."""


def note(run: Path, what: What, step: int, told: str = "") -> None:
    """Append an event."""
    event: Event = {"at": round(time.time(), 3), "what": what, "step": step, "told": told}
    with (run / FILE).open("ab") as file:
        file.write(orjson.dumps(event) + b"\n")


def events(run: Path) -> list[Event]:
    """Return all events of a run, the first first; none of a run that knows of none."""
    return list(Follower(run / FILE).new())


@contextmanager
def kept(run: Path, done: int, total: int, told: str) -> Iterator[None]:
    """Note that a run starts, with ``done`` of ``total`` steps done, and how it ends."""
    note(run, "started", done, told)
    try:
        yield
    except (MrprepError, KeyboardInterrupt) as error:
        note(run, "failed", _reached(run, done), str(error) or "stopped at once by a second Ctrl-C")
        raise
    reached = _reached(run, done)
    note(run, "finished" if reached >= total else "stopped", reached)


def _reached(run: Path, done: int) -> int:
    lines = read(run / "metrics.jsonl")
    return lines[-1]["step"] if lines else done
