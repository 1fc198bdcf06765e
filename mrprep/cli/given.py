"""What several commands make of their options."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def given(**values: Any) -> dict[str, Any]:
    """Return the options that the user gave."""
    return {key: value for key, value in values.items() if value is not None}


def absolute(paths: Sequence[Path] | None) -> tuple[Path, ...] | None:
    """Return the paths that the user gave, no longer relative to anything."""
    return tuple(path.absolute() for path in paths) if paths else None


def job_count(jobs: int | None) -> int:
    """Return the worker processes asked for, or one for each core this process may use."""
    return jobs or len(os.sched_getaffinity(0))
