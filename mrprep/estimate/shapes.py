"""The shape of the model to plan for."""

from pathlib import Path

from mrprep.training.config import ModelConfig
from mrprep.training.config_json import read_config
from mrprep.training.presets import PRESETS, resolve

_VOCABULARY = 32_000


def shape(model: str, vocab_size: int | None, seq: int) -> ModelConfig:
    """Return the shape that a preset or a ``config.json`` names.

    Args:
        model: name or path.
        vocab_size: of the corpus; None without one: that of the file, 32,000 for a preset.
        seq: tokens a row.

    Raises:
        MrprepError: there is no such model, or it disagrees with the corpus.
    """
    if vocab_size is None and model not in PRESETS and Path(model).is_file():
        vocab_size = read_config(Path(model)).vocab_size
    return resolve(model, vocab_size or _VOCABULARY, seq)
