"""New training from weights: of a run of ours, one of its checkpoints, or a directory of Hugging Face's."""

from pathlib import Path

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.config import ModelConfig, read_config
from mrprep.training.presets import resolve
from mrprep.training.weights import folder_of

_FREE = {"max_position_embeddings", "initializer_range"}
"""What two configs of one shape may differ in."""


def begin(
    path: Path, model: str | None, vocab_size: int, seq: int, eod_id: int | None = None, pad_id: int | None = None
) -> tuple[Path, ModelConfig]:
    """Return the directory with the weights and the shape they have.

    Args:
        path: a run, a checkpoint, or a directory with ``config.json`` and safetensors.
        model: what the user asked for besides, if anything; it must be of the same shape.
        vocab_size: of the build.
        seq: tokens a row that is trained on.
        eod_id: the build's end of a document.
        pad_id: the build's padding.

    Raises:
        MrprepError: there are no weights, or they do not fit; both sizes are named.
    """
    folder, _ = folder_of(path)
    config = read_config(folder / "config.json")
    shown = printable(str(folder))
    if config.vocab_size != vocab_size:
        raise MrprepError(
            f"{shown} has a vocabulary of {config.vocab_size}, the build's tokenizer one of {vocab_size}: "
            "mrprep vocab align makes weights fit a tokenizer; or build with the weights' own --tokenizer"
        )
    resolve(str(folder / "config.json"), vocab_size, seq, eod_id, pad_id)  # what else must agree
    if model is not None:
        wanted = resolve(model, vocab_size, seq)
        for name, value in wanted:
            if name not in _FREE and getattr(config, name) != value:
                raise MrprepError(
                    f"{shown} has {name} {getattr(config, name)}, --model {printable(model)} {value}: leave --model out"
                )
    return folder, config
