"""The Llama decoder in NumPy with a cache of keys and values, for a token at a time. No MindSpore: it starts at once.

A forward pass of ``k`` new tokens after ``n`` costs 2 x parameters x k operations and k x n for attention; the cache is
2 x layers x key-value heads x head width x 4 bytes a token.
"""

import numpy as np
import numpy.typing as npt

from mrprep.training import rope
from mrprep.training.config import ModelConfig
from mrprep.training.tensors import Arrays

F32 = npt.NDArray[np.float32]


class CachedLlama:
    """A decoder that remembers the tokens it has seen; begin a new one for another text."""

    def __init__(self, config: ModelConfig, arrays: Arrays) -> None:
        self._config, self._arrays = config, arrays
        self._cache: list[tuple[F32, F32] | None] = [None] * config.num_hidden_layers
        self._seen = 0

    def __call__(self, ids: npt.NDArray[np.int64]) -> F32:
        """Return the logits after each of some new tokens, fp32[len(ids), vocabulary]."""
        config = self._config
        x = self._arrays["model.embed_tokens.weight"][ids]
        turn = self._angles(len(ids))
        for layer in range(config.num_hidden_layers):
            name = f"model.layers.{layer}"
            x = x + self._attention(layer, self._norm(x, f"{name}.input_layernorm"), turn)
            x = x + self._feed_forward(f"{name}.mlp", self._norm(x, f"{name}.post_attention_layernorm"))
        self._seen += len(ids)
        head = "model.embed_tokens" if config.tie_word_embeddings else "lm_head"
        return self._linear(head, self._norm(x, "model.norm"))

    def _linear(self, name: str, x: F32) -> F32:
        y: F32 = x @ self._arrays[f"{name}.weight"].T
        bias = self._arrays.get(f"{name}.bias")
        return y if bias is None else y + bias

    def _norm(self, x: F32, name: str) -> F32:
        root = np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(self._config.rms_norm_eps))
        y: F32 = x / root * self._arrays[f"{name}.weight"]
        return y

    def _angles(self, count: int) -> tuple[F32, F32]:
        config, positions = self._config, np.arange(self._seen, self._seen + count)
        cos, sin = rope.tables(config.rope_theta, config.head_dim, positions, config.rope_scaling)
        return cos[:, None], sin[:, None]

    def _attention(self, layer: int, x: F32, turn: tuple[F32, F32]) -> F32:
        name, width = f"model.layers.{layer}.self_attn", self._config.head_dim
        q, k, v = (self._linear(f"{name}.{each}_proj", x).reshape(len(x), -1, width) for each in "qkv")
        if self._config.head_norms:
            q, k = self._norm(q, f"{name}.q_norm"), self._norm(k, f"{name}.k_norm")
        q, k = _rotate(q, *turn), _rotate(k, *turn)
        known = self._cache[layer]
        if known is not None:
            k, v = np.concatenate([known[0], k]), np.concatenate([known[1], v])
        self._cache[layer] = (k, v)
        group = self._config.num_attention_heads // self._config.num_key_value_heads
        k, v = (np.repeat(each, group, axis=1).transpose(1, 0, 2) for each in (k, v))
        scores = q.transpose(1, 0, 2) @ k.transpose(0, 2, 1) / np.float32(np.sqrt(width))
        future = np.arange(k.shape[1]) > self._seen + np.arange(len(x))[:, None]
        shares = softmax(np.where(future, np.float32(-np.inf), scores))
        return self._linear(f"{name}.o_proj", (shares @ v).transpose(1, 0, 2).reshape(len(x), -1))

    def _feed_forward(self, name: str, x: F32) -> F32:
        gate = self._linear(f"{name}.gate_proj", x)
        silu = gate / (1 + np.exp(-np.clip(gate, -80, None)))
        return self._linear(f"{name}.down_proj", silu * self._linear(f"{name}.up_proj", x))


def softmax(x: F32) -> F32:
    """Return the softmax over the last axis."""
    e = np.exp(x - x.max(-1, keepdims=True))
    y: F32 = e / e.sum(-1, keepdims=True)
    return y


def _rotate(x: F32, cos: F32, sin: F32) -> F32:
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)
