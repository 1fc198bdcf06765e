"""Sentences of the first rank for the user, by way of ``RUN/logs/notes.txt``: the launcher says them as they come."""

from collections.abc import Callable
from pathlib import Path


def note(logs: Path, line: str) -> None:
    """Add a sentence; under an msrun of the user's own nobody has made the directory."""
    logs.mkdir(parents=True, exist_ok=True)
    with (logs / "notes.txt").open("a", encoding="utf-8") as file:
        file.write(line + "\n")


class Notes:
    """Says what is added, line by line.

    Args:
        logs: where the ranks work.
        say: takes a line for the user.
    """

    def __init__(self, logs: Path, say: Callable[[str], None]) -> None:
        self._path, self._say, self._told = logs / "notes.txt", say, 0

    def update(self) -> None:
        """Say what has been added since the last call."""
        if not self._path.exists():
            return
        lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
        for line in lines[self._told :]:
            if line.endswith("\n"):
                self._say(line.rstrip("\n"))
                self._told += 1
