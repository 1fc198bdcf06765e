"""Checkpoints: a directory a time, written beside and published by one rename, with the sha256 of its files.

``model.safetensors`` and ``config.json`` are what ``transformers.LlamaForCausalLM.from_pretrained`` reads;
``optimizer.safetensors`` and ``state.json`` are what a resume needs besides. 12 bytes a parameter in all.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from mrprep.errors import MrprepError
from mrprep.options import Options
from mrprep.printable import printable
from mrprep.training.spikes import Seen

Arrays = Mapping[str, npt.NDArray[np.float32]]


class LoopState(Options):
    """Where the loop stands; written last, so a directory without it is no checkpoint."""

    step: int
    """Steps done."""
    rows: int
    """Rows consumed, over all ranks and epochs."""
    tokens: int
    """Targets trained on."""
    seed: int
    """Of the weights and of the row order."""
    global_batch: int
    """Rows a step."""
    manifest_sha256: str
    """The data."""
    tokenizer_sha256: str | None = None
    """Of the model of the tokenizer that the ids are of; None in checkpoints that do not say."""
    data_from: int = 0
    """Step at which training on this data began."""
    valid_loss: float | None = None
    """Mean validation loss at this step, nats, if it was looked at."""
    best_loss: float | None = None
    """Lowest so far."""
    recent: tuple[Seen, ...] = ()
    """The last good steps."""
    spikes: int = 0
    """Skipped steps in a row up to this one."""
    overflows: int = 0
    """Steps skipped because the loss scale was too large."""
    loss_scale: tuple[float, int] | None = None
    """The loss scale of float16 training, and the steps since it last changed."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """What decided the run's numbers, see ``changes``."""
    files: dict[str, str] = Field(default_factory=dict)
    """sha256 of each other file in the directory."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a checkpoint holds."""

    state: LoopState
    """Of the loop."""
    model: Arrays
    """Weights under Hugging Face's names."""
    optimizer: Arrays
    """Its state."""
    config: Mapping[str, Any]
    """Hugging Face's ``config.json``."""


def save(directory: Path, snapshot: Snapshot, keep: int, keep_every: int | None = None) -> Path:
    """Publish a checkpoint in ``directory`` and return its path; take away what need not be kept.

    Kept are the newest ``keep``, the one of lowest validation loss, and those of steps that ``keep_every`` divides.

    Raises:
        MrprepError: it cannot be written, as when the disk is full; nothing of it is left.
    """
    from safetensors import SafetensorError

    final = _place(directory, snapshot.state.step)
    staging = directory / f".{final.name}.tmp"
    for half in directory.glob(".step-*.tmp"):
        _remove(half)
    try:
        _write(staging, snapshot)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(staging, ignore_errors=True)
        raise MrprepError(
            f"the checkpoint of step {snapshot.state.step} cannot be written to {printable(str(directory))} "
            f"({printable(str(error))}): make room there, and the same command goes on from the one before"
        ) from None
    _remove(final)
    staging.rename(final)
    _thin_out(directory, keep, keep_every)
    return final


def tell(directory: Path, step: int, told: Mapping[str, Any], keep: int, keep_every: int | None = None) -> None:
    """Give the state of a published checkpoint what became known after it; take away what need not be kept now.

    Args:
        directory: of the checkpoints.
        step: of the one that is told.
        told: fields of ``LoopState``.
        keep: see ``save``.
        keep_every: see ``save``.

    Raises:
        MrprepError: it cannot be written; the checkpoint is as before.
    """
    file = _place(directory, step) / "state.json"
    staging = file.with_name(".state.json.tmp")
    try:
        state = LoopState.model_validate_json(file.read_bytes()).model_copy(update=told)
        staging.write_text(state.model_dump_json(indent=2) + "\n")
        _sync_and_hash(staging)
        staging.rename(file)
    except (OSError, ValueError) as error:
        staging.unlink(missing_ok=True)
        raise MrprepError(
            f"{printable(str(file))} cannot be given the validation loss ({printable(str(error))}): make room there, "
            "and the same command goes on from it"
        ) from None
    _thin_out(directory, keep, keep_every)


def _place(directory: Path, step: int) -> Path:
    return directory / f"step-{step:08d}"


def _write(staging: Path, snapshot: Snapshot) -> None:
    from safetensors.numpy import save_file

    staging.mkdir(parents=True)
    save_file(dict(snapshot.model), staging / "model.safetensors", metadata={"format": "pt"})
    save_file(dict(snapshot.optimizer), staging / "optimizer.safetensors")
    (staging / "config.json").write_text(json.dumps(snapshot.config, indent=2) + "\n")
    files = {path.name: _sync_and_hash(path) for path in sorted(staging.iterdir())}
    state = snapshot.state.model_copy(update={"files": files})
    (staging / "state.json").write_text(state.model_dump_json(indent=2) + "\n")
    _sync_and_hash(staging / "state.json")


def silent(line: str) -> None:
    """Drop a line that nobody is to hear."""


def latest(directory: Path, say: Callable[[str], None] = silent) -> tuple[Path, LoopState] | None:
    """Return the newest checkpoint whose files have their hashes; ``say`` hears of those passed over, and why."""
    for path in reversed(_published(directory)):
        try:
            return path, _checked(path)
        except (OSError, ValueError) as error:
            say(f"{printable(str(path))} is damaged and passed over: {printable(str(error))}")
    return None


def is_checkpoint(path: Path) -> bool:
    """Return whether a directory is a checkpoint, sound or not."""
    return (path / "state.json").is_file()


def named(path: Path) -> LoopState:
    """Return the state of a checkpoint that the user named.

    Raises:
        MrprepError: it is damaged; what is wrong is said.
    """
    try:
        return _checked(path)
    except (OSError, ValueError) as error:
        raise MrprepError(
            f"{printable(str(path))} is damaged: {printable(str(error))}; name its run, whose newest sound "
            "checkpoint is taken, or put the file back"
        ) from None


def load(checkpoint: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays of the model and of the optimizer."""
    from safetensors.numpy import load_file

    return load_file(checkpoint / "model.safetensors"), load_file(checkpoint / "optimizer.safetensors")


def _published(directory: Path) -> list[Path]:
    return sorted(directory.glob("step-*"))


def _thin_out(directory: Path, keep: int, keep_every: int | None) -> None:
    found = _published(directory)
    states = {path: state for path in found if (state := _state(path))}
    judged = [(state.valid_loss, state.step, path) for path, state in states.items() if state.valid_loss is not None]
    best = min(judged)[-1] if judged else None
    for path in found[:-keep]:
        milestone = keep_every and path in states and states[path].step % keep_every == 0
        if path != best and not milestone:
            _remove(path)


def _state(checkpoint: Path) -> LoopState | None:
    try:
        return LoopState.model_validate_json((checkpoint / "state.json").read_bytes())
    except (OSError, ValueError):
        return None


def _checked(checkpoint: Path) -> LoopState:
    """Return the state of a checkpoint; ValueError or OSError says what is wrong with it."""
    state = _state(checkpoint)
    if state is None:
        raise ValueError("state.json is missing or cannot be read")
    for name, digest in state.files.items():
        if not (checkpoint / name).is_file():
            raise ValueError(f"{name} is missing")
        if _hash(checkpoint / name) != digest:
            raise ValueError(f"{name} does not have the SHA-256 that state.json gives it")
    return state


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync_and_hash(path: Path) -> str:
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return _hash(path)


def _remove(checkpoint: Path) -> None:
    """Delete a checkpoint's directory, which only this module writes."""
    if checkpoint.exists():
        shutil.rmtree(checkpoint)
