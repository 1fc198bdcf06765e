"""The weights that a run left, for whoever only reads them: a run's newest checkpoint, or a directory of weights."""

from dataclasses import dataclass
from pathlib import Path

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training import checkpoint
from mrprep.training.config import ModelConfig, read_config
from mrprep.training.tensors import SINGLE, Arrays, has_weights, read_tensors


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
    """Read the newest sound checkpoint of a run, or the directory itself if it holds weights.

    Raises:
        MrprepError: neither; or the files are not those of a Llama.
    """
    folder, step = folder_of(path)
    return Weights(folder, step, read_config(folder / "config.json"), read_tensors(folder))


def folder_of(path: Path) -> tuple[Path, int]:
    """Return where the weights lie that ``path`` means, and the steps they were trained for; 0 if not said.

    Raises:
        MrprepError: it is neither a run with a sound checkpoint nor a directory of weights.
    """
    found = checkpoint.latest(path / "checkpoints")
    if found:
        return found[0], found[1].step
    if not has_weights(path):
        raise MrprepError(
            f"{printable(str(path))} is no run with a sound checkpoint, and holds no {SINGLE}: name the --out of "
            "mrprep train, or a directory of weights"
        )
    return path, 0
