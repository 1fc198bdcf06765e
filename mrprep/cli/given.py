"""What several commands make of their options."""

import os
from typing import Any


def given(**values: Any) -> dict[str, Any]:
    """Return the options that the user gave."""
    return {key: value for key, value in values.items() if value is not None}


def job_count(jobs: int | None) -> int:
    """Return the worker processes asked for, or one for each core this process may use."""
    return jobs or len(os.sched_getaffinity(0))
