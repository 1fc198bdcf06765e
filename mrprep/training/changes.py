"""What a run goes on with that its checkpoint was not trained with: allowed, and said.

Seed, global batch and data decide which rows come next; ``rundir`` refuses those. All else may change.
"""

from collections.abc import Mapping
from typing import Any

from mrprep.training.settings import Settings

_HOUSEKEEPING = {
    "save_every",
    "save_minutes",
    "keep",
    "keep_every",
    "valid_every",
    "valid_rows",
    "hang_after",
    "layer_norms",
    "peak_tflops",
}
_ELSEWHERE = {"builds", "mix", "run", "model", "init_from", "schedule"}
_SCHEDULE = {"peak": "lr", "total": "steps"}


def deciding(settings: Settings) -> dict[str, Any]:
    """Return the settings that decide a run's numbers, by the names of their options; for its checkpoints."""
    own = settings.model_dump(mode="json", exclude=_HOUSEKEEPING | _ELSEWHERE)
    schedule = settings.schedule.model_dump(mode="json")
    return own | {_SCHEDULE.get(name, name): value for name, value in schedule.items()}


def told(before: Mapping[str, Any], settings: Settings) -> str | None:
    """Return a sentence that names what differs from the settings in a checkpoint, None if nothing does."""
    now = deciding(settings)
    differ = [
        f"--{name.replace('_', '-')} {before[name]} -> {value}"
        for name, value in now.items()
        if name in before and before[name] != value
    ]
    if not differ:
        return None
    return f"going on with other settings than the checkpoint's: {', '.join(differ)}; rows come in the same order"
