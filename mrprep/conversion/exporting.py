"""Our weights into the files of other programs."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from mrprep.conversion.against import Against, Other, other_logits
from mrprep.conversion.check import compare, our_logits, see_finite, stored_logits, write_logits
from mrprep.conversion.families import Family, family_of
from mrprep.conversion.files import opened
from mrprep.conversion.form import Form
from mrprep.conversion.importing import SHARD_BYTES
from mrprep.conversion.key_map import key_map
from mrprep.conversion.names import HUGGING_FACE, MINDFORMERS, Link
from mrprep.conversion.record import EXPORTED, IMPORTED, Converted, copy_companions, write_config, write_record
from mrprep.errors import MrprepError
from mrprep.interop.place import new_directory
from mrprep.printable import printable
from mrprep.training import ckpt
from mrprep.training.config import ModelConfig
from mrprep.training.config_json import config_of, read_object
from mrprep.training.tensors import SINGLE, Stored, open_tensors, write_tensors
from mrprep.training.weights import origin_of

Ckpt = Literal["mindformers", "hf"]
"""Whose names the arrays of a ``.ckpt`` bear."""
_NAMES = {"mindformers": MINDFORMERS, "hf": HUGGING_FACE}
CKPT = "model.ckpt"


def export_weights(
    place: Path,
    out: Path,
    *,
    model_type: str | None = None,
    ckpt_names: Ckpt | None = None,
    against: Against | None = None,
    shard_bytes: int = SHARD_BYTES,
) -> Converted:
    """Write a run's newest weights, or a directory of ours, in the form of a family, and check them.

    Args:
        place: a run, one of its checkpoints, or a directory of weights under our names.
        out: directory to make.
        model_type: the family; by default the one that the weights were imported from, or their own.
        ckpt_names: write a MindSpore ``model.ckpt`` with these names, in place of safetensors.
        against: see ``import_weights``; here it is the new files that are run.
        shard_bytes: see ``import_weights``.

    Raises:
        MrprepError: there are no weights; the family has no place for an array or a key of the config; or the logits
            differ, then nothing is written.
    """
    folder = origin_of(place).path
    raw = read_object(folder / "config.json")
    config = config_of(raw, folder / "config.json")
    family = family_of(model_type or _imported_from(folder) or config.model_type)
    form = Form(_NAMES[ckpt_names] if ckpt_names else family.names, False)
    mine = Form(HUGGING_FACE, False)
    kept, left_out = mine.select(open_tensors(folder), config, folder)
    ours = our_logits(config, kept)
    see_finite(ours, kept, folder)
    if known := stored_logits(folder, config):
        compare(ours, known)
    links = form.links(config)
    with new_directory(out) as staged:
        write_config(staged, _written(family, raw, config))
        size = write_tensors(staged, _theirs(links, kept), 1 << 62 if ckpt_names else shard_bytes)
        if ckpt_names:
            ckpt.pack(staged, staged / CKPT)
            (staged / SINGLE).unlink()
        with opened(staged) as tensors:
            loads = not ckpt_names and family.names is HUGGING_FACE
            check = compare(ours, other_logits(Other(staged, config, tensors, form, loads), against))
        write_logits(staged, config, ours)
        copy_companions(folder, staged)
        write_record(staged / EXPORTED, folder, family.model_type, form, check)
    return Converted(key_map(links), left_out, config.parameter_count, size, check)


def _imported_from(folder: Path) -> str | None:
    record = folder / IMPORTED
    return read_object(record).get("model_type") if record.is_file() else None


def _written(family: Family, raw: Mapping[str, Any], config: ModelConfig) -> dict[str, Any]:
    """Return the family's ``config.json``, which says the same when it is read again.

    Raises:
        MrprepError: it does not: the family has no place for something.
    """
    written = family.write(raw)
    said = written.get("model_type")
    again = config_of(family.read(written), Path("config.json")) if said == family.model_type else None
    if again is None or _model(again) != _model(config):
        differs = [name for name, value in _model(config).items() if again and _model(again)[name] != value]
        told = f"has no place for its {', '.join(differs)}" if differs else "is another"
        raise MrprepError(
            f"a model of type {config.model_type} cannot be written as {printable(family.model_type)}, which {told}"
        )
    return written


def _model(config: ModelConfig) -> dict[str, Any]:
    """Return what decides the logits."""
    names = ("qkv_bias", "output_bias", "head_norms")
    free = {"model_type", "attention_bias", "initializer_range"}
    return config.model_dump(exclude=free) | {name: getattr(config, name) for name in names}


def _theirs(links: Sequence[Link], tensors: Mapping[str, Stored]) -> Iterator[tuple[str, Stored]]:
    for link in links:
        parts = [tensors[name] for name in link.ours]
        kinds = sorted({part.kind for part in parts})
        if len(kinds) > 1:
            raise MrprepError(f"{link.theirs} packs arrays of {' and '.join(kinds)}: make them alike")
        yield link.theirs, Stored(kinds[0], link.arrangement.join([part.raw for part in parts]))
