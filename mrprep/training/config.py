"""Shapes of models: the Llama family by preset name or by a Hugging Face ``config.json``."""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError, model_validator

from mrprep.errors import MrprepError
from mrprep.options import Options
from mrprep.printable import printable


class ModelConfig(Options):
    """A Llama decoder; the fields bear the names of Hugging Face's ``LlamaConfig``."""

    vocab_size: int
    """Rows of the embedding."""
    hidden_size: int
    """Width of the residual stream."""
    intermediate_size: int
    """Width within the feed-forward block."""
    num_hidden_layers: int
    """Decoder blocks."""
    num_attention_heads: int
    """Query heads; they share ``hidden_size`` evenly."""
    num_key_value_heads: int
    """Key and value heads; each serves a group of query heads."""
    max_position_embeddings: int
    """Longest row, in tokens."""
    rms_norm_eps: float = 1e-5
    """Added to the mean square before its root."""
    rope_theta: float = 10000.0
    """Base of the rotary angles."""
    tie_word_embeddings: bool = False
    """Whether the output layer is the embedding."""
    initializer_range: float = 0.02
    """Standard deviation of new weights."""

    @model_validator(mode="after")
    def _heads_divide(self) -> "ModelConfig":
        if self.hidden_size % (2 * self.num_attention_heads):
            raise ValueError(f"{self.num_attention_heads} heads of even width do not fit {self.hidden_size}")
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"{self.num_key_value_heads} key-value heads do not divide {self.num_attention_heads} heads"
            )
        return self

    @property
    def head_dim(self) -> int:
        """Width of a head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def parameter_count(self) -> int:
        """Trained numbers, norms and embeddings counted, a tied embedding once."""
        d, kv = self.hidden_size, self.num_key_value_heads * self.head_dim
        block = 2 * d * d + 2 * d * kv + 3 * d * self.intermediate_size + 2 * d
        embeddings = self.vocab_size * d * (1 if self.tie_word_embeddings else 2)
        return self.num_hidden_layers * block + embeddings + d

    def to_hf(self, bos_id: int | None, eod_id: int, pad_id: int | None) -> dict[str, Any]:
        """Return the ``config.json`` with which ``transformers.LlamaForCausalLM`` loads the weights."""
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            **self.model_dump(),
            "hidden_act": "silu",
            "attention_bias": False,
            "mlp_bias": False,
            "bos_token_id": bos_id,
            "eos_token_id": eod_id,
            "pad_token_id": pad_id,
            "torch_dtype": "float32",
        }


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


def resolve(model: str, vocab_size: int, seq: int) -> ModelConfig:
    """Return the shape that ``model`` names: a preset, or the path of a ``config.json``.

    Raises:
        MrprepError: no such preset or file, a key the trainer does not know how to serve, or a vocabulary or
            row length that disagrees with the build's.
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
            f"rows of {seq} tokens: raise it, or build with a smaller --seq"
        )
    return config


_SERVED = {  # what LlamaConfig can say besides shapes, with the only values the model has
    "hidden_act": ("silu",),
    "attention_bias": (False,),
    "mlp_bias": (False,),
    "rope_scaling": (None,),
    "model_type": ("llama",),
}


def read_config(path: Path) -> ModelConfig:
    """Return the shape that a Hugging Face ``config.json`` describes.

    Raises:
        MrprepError: it is none of a Llama, or asks for what the model does not have.
    """
    try:
        raw = json.loads(path.read_bytes())
        for key, values in _SERVED.items():
            if key in raw and raw[key] not in values:
                raise MrprepError(f"{printable(str(path))}: {key} {printable(str(raw[key]))} is not supported")
        raw.setdefault("num_key_value_heads", raw.get("num_attention_heads"))
        return ModelConfig.model_validate({k: v for k, v in raw.items() if k in ModelConfig.model_fields})
    except (ValidationError, ValueError, AttributeError) as error:
        raise MrprepError(f"{printable(str(path))} is no Llama config.json: {printable(str(error))}") from None
