"""Shapes of models: the Llama family (Llama, Qwen2, Qwen3), read from and written as a Hugging Face ``config.json``."""

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from mrprep.errors import MrprepError
from mrprep.options import Options
from mrprep.printable import printable
from mrprep.training.rope import RopeScaling

_ARCHITECTURES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}


class ModelConfig(Options):
    """A decoder of the Llama family; the fields bear the names of Hugging Face's ``config.json``."""

    model_type: Literal["llama", "qwen2", "qwen3"] = "llama"
    """Qwen2 adds a bias to queries, keys and values; Qwen3 norms the heads of queries and keys."""
    vocab_size: int = Field(ge=1)
    """Rows of the embedding."""
    hidden_size: int = Field(ge=1)
    """Width of the residual stream."""
    intermediate_size: int = Field(ge=1)
    """Width within the feed-forward block."""
    num_hidden_layers: int = Field(ge=1)
    """Decoder blocks."""
    num_attention_heads: int = Field(ge=1)
    """Query heads."""
    num_key_value_heads: int = Field(ge=1)
    """Key and value heads; each serves a group of query heads."""
    head_dim: int = Field(default_factory=lambda known: known["hidden_size"] // known["num_attention_heads"], ge=2)
    """Width of a head; by default the heads share ``hidden_size``."""
    max_position_embeddings: int = Field(ge=1)
    """Longest row, in tokens."""
    rms_norm_eps: float = Field(default=1e-5, gt=0)
    """Added to the mean square before its root."""
    rope_theta: float = Field(default=10000.0, gt=1)
    """Base of the rotary angles."""
    rope_scaling: RopeScaling | None = None
    """How the angles are stretched for longer rows."""
    attention_bias: bool = False
    """Whether queries, keys, values and the output of attention have a bias, as Llama and Qwen3 can."""
    tie_word_embeddings: bool = False
    """Whether the output layer is the embedding."""
    initializer_range: float = Field(default=0.02, ge=0)
    """Standard deviation of new weights."""

    @model_validator(mode="after")
    def _heads_divide(self) -> "ModelConfig":
        if self.head_dim % 2:
            raise ValueError(f"heads of width {self.head_dim} cannot be turned in pairs: make it even")
        if "head_dim" not in self.model_fields_set and self.hidden_size % self.num_attention_heads:
            raise ValueError(f"{self.num_attention_heads} heads of even width do not fit {self.hidden_size}")
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"{self.num_key_value_heads} key-value heads do not divide {self.num_attention_heads} heads"
            )
        return self

    @property
    def qkv_bias(self) -> bool:
        """Whether queries, keys and values have a bias."""
        return self.model_type == "qwen2" or self.attention_bias

    @property
    def output_bias(self) -> bool:
        """Whether the output of attention has a bias."""
        return self.model_type != "qwen2" and self.attention_bias

    @property
    def head_norms(self) -> bool:
        """Whether each head of queries and keys is normed."""
        return self.model_type == "qwen3"

    @property
    def parameter_count(self) -> int:
        """Trained numbers, norms and embeddings counted, a tied embedding once."""
        d, q, kv = self.hidden_size, self.num_attention_heads * self.head_dim, self.num_key_value_heads * self.head_dim
        biases = (q + 2 * kv) * self.qkv_bias + d * self.output_bias
        norms = 2 * d + 2 * self.head_dim * self.head_norms
        embeddings = self.vocab_size * d * (1 if self.tie_word_embeddings else 2)
        return self._matrices - self.vocab_size * d + self.num_hidden_layers * (biases + norms) + embeddings + d

    @property
    def _matrices(self) -> int:
        """Numbers in the matrices that a token is multiplied by: the output layer is one, the embedding is not."""
        d, heads = self.hidden_size, 2 * (self.num_attention_heads + self.num_key_value_heads)
        return self.num_hidden_layers * d * (heads * self.head_dim + 3 * self.intermediate_size) + self.vocab_size * d

    def flops_per_token(self, seq: int) -> int:
        """Return floating-point operations of forward and backward a token in rows of ``seq``.

        6 a number of the matrices and 12 x heads x head width x seq a layer (PaLM, Chowdhery et al. 2022, appendix B):
        attention counted in full, nothing for recomputing. That is what MFU is measured by.
        """
        attention = 12 * self.num_hidden_layers * self.num_attention_heads * self.head_dim * seq
        return 6 * self._matrices + attention

    def to_hf(self, bos_id: int | None, eod_id: int, pad_id: int | None) -> dict[str, Any]:
        """Return the ``config.json`` with which ``transformers`` loads the weights."""
        return {
            "architectures": [_ARCHITECTURES[self.model_type]],
            **self.model_dump(exclude={"rope_scaling"}),
            "rope_scaling": self.rope_scaling.model_dump(exclude_none=True) if self.rope_scaling else None,
            "hidden_act": "silu",
            "mlp_bias": False,
            "use_sliding_window": False,
            "bos_token_id": bos_id,
            "eos_token_id": eod_id,
            "pad_token_id": pad_id,
            "torch_dtype": "float32",
        }


_SERVED = {  # what a config.json can say besides shapes, with the only values the model has
    "model_type": tuple(_ARCHITECTURES),
    "hidden_act": ("silu",),
    "mlp_bias": (False,),
    "use_sliding_window": (False,),
    "attention_dropout": (0,),
    "partial_rotary_factor": (None, 1),
}


def read_config(path: Path) -> ModelConfig:
    """Return the shape that a Hugging Face ``config.json`` describes.

    Raises:
        MrprepError: it is none of a Llama, Qwen2 or Qwen3, or asks for what the model does not have.
    """
    try:
        raw = _read(path)
        for key, values in _SERVED.items():
            if key in raw and raw[key] not in values:
                raise MrprepError(f"{printable(str(path))}: {key} {printable(str(raw[key]))} is not supported")
        return ModelConfig.model_validate({k: v for k, v in _filled(raw).items() if k in ModelConfig.model_fields})
    except ValidationError as error:
        raise MrprepError(f"{printable(str(path))}: {_fault(error)}") from None
    except (ValueError, AttributeError, TypeError) as error:
        raise MrprepError(f"{printable(str(path))} is no Llama config.json: {printable(str(error), 300)}") from None


def _fault(error: ValidationError) -> str:
    """Say which key is wrong first, and what is wanted of it."""
    item = error.errors()[0]
    key = printable(".".join(str(part) for part in item["loc"]))
    said = item["msg"].removeprefix("Value error, ")
    if item["type"] == "missing":
        return f"there is no {key}, which a model needs"
    if item["type"] == "value_error":
        return f"{key}: {said}" if key else said
    return f"{key} is {printable(repr(item['input']), 40)}: {said[:1].lower()}{said[1:]}"


def stated_ids(path: Path) -> tuple[list[int], int | None]:
    """Return the ids that a ``config.json`` gives for the end of a document, there may be several, and for padding."""
    raw = _read(path)
    ends, pad = raw.get("eos_token_id"), raw.get("pad_token_id")
    listed = ends if isinstance(ends, list) else [] if ends is None else [ends]
    return listed, pad


def _read(path: Path) -> dict[str, Any]:
    raw = json.loads(path.read_bytes())
    if not isinstance(raw, dict):
        raise TypeError("it holds no object")
    return raw


def _filled(raw: dict[str, Any]) -> dict[str, Any]:
    """Fill in what ``transformers`` takes for absent, and lay ``rope_parameters``, its newer name, out as before."""
    absent = {"rms_norm_eps": 1e-6, "num_key_value_heads": raw.get("num_attention_heads")}
    if raw.get("model_type") == "qwen3":
        absent["head_dim"] = 128
    filled = absent | {key: value for key, value in raw.items() if value is not None}
    rope = dict(raw.get("rope_parameters") or raw.get("rope_scaling") or {})
    filled["rope_theta"] = rope.pop("rope_theta", filled.get("rope_theta", 10000.0))
    kind = rope.pop("type", None)
    rope.setdefault("rope_type", kind or "default")
    if rope["rope_type"] in ("llama3", "yarn"):
        rope.setdefault("original_max_position_embeddings", raw.get("max_position_embeddings"))
    filled["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    return filled
