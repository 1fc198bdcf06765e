"""A run as its directory tells of it, finished or under way."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training import history, metrics, rundir
from mrprep.training.history import Event
from mrprep.training.metrics import LayerNorms, Metric, Validation
from mrprep.training.settings import Settings


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of a run."""

    path: Path
    """Its directory."""
    settings: Settings
    """What decides it."""
    steps: Sequence[Metric]
    """Of each step that stands, the first first; at least one."""
    valid: Sequence[Validation]
    """Looks at the valid split."""
    layers: Sequence[LayerNorms]
    """Gradient norms of the weights, now and then."""
    events: Sequence[Event]
    """Starts and ends."""
    incidents: Sequence[dict[str, Any]]
    """``incident.json`` of each bad step."""
    at_work: bool
    """Whether a trainer is at work in it now."""

    @property
    def done(self) -> int:
        """Steps done."""
        return self.steps[-1]["step"]

    @property
    def total(self) -> int:
        """Steps of the whole run."""
        return self.settings.schedule.total

    @property
    def told(self) -> str:
        """How it stands, in words."""
        if self.at_work:
            return f"running: step {self.done:,} of {self.total:,}"
        if self.done >= self.total:
            return f"finished: {self.total:,} steps"
        ended = [event for event in self.events if event["step"] and event["what"] != "started"]
        why = f": {ended[-1]['told']}" if ended and ended[-1]["what"] == "failed" else ""
        return f"stopped after step {self.done:,} of {self.total:,}{why}"


def read_run(path: Path) -> Run:
    """Read what stands in the directory of a run.

    Raises:
        MrprepError: it is no run, its settings are not to be read, or it has done no step yet.
    """
    shown = printable(str(path))
    if not (path / rundir.LOCK).exists():
        raise MrprepError(f"{shown} is no training run: name a directory that mrprep train has written")
    steps = metrics.read(path / "metrics.jsonl")
    if not steps:
        raise MrprepError(f"{shown} has done no step yet: look again when it has")
    try:
        settings = Settings.model_validate_json((path / "settings.json").read_bytes())
    except (OSError, ValidationError) as error:
        raise MrprepError(f"{shown}/settings.json cannot be read: {printable(str(error))}") from None
    return Run(
        path=path,
        settings=settings,
        steps=steps,
        valid=list(metrics.Follower(path / "valid.jsonl").new()),
        layers=list(metrics.Follower(path / "layers.jsonl").new()),
        events=history.events(path),
        incidents=[orjson.loads(file.read_bytes()) for file in sorted(path.glob("incidents/step-*/incident.json"))],
        at_work=rundir.at_work(path),
    )
