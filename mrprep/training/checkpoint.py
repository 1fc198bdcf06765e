"""Checkpoints: a directory a time, written beside and published by one rename, with the sha256 of its files.

``model.safetensors`` and ``config.json`` are what ``transformers.LlamaForCausalLM.from_pretrained`` reads;
``optimizer.safetensors`` and ``state.json`` are what a resume needs besides. 12 bytes a parameter in all.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from mrprep.options import Options

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


def save(directory: Path, snapshot: Snapshot, keep: int) -> Path:
    """Publish a checkpoint in ``directory``, take away the oldest beyond ``keep``, and return its path."""
    from safetensors.numpy import save_file

    final = directory / f"step-{snapshot.state.step:08d}"
    staging = directory / f".{final.name}.tmp"
    for half in directory.glob(".step-*.tmp"):
        _remove(half)
    staging.mkdir(parents=True)
    save_file(dict(snapshot.model), staging / "model.safetensors", metadata={"format": "pt"})
    save_file(dict(snapshot.optimizer), staging / "optimizer.safetensors")
    (staging / "config.json").write_text(json.dumps(snapshot.config, indent=2) + "\n")
    files = {path.name: _sync_and_hash(path) for path in sorted(staging.iterdir())}
    state = snapshot.state.model_copy(update={"files": files})
    (staging / "state.json").write_text(state.model_dump_json(indent=2) + "\n")
    _sync_and_hash(staging / "state.json")
    _remove(final)
    staging.rename(final)
    for old in _published(directory)[:-keep]:
        _remove(old)
    return final


def latest(directory: Path) -> tuple[Path, LoopState] | None:
    """Return the newest checkpoint whose files have their hashes; damaged ones are passed over."""
    for path in reversed(_published(directory)):
        state = _sound(path)
        if state is not None:
            return path, state
    return None


def load(checkpoint: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays of the model and of the optimizer."""
    from safetensors.numpy import load_file

    return load_file(checkpoint / "model.safetensors"), load_file(checkpoint / "optimizer.safetensors")


def _published(directory: Path) -> list[Path]:
    return sorted(directory.glob("step-*"))


def _sound(checkpoint: Path) -> LoopState | None:
    try:
        state = LoopState.model_validate_json((checkpoint / "state.json").read_bytes())
        hashes = {name: _hash(checkpoint / name) for name in state.files}
    except (OSError, ValueError):
        return None
    return state if hashes == state.files else None


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
