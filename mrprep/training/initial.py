"""New training from weights: of a run of ours, one of its checkpoints, or a directory of Hugging Face's."""

from collections.abc import Callable
from pathlib import Path

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.checkpoint import silent
from mrprep.training.config import ModelConfig
from mrprep.training.config_json import read_config
from mrprep.training.keys import open_fitting
from mrprep.training.presets import resolve
from mrprep.training.shards import TrainingShards
from mrprep.training.weights import origin_of

_FREE = {"max_position_embeddings", "initializer_range"}
"""What two configs of one shape may differ in."""


def begin(
    path: Path,
    model: str | None,
    like: TrainingShards,
    train_seq: int | None = None,
    say: Callable[[str], None] = silent,
) -> tuple[Path, ModelConfig]:
    """Return the directory with the weights and the shape they have.

    Args:
        path: a run, a checkpoint, or a directory with ``config.json`` and safetensors.
        model: what the user asked for besides, if anything; it must be of the same shape.
        like: the build that is trained on.
        train_seq: tokens a row is cut to, if it is.
        say: hears of damaged checkpoints that are passed over.

    Raises:
        MrprepError: there are no weights; they are damaged, or not those of their ``config.json``; or they do not fit
            the build or its tokenizer, both are named.
    """
    origin = origin_of(path, say)
    folder = origin.path
    seq = train_seq or like.seq
    config = read_config(folder / "config.json")
    shown = printable(str(folder))
    origin.check_vocabulary(config.vocab_size, like.vocab_size, like.tokenizer_sha256, like.build)
    origin.check_tokenizer(like.tokenizer_sha256, like.build)
    resolve(str(folder / "config.json"), config.vocab_size, seq, like.eod_id, like.pad_id)  # what else must agree
    if model is not None:
        wanted = resolve(model, config.vocab_size, seq)
        for name, value in wanted:
            if name not in _FREE and getattr(config, name) != value:
                raise MrprepError(
                    f"{shown} has {name} {getattr(config, name)}, --model {printable(model)} {value}: leave --model out"
                )
    open_fitting(folder, config)
    return folder, config
