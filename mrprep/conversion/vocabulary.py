"""Weights moved to another vocabulary: rows of the embedding and the output layer by piece, all else as it is."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mrprep import __version__
from mrprep.conversion.matching import MATCHED, Alignment, match
from mrprep.conversion.record import copy_companions, write_config
from mrprep.engine.parts import sync
from mrprep.errors import MrprepError
from mrprep.interop.place import new_directory
from mrprep.printable import printable
from mrprep.tokenizers.family import FILES, copy_into, open_tokenizer
from mrprep.tokenizers.protocol import Tokenizer
from mrprep.tokenizers.roles import CONFIG
from mrprep.training.config_json import read_object
from mrprep.training.tensors import Stored, open_tensors, write_tensors
from mrprep.training.weights import ALIGNED, origin_of

New = Literal["mean", "pieces"]
"""How rows begin that nothing matched: the mean of all old rows, or of those of the pieces they are made of."""
_LAYERS = ("model.embed_tokens.weight", "lm_head.weight", "model.tok_embeddings.weight", "output.weight")
"""Names of the embedding and the output layer: Llama's and its kin's, InternLM2's."""
_CHUNK = 8192
_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Moved:
    """What was done."""

    old: int
    """Ids of the old tokenizer."""
    new: int
    """Ids of the new one."""
    rows: int
    """Rows written: the new ids, up to the multiple asked for."""
    counts: Mapping[str, int]
    """New pieces by ``matching.Kind``."""
    examples: Mapping[str, list[str]]
    """Some of each kind, with what they are made of."""
    dropped: int
    """Old pieces whose rows go into no row of the new vocabulary."""
    layers: tuple[str, ...]
    """Arrays whose rows were moved."""
    bytes: int
    """Of the weights written."""


def align(
    old_file: Path, new_file: Path, weights: Path, out: Path, *, new: New, multiple: int, shard_bytes: int
) -> Moved:
    """Write the weights for the vocabulary of another tokenizer.

    Args:
        old_file: tokenizer file of the weights.
        new_file: tokenizer file they are to be for.
        weights: a run, a checkpoint, or a directory with ``config.json`` and safetensors.
        out: directory to make.
        new: how rows begin that nothing matched.
        multiple: rows are padded up to a multiple of it.
        shard_bytes: a file holds at most so many, but at least one array.

    Raises:
        MrprepError: a file cannot be read, or the weights are not of the old tokenizer; nothing is written.
    """
    old, now = open_tokenizer(old_file), open_tokenizer(new_file)
    origin = origin_of(weights)
    config = read_object(origin.path / "config.json")
    if origin.tokenizer_sha256 not in (None, old.sha256):
        raise MrprepError(
            f"{printable(str(origin.path))} was trained with the tokenizer of SHA-256 {origin.tokenizer_sha256}, "
            f"{printable(str(old_file))} is another ({old.sha256}): name that of the weights with --from"
        )
    tensors = open_tensors(origin.path)
    layers = tuple(name for name in _LAYERS if name in tensors)
    _check(tensors, layers, origin.path, old.vocab_size, old_file)
    alignment = match(old, now)
    rows = -(-now.vocab_size // multiple) * multiple
    moved = {name: _moved(tensors[name], alignment, old.vocab_size, rows, new) for name in layers}
    with new_directory(out) as staged:
        size = write_tensors(staged, ((name, moved.get(name, tensor)) for name, tensor in tensors.items()), shard_bytes)
        copy_companions(origin.path, staged)
        write_config(staged, _special_ids(config, now) | {"vocab_size": rows})
        _place_tokenizer(new_file, now, staged)
        done = _told(alignment, old, now, rows, layers, size)
        _write(
            staged / ALIGNED,
            {"mrprep": __version__, "from": str(weights.absolute()), "new": new} | _record(old, now, done),
        )
    return done


def _check(
    tensors: Mapping[str, Stored], layers: tuple[str, ...], folder: Path, vocab_size: int, old_file: Path
) -> None:
    if not layers:
        raise MrprepError(f"{printable(str(folder))} has no {_LAYERS[0]}: weights want Hugging Face's names")
    for name in layers:
        rows = tensors[name].raw.shape[0]
        if rows < vocab_size:
            raise MrprepError(
                f"{printable(str(folder))} has a vocabulary of {rows} ({name}), {printable(str(old_file))} one of "
                f"{vocab_size}: name the tokenizer of these weights with --from"
            )


def _moved(layer: Stored, alignment: Alignment, vocab_size: int, rows: int, new: New) -> Stored:
    """Return the rows of a layer for the new vocabulary; those that matched bit for bit."""
    used = layer.raw[:vocab_size]
    mean = _narrow(_mean(layer, vocab_size)[None], layer.kind)[0]
    out = np.empty((rows, *used.shape[1:]), used.dtype)
    out[:] = mean
    one = [i for i, kind in enumerate(alignment.kinds) if kind in MATCHED]
    out[one] = used[[alignment.sources[i][0] for i in one]]
    several = [i for i, kind in enumerate(alignment.kinds) if kind == "pieces"] if new == "pieces" else []
    for at in range(0, len(several), _CHUNK):
        ids = several[at : at + _CHUNK]
        counts = np.array([len(alignment.sources[i]) for i in ids])
        flat = np.fromiter(chain.from_iterable(alignment.sources[i] for i in ids), np.int64)
        starts = np.cumsum(counts) - counts
        sums = np.add.reduceat(Stored(layer.kind, used[flat]).wide().astype(np.float64), starts, axis=0)
        out[ids] = _narrow(sums / counts[:, None], layer.kind)
    return Stored(layer.kind, out)


def _mean(layer: Stored, vocab_size: int) -> npt.NDArray[np.float64]:
    chunks = (layer.raw[at : min(at + _CHUNK, vocab_size)] for at in range(0, vocab_size, _CHUNK))
    sums = np.stack([Stored(layer.kind, chunk).wide().sum(0, dtype=np.float64) for chunk in chunks])
    return np.asarray(sums.sum(0) / vocab_size, np.float64)


def _narrow(values: npt.NDArray[np.float64], kind: str) -> npt.NDArray[Any]:
    """Return numbers in the form that a file has them in; BF16 rounded to the nearest, ties to even."""
    if kind != "BF16":
        return values.astype({"F64": np.float64, "F32": np.float32, "F16": np.float16}[kind])
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _special_ids(config: Mapping[str, Any], now: Tokenizer) -> dict[str, Any]:
    ids = {"bos_token_id": now.bos_id, "eos_token_id": now.eod_id, "pad_token_id": now.pad_id}
    return {**config, **ids}


def _place_tokenizer(file: Path, now: Tokenizer, folder: Path) -> None:
    """Put the new tokenizer in the place of the files of the old one."""
    beside = (CONFIG, "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt")
    for name in (*FILES.values(), *beside):
        (folder / name).unlink(missing_ok=True)
    sync(copy_into(file, folder))
    generation = folder / "generation_config.json"
    if generation.is_file():
        _write(generation, _special_ids(read_object(generation), now))


def _told(alignment: Alignment, old: Tokenizer, now: Tokenizer, rows: int, layers: tuple[str, ...], size: int) -> Moved:
    examples: dict[str, list[str]] = {}
    for token, (kind, sources) in enumerate(zip(alignment.kinds, alignment.sources, strict=True)):
        shown = examples.setdefault(kind, [])
        if len(shown) < _EXAMPLES:
            made_of = " + ".join(printable(old.piece(source)) for source in sources)
            shown.append(f"{printable(now.piece(token))} = {made_of}" if made_of else printable(now.piece(token)))
    used = {source for sources in alignment.sources for source in sources}
    counts: dict[str, int] = {**Counter(alignment.kinds)}
    return Moved(
        old.vocab_size, now.vocab_size, rows, counts, examples, old.vocab_size - len(used), layers, size
    )  # fmt: skip


def _record(old: Tokenizer, now: Tokenizer, done: Moved) -> dict[str, Any]:
    return {
        "tokenizer_sha256": now.sha256,
        "old_tokenizer_sha256": old.sha256,
        "rows": done.rows,
        "counts": done.counts,
        "dropped": done.dropped,
    }


def _write(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n")
    sync(file)
