"""A Llama run straight from another program's arrays, by its own order of rows, in fp64: what a conversion must equal.

Nothing is rearranged: packed queries, keys and values are told apart after the product, interleaved pairs are turned as
complex numbers. One layer's arrays are held at a time.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from mrprep.conversion.names import Names
from mrprep.training import rope
from mrprep.training.config import ModelConfig
from mrprep.training.keys import EMBEDDING, HEAD
from mrprep.training.tensors import Stored

F64 = npt.NDArray[np.float64]


class Reference:
    """A model as the files of another program describe it."""

    def __init__(self, config: ModelConfig, tensors: Mapping[str, Stored], names: Names, *, interleaved: bool) -> None:
        self._config, self._tensors, self._names = config, tensors, names
        self._interleaved = interleaved

    def logits(self, ids: npt.NDArray[np.int64], last: int) -> F64:
        """Return the logits after the last few of some ids, fp64[last, vocabulary]."""
        table = self._tensors[self._names.of(EMBEDDING)]
        x: F64 = Stored(table.kind, table.raw[ids]).wide().astype(np.float64)
        for layer in range(self._config.num_hidden_layers):
            block = f"model.layers.{layer}"
            x = x + self._attention(f"{block}.self_attn", self._norm(x, f"{block}.input_layernorm"))
            x = x + self._feed_forward(f"{block}.mlp", self._norm(x, f"{block}.post_attention_layernorm"))
        head = EMBEDDING if self._config.tie_word_embeddings else HEAD
        return self._norm(x, "model.norm")[-last:] @ self._array(head).T

    def _array(self, ours: str) -> F64:
        return self._tensors[self._names.of(ours)].wide().astype(np.float64)

    def _linear(self, module: str, x: F64) -> F64:
        y: F64 = x @ self._array(f"{module}.weight").T
        return y + self._array(f"{module}.bias") if self._names.of(f"{module}.bias") in self._tensors else y

    def _norm(self, x: F64, module: str) -> F64:
        y: F64 = x / np.sqrt(np.mean(x**2, -1, keepdims=True) + self._config.rms_norm_eps)
        return y * self._array(f"{module}.weight")

    def _attention(self, module: str, x: F64) -> F64:
        config, count = self._config, len(x)
        q, k, v = self._heads(module, x)
        if config.head_norms:
            q, k = self._norm(q, f"{module}.q_norm"), self._norm(k, f"{module}.k_norm")
        q, k = self._turned(q), self._turned(k)
        group = config.num_attention_heads // config.num_key_value_heads
        q = q.reshape(count, config.num_key_value_heads, group, config.head_dim)
        scores = np.einsum("ihgw,jhw->hgij", q, k) / np.sqrt(config.head_dim)
        scores[..., np.triu(np.ones((count, count), bool), 1)] = -np.inf
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        return self._linear(f"{module}.o_proj", np.einsum("hgij,jhw->ihgw", shares, v).reshape(count, -1))

    def _heads(self, module: str, x: F64) -> tuple[F64, F64, F64]:
        """Return queries [n, heads, w], keys and values [n, key-value heads, w]."""
        count, width, kv_heads = len(x), self._config.head_dim, self._config.num_key_value_heads
        if not self._names.packed:
            q, k, v = (self._linear(f"{module}.{each}_proj", x).reshape(count, -1, width) for each in "qkv")
            return q, k, v
        packed = self._linear(f"{module}.q_proj", x).reshape(count, kv_heads, -1, width)
        return packed[:, :, :-2].reshape(count, -1, width), packed[:, :, -2], packed[:, :, -1]

    def _turned(self, x: F64) -> F64:
        """Turn the pairs of each head by the angles of their places."""
        config = self._config
        cos, sin = rope.tables(config.rope_theta, config.head_dim, np.arange(len(x)), config.rope_scaling)
        turn = (cos + 1j * sin.astype(np.float64))[:, None]
        half = config.head_dim // 2
        first, second = slice(half), slice(half, None)
        if self._interleaved:
            first, second = slice(0, None, 2), slice(1, None, 2)
        turned = (x[..., first] + 1j * x[..., second]) * turn
        y = np.empty_like(x)
        y[..., first], y[..., second] = turned.real, turned.imag
        return y

    def _feed_forward(self, module: str, x: F64) -> F64:
        gate = self._linear(f"{module}.gate_proj", x)
        silu = gate / (1 + np.exp(-np.clip(gate, -700, None)))
        return self._linear(f"{module}.down_proj", silu * self._linear(f"{module}.up_proj", x))
