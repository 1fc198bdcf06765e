"""The weights that a run left, for whoever only reads them: a run's newest checkpoint, or a directory of weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training import checkpoint
from mrprep.training.config import ModelConfig, read_config

Arrays = Mapping[str, npt.NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Weights:
    """A trained model."""

    path: Path
    """Where it lies."""
    step: int
    """Steps it was trained for; 0 when that is not said."""
    config: ModelConfig
    """Its shape."""
    arrays: Arrays
    """fp32, under Hugging Face's names."""


def read_weights(path: Path) -> Weights:
    """Read the newest sound checkpoint of a run, or the directory itself if it holds ``model.safetensors``.

    Raises:
        MrprepError: neither; or the files are not those of a Llama.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    found = checkpoint.latest(path / "checkpoints")
    if found is None and not (path / "model.safetensors").is_file():
        raise MrprepError(f"{printable(str(path))} is no run with a sound checkpoint: name the --out of mrprep train")
    folder, step = (found[0], found[1].step) if found else (path, 0)
    try:
        arrays = load_file(folder / "model.safetensors")
    except (OSError, SafetensorError) as error:
        raise MrprepError(f"{printable(str(folder))}/model.safetensors cannot be read ({error})") from None
    return Weights(folder, step, read_config(folder / "config.json"), arrays)
