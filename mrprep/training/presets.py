"""Shapes by name, or by the path of a Hugging Face ``config.json``; held against the build's vocabulary and rows."""

from pathlib import Path

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.config import ModelConfig
from mrprep.training.config_json import read_config, stated_ids

_SHAPES: dict[str, tuple[int, int, int, int, int, bool]] = {
    # name: width, feed-forward, layers, heads, key-value heads, tied
    "tiny": (128, 352, 2, 4, 2, True),
    "10m": (256, 704, 8, 8, 4, False),
    "100m": (768, 2048, 12, 12, 12, True),
    "1b": (2048, 5632, 22, 32, 4, False),  # TinyLlama 1.1B
    "7b": (4096, 11008, 32, 32, 32, False),  # Llama 2 7B
}
PRESETS = tuple(_SHAPES)
"""Names of ready shapes."""


def preset(name: str, vocab_size: int, seq: int) -> ModelConfig:
    """Return the shape called ``name`` for a vocabulary and a row length in tokens."""
    width, inner, layers, heads, kv_heads, tied = _SHAPES[name]
    return ModelConfig(
        vocab_size=vocab_size,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        max_position_embeddings=seq,
        tie_word_embeddings=tied,
    )


def resolve(model: str, vocab_size: int, seq: int, eod_id: int | None = None, pad_id: int | None = None) -> ModelConfig:
    """Return the shape that ``model`` names: a preset, or the path of a ``config.json``.

    Args:
        model: name or path.
        vocab_size: of the build's tokenizer.
        seq: tokens a row that is trained on.
        eod_id: the build's end of a document.
        pad_id: the build's padding.

    Raises:
        MrprepError: no such preset or file, a key the trainer does not know how to serve, or a number that
            disagrees with the build's; both are named.
    """
    if model in _SHAPES:
        return preset(model, vocab_size, seq)
    path = Path(model)
    if not path.is_file():
        raise MrprepError(f"there is no model {printable(model)}: name one of {', '.join(PRESETS)} or a config.json")
    config = read_config(path)
    if config.vocab_size != vocab_size:
        raise MrprepError(
            f"{printable(model)} has vocab_size {config.vocab_size}, the build's tokenizer {vocab_size}: "
            "make them equal"
        )
    if config.max_position_embeddings < seq:
        raise MrprepError(
            f"{printable(model)} has max_position_embeddings {config.max_position_embeddings}, the build "
            f"rows of {seq} tokens: raise it, build with a smaller --seq, or cut the rows with --train-seq"
        )
    _check_ids(path, eod_id, pad_id)
    return config


def _check_ids(path: Path, eod_id: int | None, pad_id: int | None) -> None:
    ends, pad = stated_ids(path)
    if ends and eod_id is not None and eod_id not in ends:
        raise MrprepError(
            f"{printable(str(path))} has eos_token_id {printable(str(ends[0] if len(ends) == 1 else ends))}, the "
            f"build's documents end with {eod_id}: make them equal, or build with the model's tokenizer"
        )
    if None not in (pad, pad_id) and pad != pad_id:
        raise MrprepError(
            f"{printable(str(path))} has pad_token_id {printable(str(pad))}, the build pads with {pad_id}: "
            "make them equal, or build with the model's tokenizer"
        )
