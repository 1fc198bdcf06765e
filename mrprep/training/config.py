"""Shapes of models: the Llama family (Llama, Mistral, Qwen2, Qwen3), in the words of a Hugging Face ``config.json``."""

import math
from typing import Any, Literal

from pydantic import Field, model_validator

from mrprep.options import Options
from mrprep.training.rope import RopeScaling

ARCHITECTURES = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}
"""Model types -> the class of ``transformers``."""


class ModelConfig(Options):
    """A decoder of the Llama family; the fields bear the names of Hugging Face's ``config.json``."""

    model_type: Literal["llama", "mistral", "qwen2", "qwen3"] = "llama"
    """Mistral is a Llama here; Qwen2 has a bias on queries, keys and values; Qwen3 norms heads of queries and keys."""
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
            raise ValueError(
                f"{self.num_attention_heads} heads of even width do not fit {self.hidden_size}: make hidden_size a "
                "multiple of twice num_attention_heads, or give head_dim"
            )
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"{self.num_key_value_heads} key-value heads do not divide {self.num_attention_heads} heads: make "
                "num_attention_heads a multiple of num_key_value_heads"
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

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each trained array, by Hugging Face's names, in the order of the forward pass."""
        d, inner, vocabulary = self.hidden_size, self.intermediate_size, self.vocab_size
        block: dict[str, tuple[int, ...]] = {"input_layernorm.weight": (d,), **self._attention_shapes()}
        block |= {"post_attention_layernorm.weight": (d,), "mlp.gate_proj.weight": (inner, d)}
        block |= {"mlp.up_proj.weight": (inner, d), "mlp.down_proj.weight": (d, inner)}
        layers = range(self.num_hidden_layers)
        return {
            "model.embed_tokens.weight": (vocabulary, d),
            **{f"model.layers.{layer}.{name}": shape for layer in layers for name, shape in block.items()},
            "model.norm.weight": (d,),
            **({} if self.tie_word_embeddings else {"lm_head.weight": (vocabulary, d)}),
        }

    def _attention_shapes(self) -> dict[str, tuple[int, ...]]:
        d, q, kv = self.hidden_size, self.num_attention_heads * self.head_dim, self.num_key_value_heads * self.head_dim
        found: dict[str, tuple[int, ...]] = {}
        for name, rows, columns, biased in (
            ("q_proj", q, d, self.qkv_bias),
            ("k_proj", kv, d, self.qkv_bias),
            ("v_proj", kv, d, self.qkv_bias),
            ("o_proj", d, q, self.output_bias),
        ):
            found[f"self_attn.{name}.weight"] = (rows, columns)
            if biased:
                found[f"self_attn.{name}.bias"] = (rows,)
        if self.head_norms:
            found |= {f"self_attn.{name}.weight": (self.head_dim,) for name in ("q_norm", "k_norm")}
        return found

    @property
    def parameter_count(self) -> int:
        """Trained numbers, norms and embeddings counted, a tied embedding once."""
        return sum(math.prod(shape) for shape in self.shapes().values())

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
            "architectures": [ARCHITECTURES[self.model_type]],
            **self.model_dump(exclude={"rope_scaling"}),
            "rope_scaling": self.rope_scaling.model_dump(exclude_none=True) if self.rope_scaling else None,
            "hidden_act": "silu",
            "mlp_bias": False,
            "use_sliding_window": False,
            "sliding_window": None,
            "bos_token_id": bos_id,
            "eos_token_id": eod_id,
            "pad_token_id": pad_id,
            "torch_dtype": "float32",
        }
