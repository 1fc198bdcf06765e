"""Families of models: what a ``config.json`` of theirs says in the words of ours, and what their weights are called."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mrprep.conversion.names import HUGGING_FACE, INTERNLM2, Names
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.config_json import filled

Config = Mapping[str, Any]


def _as_it_is(config: Config) -> dict[str, Any]:
    return dict(config)


@dataclass(frozen=True, slots=True)
class Family:
    """A ``model_type``."""

    model_type: str
    """In ``config.json``."""
    names: Names = HUGGING_FACE
    """Of its arrays."""
    read: Callable[[Config], dict[str, Any]] = _as_it_is
    """Their ``config.json`` -> that of one of our model types."""
    write: Callable[[Config], dict[str, Any]] = _as_it_is
    """The other way; MrprepError when they have no place for something."""


_KNOWN: dict[str, Family] = {}


def register(family: Family) -> None:
    """Add a family, so that ``import_weights`` and ``export_weights`` know its ``model_type``.

    Raises:
        MrprepError: there is one of that model type.
    """
    name = family.model_type
    if name in _KNOWN:
        raise MrprepError(
            f"model type {printable(name)} is registered already (known: {', '.join(_KNOWN)}): give yours another "
            f"name, such as Family({printable(name + '-2')!r}, ...), and write it as model_type into its config.json"
        )
    _KNOWN[name] = family


def family_of(model_type: object) -> Family:
    """Return the family of a model type.

    Raises:
        MrprepError: there is none; the known ones are told.
    """
    if isinstance(model_type, str) and model_type in _KNOWN:
        return _KNOWN[model_type]
    raise MrprepError(
        f"model type {printable(str(model_type))} is not known; known: {', '.join(_KNOWN)} (one that is a Llama in all "
        "but names: mrprep.conversion.families.register)"
    )


_SHARED = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "hidden_act", "max_position_embeddings", "rms_norm_eps", "rope_theta", "rope_scaling",
    "tie_word_embeddings", "initializer_range", "bos_token_id", "eos_token_id", "pad_token_id", "torch_dtype", "dtype",
)  # fmt: skip
"""Keys that InternLM2's ``config.json`` and a Llama's have in common."""


def _from_internlm2(config: Config) -> dict[str, Any]:
    kept = {key: config[key] for key in _SHARED if key in config}
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        **kept,
        "attention_bias": config.get("bias", True),
        "mlp_bias": False,
    }


def _to_internlm2(config: Config) -> dict[str, Any]:
    config = filled(config)
    rope = config["rope_scaling"]
    kind = rope["rope_type"] if rope else "linear"
    if kind not in ("linear", "dynamic"):
        raise MrprepError(f"InternLM2 has no rope_scaling {printable(str(kind))}: it knows linear and dynamic")
    heads, width = config["num_attention_heads"], config.get("head_dim")
    if width is not None and width * heads != config["hidden_size"]:
        raise MrprepError(f"InternLM2 has no head_dim of its own, and {heads} heads of {width} are not hidden_size")
    classes = {"AutoConfig": "configuration_internlm2.InternLM2Config"}
    classes |= dict.fromkeys(("AutoModel", "AutoModelForCausalLM"), "modeling_internlm2.InternLM2ForCausalLM")
    return {
        "architectures": ["InternLM2ForCausalLM"],
        "model_type": "internlm2",
        "auto_map": classes,
        **{key: config[key] for key in _SHARED if key in config},
        "rope_scaling": {"type": kind, "factor": rope["factor"]} if rope else None,
        "bias": bool(config.get("attention_bias")),
        "attn_implementation": "eager",
    }


for _family in (
    Family("llama"),
    Family("mistral"),
    Family("qwen2"),
    Family("qwen3"),
    Family("internlm2", INTERNLM2, _from_internlm2, _to_internlm2),
):
    register(_family)
