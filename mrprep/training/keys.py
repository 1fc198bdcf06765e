"""Are the weights that were found those that a model has? By name and shape; nothing is taken silently."""

import difflib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.config import ModelConfig
from mrprep.training.tensors import Arrays, Stored, open_tensors

Shapes = Mapping[str, tuple[int, ...]]

EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"


def superfluous(
    found: Mapping[str, npt.NDArray[Any]], tied: bool, where: Path, embedding: str = EMBEDDING, head: str = HEAD
) -> set[str]:
    """Return the names that add nothing: tables of rotary angles, and an output layer that is the embedding again.

    Raises:
        MrprepError: the config says that the output layer is the embedding, and another one is there.
    """
    names = {name for name in found if name.endswith(("rotary_emb.inv_freq", "rope.freqs"))}
    if tied and embedding in found and head in found:
        if not np.array_equal(found[embedding], found[head]):
            raise MrprepError(
                f"{printable(str(where))} has {head} that differs from {embedding}, and its config says "
                "tie_word_embeddings: set that to false, or take that array out"
            )
        names.add(head)
    return names


def check_keys(found: Shapes, wanted: Shapes, where: Path) -> None:
    """See that weights are those that are wanted, no more, no fewer, each of its shape.

    Raises:
        MrprepError: one is missing, unexpected, or of another shape; the nearest name, or both shapes, are told.
    """
    shown = printable(str(where))
    missing = [name for name in wanted if name not in found]
    unexpected = [name for name in found if name not in wanted]
    if missing:
        raise MrprepError(
            f"{shown} has no {missing[0]}{_more(missing)}, which its config promises: "
            f"{there_is(missing[0], unexpected or found)}; name weights that are whole, or put the config.json "
            "beside them that is theirs"
        )
    if unexpected:
        near = _nearest(unexpected[0], wanted)
        raise MrprepError(
            f"{shown} has {printable(unexpected[0])}{_more(unexpected)}, for which its config has no place: "
            f"{f'the nearest name it has is {near}' if near else 'no name it has is near'}; take that array out, or "
            "put the model's own config.json there"
        )
    for name, shape in wanted.items():
        if found[name] != shape:
            raise MrprepError(
                f"{shown} has {name} of shape {list(found[name])}, the model {list(shape)}: its config is of another "
                "model, so put the one of these weights there"
            )


def there_is(name: str, names: Collection[str]) -> str:
    """Return a clause on which of the names that there are is the most similar to one that is missing."""
    near = _nearest(name, names)
    return f"the nearest name there is {near}" if near else "no name there is near" if names else "it is empty"


def _nearest(name: str, names: Collection[str]) -> str:
    """Return the most similar of some names, safe to show; nothing when none is similar."""
    close = difflib.get_close_matches(name, names, 1)
    return printable(close[0]) if close else ""


def _more(names: list[str]) -> str:
    return f" ({len(names) - 1} more)" if len(names) > 1 else ""


def read_fitting(folder: Path, config: ModelConfig) -> Arrays:
    """Return the weights of a directory in fp32, which are those of a shape.

    Raises:
        MrprepError: see ``open_fitting``.
    """
    return {name: tensor.wide() for name, tensor in open_fitting(folder, config).items()}


def open_fitting(folder: Path, config: ModelConfig) -> dict[str, Stored]:
    """Return the weights of a directory, mapped, which are those of a shape: of sound files only headers are read.

    An output layer beside the embedding that it is to be is read too.

    Raises:
        MrprepError: see ``open_tensors``, ``superfluous`` and ``check_keys``.
    """
    found, tied = open_tensors(folder), config.tie_word_embeddings
    compared = {EMBEDDING, HEAD} if tied and HEAD in found else set()
    arrays = {name: tensor.wide() if name in compared else tensor.raw for name, tensor in found.items()}
    extra = superfluous(arrays, tied, folder)
    fitting = {name: tensor for name, tensor in found.items() if name not in extra}
    check_keys({name: tensor.raw.shape for name, tensor in fitting.items()}, config.shapes(), folder)
    return fitting
