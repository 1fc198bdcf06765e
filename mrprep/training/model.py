"""The Llama decoder (Touvron et al. 2023), with what Qwen2 and Qwen3 add, in MindSpore cells.

Cells and parameters bear the names of Hugging Face's ``...ForCausalLM``, so weights go in and out as they
are. Written for the CPU's kernels: rows flattened into 2-D ``MatMul`` and 3-D ``BatchMatMul`` run a 7 M
model 1.4 times as fast as ``nn.Dense`` and 4-D attention. Attention holds its scores:
heads x seq x seq numbers a row.
"""
# mypy: disable-error-code="misc"

import math

import mindspore as ms
import numpy as np
import numpy.typing as npt
import xxhash
from mindspore import Parameter, Tensor, nn, ops

from mrprep.training import rope
from mrprep.training.config import ModelConfig
from mrprep.training.documents import Apart, Boundaries
from mrprep.training.kernels import Mix, Normed, Turn
from mrprep.training.precision import FULL, Precision

F32 = npt.NDArray[np.float32]


class Linear(nn.Cell):
    """``x @ weight.T + bias`` on rows: [n, inputs] -> [n, outputs]."""

    def __init__(self, inputs: int, outputs: int, precision: Precision, biased: bool = False) -> None:
        super().__init__()
        self.weight = _new(outputs, inputs)
        self.within, self.out = precision.products, precision.stream
        self.biased = biased
        if biased:
            self.bias = _new(outputs, name="bias")
        self.matmul = ops.MatMul(transpose_b=True)

    def construct(self, x: Tensor) -> Tensor:  # noqa: D102
        y = _as(self.matmul(_as(x, self.within), _as(self.weight, self.within)), self.out)
        return y + _as(self.bias, self.out) if self.biased else y


class RMSNorm(nn.Cell):
    """Root mean square norm (Zhang and Sennrich 2019) over the last axis, of ``width``."""

    def __init__(self, width: int, eps: float, precision: Precision) -> None:
        super().__init__()
        self.weight = _new(width)
        self.normed = Normed(eps, precision)

    def construct(self, x: Tensor) -> Tensor:  # noqa: D102
        return self.normed(x, self.weight)[0]


class Attention(nn.Cell):
    """Causal grouped-query attention (Ainslie et al. 2023) with rotary positions (Su et al. 2021).

    The query heads of a group are laid one under the other and meet their key head in one product, so keys
    and values are never repeated.
    """

    def __init__(self, config: ModelConfig, precision: Precision) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.width = (
            config.num_attention_heads,
            config.num_key_value_heads,
            config.head_dim,
        )
        self.group = self.heads // self.kv_heads
        hidden = config.hidden_size
        self.q_proj = Linear(hidden, self.heads * self.width, precision, config.qkv_bias)
        self.k_proj = Linear(hidden, self.kv_heads * self.width, precision, config.qkv_bias)
        self.v_proj = Linear(hidden, self.kv_heads * self.width, precision, config.qkv_bias)
        self.o_proj = Linear(self.heads * self.width, hidden, precision, config.output_bias)
        self.normed = config.head_norms
        if self.normed:
            self.q_norm, self.k_norm = (RMSNorm(self.width, config.rms_norm_eps, precision) for _ in range(2))
        self.turn, self.mix = Turn(), Mix(self.heads, precision)
        self.scale = 1.0 / math.sqrt(self.width)
        self.products, self.out = precision.products, precision.stream

    def split(self, x: Tensor, heads: int, seq: int) -> Tensor:
        """[batch * seq, heads * width] -> [batch * heads, seq, width]."""
        return x.reshape(-1, seq, heads, self.width).transpose(0, 2, 1, 3).reshape(-1, seq, self.width)

    def rotate(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Turn each head by the angles of its places, which are those of all rows or each row's own."""
        seq = x.shape[1]
        apart = x.reshape(cos.shape[0], -1, seq, self.width) if cos.ndim == 4 else x
        return self.turn(apart, cos, sin).reshape(-1, seq, self.width)

    def construct(self, x: Tensor, mask: Tensor, cos: Tensor, sin: Tensor) -> Tensor:  # noqa: D102
        seq = mask.shape[-1]
        q, k = self.split(self.q_proj(x), self.heads, seq), self.split(self.k_proj(x), self.kv_heads, seq)
        if self.normed:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        v = self.split(self.v_proj(x), self.kv_heads, seq)
        q = _as(q * self.scale, self.products).reshape(-1, self.group * seq, self.width)
        y = _as(self.mix(q, _as(k, self.products), _as(v, self.products), mask)[0], self.out)
        y = y.reshape(-1, self.heads, seq, self.width).transpose(0, 2, 1, 3)
        return self.o_proj(y.reshape(-1, self.heads * self.width))


class FeedForward(nn.Cell):
    """SwiGLU (Shazeer 2020): [n, hidden] -> [n, hidden]."""

    def __init__(self, config: ModelConfig, precision: Precision) -> None:
        super().__init__()
        self.gate_proj = Linear(config.hidden_size, config.intermediate_size, precision)
        self.up_proj = Linear(config.hidden_size, config.intermediate_size, precision)
        self.down_proj = Linear(config.intermediate_size, config.hidden_size, precision)

    def construct(self, x: Tensor) -> Tensor:  # noqa: D102
        return self.down_proj(ops.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Cell):
    """Pre-norm attention, then pre-norm feed-forward, each added to the stream."""

    def __init__(self, config: ModelConfig, precision: Precision) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps, precision)
        self.self_attn = Attention(config, precision)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps, precision)
        self.mlp = FeedForward(config, precision)

    def construct(self, x: Tensor, mask: Tensor, cos: Tensor, sin: Tensor) -> Tensor:  # noqa: D102
        x = x + self.self_attn(self.input_layernorm(x), mask, cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Embedding(nn.Cell):
    """Ids to rows of a table: int32[n] -> [n, width]."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.weight = _new(rows, width)

    def construct(self, ids: Tensor) -> Tensor:  # noqa: D102
        return ops.gather(self.weight, ids, 0)


class Decoder(nn.Cell):
    """Everything but the output layer: int32[batch, seq] -> [batch * seq, hidden]."""

    def __init__(self, config: ModelConfig, seq: int, apart: Apart | None, precision: Precision) -> None:
        super().__init__()
        self.embed_tokens = Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.CellList([Block(config, precision) for _ in range(config.num_hidden_layers)])
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps, precision)
        self.out = precision.stream
        cos, sin = rope.tables(config.rope_theta, config.head_dim, np.arange(seq), config.rope_scaling)
        self.boundaries = Boundaries(Tensor(cos), Tensor(sin), apart)

    def construct(self, ids: Tensor) -> Tensor:  # noqa: D102
        mask, cos, sin = self.boundaries(ids)
        x, cos, sin = _as(self.embed_tokens(ids.reshape(-1)), self.out), _as(cos, self.out), _as(sin, self.out)
        for layer in self.layers:
            x = layer(x, mask, cos, sin)
        return self.norm(x)


class Llama(nn.Cell):
    """A decoder with its output layer: int32[batch, seq] -> logits fp32[batch * seq, vocabulary].

    New weights are normal, with a stream of their own for each parameter's name, so they do not depend on the
    other layers; norms begin at 1, biases at 0. Every rank makes the same. ``apart``: see ``documents``.
    Weights are fp32 at any precision, and so are the logits. With ``recompute`` a layer keeps its input alone, and is
    computed again in the backward pass.
    """

    def __init__(
        self,
        config: ModelConfig,
        seq: int,
        seed: int,
        apart: Apart | None = None,
        precision: Precision = FULL,
        recompute: bool = False,
    ) -> None:
        super().__init__()
        self.model = Decoder(config, seq, apart, precision)
        if recompute:
            for layer in self.model.layers:
                layer.recompute()
        self.precision, self.within = precision, precision.products
        self.tied = config.tie_word_embeddings
        self.project = ops.MatMul(transpose_b=True)
        if not self.tied:
            self.lm_head = Linear(config.hidden_size, config.vocab_size, precision)
        for name, parameter in self.parameters_and_names():
            parameter.name = name
            parameter.set_data(Tensor(_initial(name, parameter.shape, seed, config.initializer_range)))

    def construct(self, ids: Tensor) -> Tensor:  # noqa: D102
        x, table = _as(self.model(ids), self.within), _as(self.table(), self.within)
        return _as(self.project(x, table), ms.float32)

    def table(self) -> Parameter:
        """Return the output layer's weight: [vocabulary, hidden]."""
        return self.model.embed_tokens.weight if self.tied else self.lm_head.weight


def _as(x: Tensor, kind: ms.Type) -> Tensor:
    return x if x.dtype == kind else x.astype(kind)


def _new(*shape: int, name: str = "weight") -> Parameter:
    return Parameter(Tensor(np.zeros(shape, np.float32)), name=name)


def _initial(name: str, shape: tuple[int, ...], seed: int, deviation: float) -> F32:
    if len(shape) == 1:
        return np.full(shape, 0 if name.endswith(".bias") else 1, np.float32)
    stream = np.random.Generator(np.random.PCG64([seed, xxhash.xxh3_64_intdigest(name.encode())]))
    return stream.standard_normal(shape, np.float32) * np.float32(deviation)
