"""A work directory: phases one after another, each reused where its fingerprint still holds."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mrprep.engine.endings import published_beside, to_its_end
from mrprep.engine.executor import Call, Executor
from mrprep.engine.fingerprint import changes, fingerprint
from mrprep.engine.parts import Ending, discard, run_parts, run_whole, sync, unlink_all
from mrprep.engine.progress import track
from mrprep.engine.spent import Spent, busy, timed

STATE = "phase.json"
SPARED = "spared.json"


class SparedError(Exception):
    """A phase was to run whose input had been deleted; what makes that input is undone, and all begins anew."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a phase took; for run.json and the summary, never for the build's bytes."""

    phase: str
    seconds: float
    weight: int
    """Sum of the weights of its units, bytes where the unit of the bar is B."""
    reused: int
    """Units that were done before."""
    units: int
    began: float
    """Seconds after the run did."""
    cpu: float
    """Seconds of processors that its units took in workers."""
    busy: Mapping[str, Sequence[tuple[float, float]]]
    """Worker -> stretches in which it was at units, in seconds after the run began; short gaps are left out."""


class Work:
    """Runs phases in ``path``; an instance is one run, and a RunPhase (see engine/phase.py)."""

    def __init__(
        self,
        path: Path,
        executor: Executor,
        say: Callable[[str], None],
        root: Mapping[str, Any],
        *,
        keep: bool = False,
        began: float | None = None,
    ) -> None:
        """Open a work directory.

        Args:
            path: of the directory.
            executor: runs the units.
            say: is given lines for the user.
            root: what all phases depend on.
            keep: nothing is deleted on the way, so that other options redo only what follows them.
            began: when the run did, in seconds since 1970; now if None.
        """
        self.path = path
        self.began = time.time() if began is None else began
        self.timings: list[Timing] = []
        self._executor, self._say, self._keep = executor, say, keep
        self._spared: dict[str, list[str]] = {}
        self._chain = fingerprint("", "root", root)

    def __call__(
        self,
        name: str,
        units: Sequence[Any],
        function: Callable[[Any, Path], None],
        *,
        settings: Mapping[str, Any],
        weights: Sequence[int] | None = None,
    ) -> list[Path]:
        """Run a phase whose units write one directory each; return those directories."""
        return self._run(name, units, run_whole, function, settings, weights)

    def in_parts(
        self,
        name: str,
        units: Sequence[Any],
        function: Callable[[Any, Any], None],
        *,
        settings: Mapping[str, Any],
        weights: Sequence[int],
    ) -> list[Path]:
        """Run a phase whose units publish parts; return the directories of all parts, in order."""
        done = self._run(name, units, run_parts, function, settings, weights)
        return [part for unit in done for part in sorted(unit.iterdir())]

    def spare(self, name: str, files: Sequence[str], needed_by: Sequence[str]) -> None:
        """Delete files of a phase, all units of which are done, to make room on the disk.

        A mark comes first. If one of the phases that need them is ever to run again, this one is done again before.

        Args:
            name: of the phase.
            files: names, or patterns of names, in the directories of its units.
            needed_by: phases that read them; all are done.
        """
        home = self.path / name
        if self._keep or not home.is_dir():
            return
        aside = home / f"{SPARED}.tmp"
        aside.write_text(json.dumps(list(needed_by)))
        sync(aside)
        aside.rename(home / SPARED)
        unlink_all(path for pattern in files for path in home.rglob(pattern))

    def _recall(self, name: str) -> None:
        """Undo the phases of which files are gone that this one needs.

        Raises:
            SparedError: there are such.
        """
        gone = [phase for phase, needed_by in self._spared.items() if name in needed_by]
        for phase in gone:
            self._say(f"{phase}: done again ({name} is to be, and needs what was deleted to make room)")
            discard(self.path / phase)
        if gone:
            raise SparedError

    def _run(
        self,
        name: str,
        units: Sequence[Any],
        run: Callable[[Any, Any, Path], Ending | None],
        function: Callable[..., None],
        settings: Mapping[str, Any],
        weights: Sequence[int] | None,
    ) -> list[Path]:
        started = time.time()
        home = self._open(name, settings, len(units))
        finals = [home / f"{index:05d}" for index in range(len(units))]
        sizes = list(weights) if weights is not None else [1] * len(units)
        done = {index for index, final in enumerate(finals) if final.exists()}
        todo = sorted(set(range(len(units))) - done, key=lambda index: (-sizes[index], index))
        if todo:
            self._recall(name)
        runs = (to_its_end, run) if self._executor.far else (run,)
        calls: list[Call] = [(timed, (*runs, function, units[index], finals[index])) for index in todo]
        labels = [_label(name, index, units[index]) for index in todo]
        spent: list[Spent] = []

        def ended() -> Iterator[int]:
            for position, call in published_beside(self._executor.run(calls, labels)):
                spent.append(call)
                yield todo[position]

        for _ in track(ended(), sizes, name, done, "B" if weights is not None else "unit"):
            pass
        timing = Timing(
            phase=name,
            seconds=time.time() - started,
            weight=sum(sizes),
            reused=len(done),
            units=len(units),
            began=started - self.began,
            cpu=sum(call.cpu for call in spent),
            busy=busy(spent, self.began),
        )
        self.timings.append(timing)
        return finals

    def _open(self, name: str, settings: Mapping[str, Any], units: int) -> Path:
        """Return the phase's directory, emptied if what it holds was made with other settings."""
        settings = json.loads(json.dumps(settings, default=str))
        self._chain = fingerprint(self._chain, name, {"settings": settings, "units": units})
        home, state = self.path / name, self.path / name / STATE
        now = {"fingerprint": self._chain, "settings": settings}
        if state.exists():
            was = json.loads(state.read_text())
            if was["fingerprint"] == self._chain:
                if (home / SPARED).exists():
                    self._spared[name] = json.loads((home / SPARED).read_text())
                return home
            differs = "; ".join(changes(was["settings"], settings)) or "what comes before it changed"
            self._say(f"{name}: done again ({differs})")
        discard(home)
        home.mkdir(parents=True)
        aside = state.with_suffix(".tmp")
        aside.write_text(json.dumps(now, indent=1, sort_keys=True))
        aside.rename(state)
        return home


def _label(phase: str, index: int, unit: Any) -> str:
    """Name a unit for a message, by its own ``label`` too if it has one."""
    own = getattr(unit, "label", "")
    return f"unit {index} of phase {phase}{own and f' ({own})'}"
