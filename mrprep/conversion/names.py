"""What the arrays of a Llama are called in the files of several programs, and how those lie in them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mrprep.conversion.arrangement import Arrangement, Interleaved, Packed, Same
from mrprep.errors import MrprepError
from mrprep.training.config import ModelConfig
from mrprep.training.keys import EMBEDDING, HEAD

_LAYER = re.compile(r"(?<=\blayers\.)\d+(?=\.)")


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one program."""

    name: str
    """What this way of naming is called."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Modules of Hugging Face's Llama -> theirs, ``*`` for the layer; those that are left out are called alike."""
    embedding: str = "weight"
    """What the array of the embedding is called within its module."""
    packed: bool = False
    """Queries, keys and values are one array."""
    interleaved: bool | None = False
    """Queries and keys are in Meta's order; None when the files of such names come in both."""

    def of(self, ours: str) -> str:
        """Return what they call an array of ours."""
        module, _, leaf = ours.rpartition(".")
        layer = next(iter(_LAYER.findall(module)), "")
        theirs = self.modules.get(anonymous(module), anonymous(module)).replace("*", layer)
        return f"{theirs}.{self.embedding if ours == EMBEDDING else leaf}"


def anonymous(name: str) -> str:
    """Return a name with ``*`` in place of the number of the layer."""
    return _LAYER.sub("*", name)


_BLOCKS = "model.layers.*"
_SHORT = {
    "input_layernorm": "attention_norm",
    "self_attn.q_proj": "attention.wq",
    "self_attn.k_proj": "attention.wk",
    "self_attn.v_proj": "attention.wv",
    "self_attn.o_proj": "attention.wo",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "feed_forward.w1",
    "mlp.up_proj": "feed_forward.w3",
    "mlp.down_proj": "feed_forward.w2",
}
_WQKV = {f"self_attn.{each}_proj": "attention.wqkv" for each in "qkv"}


def _short(blocks: str, changes: Mapping[str, str]) -> dict[str, str]:
    return {f"{_BLOCKS}.{ours}": f"{blocks}.{theirs}" for ours, theirs in (_SHORT | dict(changes)).items()}


HUGGING_FACE = Names("hf")
"""Llama, Mistral, Qwen2, Qwen3 in ``transformers``; ours."""
INTERNLM2 = Names(
    "internlm2",
    {"model.embed_tokens": "model.tok_embeddings", "lm_head": "output", **_short(_BLOCKS, _WQKV)},
    packed=True,
)
"""InternLM2ForCausalLM of its ``modeling_internlm2.py``."""
MINDFORMERS = Names(
    "mindformers",
    {"model.embed_tokens": "model.tok_embeddings", "model.norm": "model.norm_out", **_short(_BLOCKS, {})},
    embedding="embedding_weight",
    interleaved=None,
)
"""LlamaForCausalLM of mindformers' legacy stack (``convert_weight.py``). Files of before ``_hf`` have Meta's order."""
META = Names(
    "meta",
    {"model.embed_tokens": "tok_embeddings", "model.norm": "norm", "lm_head": "output", **_short("layers.*", {})},
    interleaved=True,
)
"""Meta's own files (``consolidated.*``, ``params.json``), and Mistral's."""
ALL = (HUGGING_FACE, INTERNLM2, MINDFORMERS, META)
"""Every way of naming; told apart by what they call the embedding."""


@dataclass(frozen=True, slots=True)
class Link:
    """One array of theirs and those of ours it holds."""

    theirs: str
    """Its name."""
    ours: tuple[str, ...]
    """Their names."""
    shape: tuple[int, ...]
    """Its shape."""
    arrangement: Arrangement
    """Of its rows."""


def links(names: Names, config: ModelConfig, *, interleaved: bool) -> list[Link]:
    """Return the arrays of a shape as another program names and lays them out, in the order of the forward pass.

    Raises:
        MrprepError: the model has an array that their names have no place for.
    """
    return list(_links(names, config, interleaved))


def _links(names: Names, config: ModelConfig, interleaved: bool) -> Iterator[Link]:
    shapes = config.shapes()
    gathered: dict[str, list[str]] = {}
    for ours in shapes:
        if names.modules and ours not in (EMBEDDING, HEAD, "model.norm.weight"):
            _see_known(names, ours, config)
        gathered.setdefault(names.of(ours), []).append(ours)
    for theirs, ours_ in gathered.items():
        rows = sum(shapes[name][0] for name in ours_)
        shape = (rows, *shapes[ours_[0]][1:])
        yield Link(theirs, tuple(ours_), shape, _arrangement(ours_, config, interleaved))


def _see_known(names: Names, ours: str, config: ModelConfig) -> None:
    if anonymous(ours.rpartition(".")[0]) not in names.modules:
        raise MrprepError(
            f"the files of {names.name} have no place for {ours}, which a {config.model_type} has: name another form"
        )


def _arrangement(ours: list[str], config: ModelConfig, interleaved: bool) -> Arrangement:
    if len(ours) > 1:
        return Packed(config.num_key_value_heads, config.num_attention_heads // config.num_key_value_heads)
    if interleaved and ".q_proj." in ours[0]:
        return Interleaved(config.num_attention_heads)
    if interleaved and ".k_proj." in ours[0]:
        return Interleaved(config.num_key_value_heads)
    return Same()
