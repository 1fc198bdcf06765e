"""Signs of life: each rank notes what it begins, and the launcher tells from the notes which rank hangs.

A note is a file of one line, written anew: 40 us. Ranks wait for each other in every step, so when one hangs all
fall silent; the one that hangs is furthest behind, or not even running.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

BEAT_FILE = "MRPREP_BEAT_FILE"
"""Environment variable with the file for the notes of a rank; unset when someone else starts the ranks."""
COMPUTING = "computing"
"""The phase in which ranks wait for each other."""
STARTING = "starting"
"""The phase of a rank that has not noted anything, as MindSpore is imported and the ranks find each other."""


class Heart:
    """Notes what this rank begins."""

    def __init__(self) -> None:
        file = os.environ.get(BEAT_FILE)
        self._file = Path(file) if file else None

    def beat(self, step: int, phase: str) -> None:
        """Note that ``phase`` of ``step`` begins."""
        if self._file is not None:
            self._file.write_text(f"{step} {phase}")


@dataclass(frozen=True, slots=True)
class Note:
    """What a rank noted last."""

    name: str
    step: int
    phase: str
    at: float
    """When, in the file system's seconds since the epoch."""
    frozen: bool
    """Whether the kernel says that it is stopped, as by SIGSTOP."""

    @property
    def rank_of_progress(self) -> tuple[bool, int, bool, float]:
        """Smallest for the rank that is furthest behind."""
        return not self.frozen, self.step, self.phase == COMPUTING, self.at


def read_notes(files: Mapping[str, Path], pids: Mapping[str, int]) -> list[Note]:
    """Return the last note of each rank, name -> file and process id."""
    notes = []
    for name, file in files.items():
        step, _, phase = file.read_text().partition(" ")
        notes.append(Note(name, int(step or 0), phase or STARTING, file.stat().st_mtime, _frozen(pids[name])))
    return notes


def hanging(notes: list[Note], limit: float) -> str | None:
    """Return a sentence that names the rank that hangs when none gave a sign for ``limit`` seconds."""
    silent = time.time() - max(note.at for note in notes)
    return None if silent < limit else _told(min(notes, key=lambda note: note.rank_of_progress), len(notes))


def frozen(notes: list[Note]) -> str | None:
    """Return a sentence that names a rank that is stopped, if one is."""
    found = [note for note in notes if note.frozen]
    return _told(found[0], len(notes)) if found else None


def _told(note: Note, ranks: int) -> str:
    state = "is stopped" if note.frozen else "hangs"
    others = "; the others wait for it" if ranks > 1 else ""
    slow = "" if note.frozen or note.phase != STARTING else "; a slow start needs a larger --hang-after"
    return f"{note.name} {state}: its last sign of life was step {note.step + 1}, {note.phase}{others}{slow}"


def _frozen(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state in "Tt"
