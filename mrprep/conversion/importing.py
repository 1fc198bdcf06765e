"""Weights of other programs into a directory that ``mrprep train --init-from``, ``eval`` and ``generate`` take."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mrprep.conversion.against import Against, Other, other_logits
from mrprep.conversion.check import compare, our_logits, see_finite, write_logits
from mrprep.conversion.families import Family, family_of
from mrprep.conversion.files import has_transformers_files, opened
from mrprep.conversion.form import Rotary, form_of
from mrprep.conversion.key_map import key_map
from mrprep.conversion.names import HUGGING_FACE, Link
from mrprep.conversion.record import IMPORTED, Converted, copy_companions, write_config, write_record
from mrprep.errors import MrprepError
from mrprep.interop.place import new_directory
from mrprep.printable import printable
from mrprep.training.config import ModelConfig
from mrprep.training.config_json import config_of, experts, read_object
from mrprep.training.tensors import Stored, open_tensors, write_tensors

SHARD_BYTES = 5 * 10**9
"""A file of weights holds at most so many."""


def import_weights(
    place: Path,
    out: Path,
    *,
    config_file: Path | None = None,
    rotary: Rotary | None = None,
    against: Against | None = None,
    shard_bytes: int = SHARD_BYTES,
) -> Converted:
    """Write the weights at a place under our names, in the numbers they have, and check them.

    Args:
        place: a directory with ``config.json`` and weights, or a MindSpore ``.ckpt``.
        out: directory to make.
        config_file: the ``config.json``, where it does not lie beside the weights.
        rotary: the order of queries and keys, where names do not tell.
        against: whose logits ours must equal: of ``transformers``; those stored beside the weights; or of a forward
            pass in NumPy over the files as they are. By default the first of these that there is.
        shard_bytes: a file holds at most so many, but at least one array.

    Raises:
        MrprepError: the model is none we have, an array is missing, unexpected or of another shape, or the logits
            differ; nothing is written.
    """
    config_file = config_file or _beside(place)
    family, raw, config = read_family(config_file)
    _see_params(place, config)
    with opened(place) as tensors, new_directory(out) as staged:
        form = form_of(tensors, family.names, rotary, place)
        kept, left_out = form.select(tensors, config, place)
        links = form.links(config)
        size = write_tensors(staged, _ours(links, kept), shard_bytes)
        write_config(staged, family.read(raw))
        loads = form.names is HUGGING_FACE and config_file == place / "config.json" and has_transformers_files(place)
        theirs = other_logits(Other(_folder(place), config, kept, form, loads), against)
        see_finite(theirs, kept, place)
        check = compare(our_logits(config, open_tensors(staged)), theirs)
        write_logits(staged, config, theirs)
        copy_companions(_folder(place), staged)
        write_record(staged / IMPORTED, place, family.model_type, form, check)
    return Converted(key_map(links), left_out, config.parameter_count, size, check)


def read_family(config_file: Path) -> tuple[Family, dict[str, Any], ModelConfig]:
    """Return the family of a ``config.json``, its content, and the shape that it is.

    Raises:
        MrprepError: the model type is not known, or asks for what our model does not have.
    """
    raw = read_object(config_file)
    if said := next(experts(raw), None):
        raise MrprepError(f"{printable(str(config_file))}: {said}")
    try:
        family = family_of(raw.get("model_type"))
    except MrprepError as error:
        raise MrprepError(f"{printable(str(config_file))}: {error}") from None
    return family, raw, config_of(family.read(raw), config_file)


def _beside(place: Path) -> Path:
    found = _folder(place) / "config.json"
    if not found.is_file():
        raise MrprepError(
            f"there is no {printable(str(found))}: name the model's config.json, as Hugging Face has it, with --config"
        )
    return found


def _folder(place: Path) -> Path:
    return place if place.is_dir() else place.parent


def _see_params(place: Path, config: ModelConfig) -> None:
    """See that Meta's ``params.json``, where there is one, says what the config says: arrays do not tell of heads."""
    file = _folder(place) / "params.json"
    said = read_object(file) if file.is_file() else {}
    for theirs, ours in (
        ("dim", config.hidden_size),
        ("n_layers", config.num_hidden_layers),
        ("n_heads", config.num_attention_heads),
        ("n_kv_heads", config.num_key_value_heads),
        ("norm_eps", config.rms_norm_eps),
        ("rope_theta", config.rope_theta),
    ):
        if said.get(theirs, ours) != ours:
            raise MrprepError(f"{printable(str(file))} has {theirs} {said[theirs]}, the config {ours}: name its own")


def _ours(links: Sequence[Link], tensors: Mapping[str, Stored]) -> Iterator[tuple[str, Stored]]:
    for link in links:
        tensor = tensors[link.theirs]
        for name, raw in zip(link.ours, link.arrangement.split(tensor.raw), strict=True):
            yield name, Stored(tensor.kind, raw)
