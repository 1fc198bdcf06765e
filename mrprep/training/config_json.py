"""A Hugging Face ``config.json`` read: the shape it describes, or what in it the model does not have."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.config import ARCHITECTURES, ModelConfig

_SERVED: dict[str, tuple[Any, ...]] = {  # what a config.json can say besides shapes, with the only values there are
    "model_type": tuple(ARCHITECTURES),
    "hidden_act": ("silu",),
    "mlp_bias": (False,),
    "attention_dropout": (0,),
    "partial_rotary_factor": (None, 1),
    "quantization_config": (None,),
}
_MAY_BE_NULL = ("num_key_value_heads", "head_dim", "rope_scaling")
"""Keys whose null means what ``filled`` says, as it does to ``transformers``."""
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")


def read_config(path: Path) -> ModelConfig:
    """Return the shape that a Hugging Face ``config.json`` describes.

    Raises:
        MrprepError: it is none of a Llama, Mistral, Qwen2 or Qwen3, or asks for what the model does not have.
    """
    return config_of(read_object(path), path)


def read_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises:
        MrprepError: it cannot be read, or holds something else.
    """
    try:
        raw = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise MrprepError(
            f"{printable(str(path))} cannot be read ({printable(str(error), 300)}): mend it, or copy it again from "
            "where it came"
        ) from None
    if not isinstance(raw, dict):
        raise MrprepError(f"{printable(str(path))} holds no JSON object: put a sound copy in its place")
    return raw


def config_of(raw: Mapping[str, Any], path: Path) -> ModelConfig:
    """Return the shape that the content of a ``config.json`` describes; ``path`` is where it was read.

    Raises:
        MrprepError: see ``read_config``.
    """
    shown = printable(str(path))
    if refused := next(_refused(raw), None):
        raise MrprepError(f"{shown}: {refused}")
    try:
        known = {key: value for key, value in filled(raw).items() if key in ModelConfig.model_fields}
        return ModelConfig.model_validate(known, strict=True)
    except ValidationError as error:
        raise MrprepError(f"{shown}: {_fault(error, raw)}: mend it, or name the config.json of these weights") from None


def _refused(raw: Mapping[str, Any]) -> Iterator[str]:
    """Say what a ``config.json`` asks for that the model does not have."""
    yield from experts(raw)
    if raw.get("model_type") == "internlm2":
        yield "model_type internlm2 is not ours: run mrprep weights import on it, and name what that makes"
    for key, values in _SERVED.items():
        if key in raw and raw[key] not in values:
            known = [str(value) for value in values if value is not None]
            said = f"a model with {key} {' or '.join(known)}" if known else f"a model without {key}"
            yield f"{key} {printable(str(raw[key]), 80)} is not supported: take {said}"
    for key in ModelConfig.model_fields:
        if key in raw and raw[key] is None and key not in _MAY_BE_NULL:
            yield f"{key} is null, and what it should be is not guessed: write the model's own value there"
    for key in ("rope_parameters", "rope_scaling"):
        if not isinstance(raw.get(key), Mapping | None):
            yield f"{key} is {printable(repr(raw[key]), 40)}: it must be an object, or null"
    window, longest = _window(raw), raw.get("max_position_embeddings")
    if isinstance(window, int) and isinstance(longest, int) and window < longest:
        yield (
            f"sliding_window {window} is shorter than max_position_embeddings {longest}, and the model attends to "
            f"whole rows: set max_position_embeddings to {window}, as rows up to that are the same"
        )


def experts(raw: Mapping[str, Any]) -> Iterator[str]:
    """Say that a ``config.json`` is of a mixture of experts, where it is."""
    for key in _EXPERTS:
        if isinstance(raw.get(key), int) and raw[key] > 1:
            yield f"{key} {raw[key]}: a mixture of experts, which the model does not have: take a dense model"


def _window(raw: Mapping[str, Any]) -> Any:
    """Return how many tokens back attention reaches in any layer, as ``transformers`` reads it; None for all."""
    kinds, layers = raw.get("layer_types"), raw.get("num_hidden_layers")
    window = raw.get("sliding_window", 4096)
    if raw.get("model_type") == "mistral":
        return window
    if not raw.get("use_sliding_window"):
        return None
    if isinstance(kinds, list):
        return window if "sliding_attention" in kinds else None
    full = raw.get("max_window_layers", 28)
    return window if isinstance(layers, int) and isinstance(full, int) and layers > full else None


def _fault(error: ValidationError, raw: Mapping[str, Any]) -> str:
    """Say which key is wrong first, by the name it has in the file, and what is wanted of it."""
    item = error.errors()[0]
    key = printable(_key(item["loc"], raw))
    if item["type"].startswith("union_tag"):
        rope = raw.get(key) or {}
        name = "rope_type" if "rope_type" in rope else "type"
        return f"{key}.{name} is {printable(repr(rope.get(name)), 40)}: known are linear, dynamic, llama3 and yarn"
    said = item["msg"].removeprefix("Value error, ")
    if item["type"] == "missing":
        return f"there is no {key}, which a model needs"
    if item["type"] == "value_error":
        return f"{key}: {said}" if key else said
    return f"{key} is {printable(repr(item['input']), 40)}: {said[:1].lower()}{said[1:]}"


def _key(places: Sequence[int | str], raw: Mapping[str, Any]) -> str:
    """Return the path of a key as the file has it: what ``filled`` lays out as before may stand under a newer name."""
    rope = "rope_parameters" if raw.get("rope_parameters") else "rope_scaling"
    if places[:1] == ("rope_scaling",):
        return ".".join(map(str, (rope, *places[2:])))  # the second is the kind of scaling
    if places[:1] == ("rope_theta",) and "rope_theta" in (raw.get(rope) or {}):
        return f"{rope}.rope_theta"
    return ".".join(map(str, places))


def stated_ids(path: Path) -> tuple[list[int], int | None]:
    """Return the ids that a ``config.json`` gives for the end of a document, there may be several, and for padding."""
    raw = read_object(path)
    ends, pad = raw.get("eos_token_id"), raw.get("pad_token_id")
    listed = ends if isinstance(ends, list) else [] if ends is None else [ends]
    return listed, pad


def filled(raw: Mapping[str, Any]) -> dict[str, Any]:
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
