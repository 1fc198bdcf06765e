"""Logits of a model before and after a conversion, on ids that are always the same.

48 ids, drawn once for each size of vocabulary, of which the last 8 places are compared: rotary positions, groups of
heads, biases and norms all bear on them. Costs a forward pass of 48 tokens on either side; one layer's arrays are held
at a time, but for ``transformers``, which holds the model in fp32.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.config import ModelConfig
from mrprep.training.inference import CachedLlama
from mrprep.training.tensors import F32, Stored

I64 = npt.NDArray[np.int64]

LOGITS = "mrprep_logits.npz"
"""Beside weights, what they came to: ``ids`` int64[n], ``logits`` fp32[last, vocabulary]. No safetensors, which others
would take for weights."""
BOUND = 5e-4
"""Largest difference allowed, as a share of the largest logit; fp32 in another order of sums comes to some 1e-6."""
_IDS, _LAST = 48, 8


@dataclass(frozen=True, slots=True)
class Logits:
    """What a model says."""

    by: str
    """Who computed it."""
    values: npt.NDArray[Any]
    """After the last ids, [last, vocabulary]."""


@dataclass(frozen=True, slots=True)
class Check:
    """A comparison that held."""

    by: str
    """Who computed the one that ours was held against."""
    largest: float
    """Largest difference of two logits."""
    bound: float
    """What it may be."""
    logit: float
    """Largest logit, without its sign."""


def fixed_ids(config: ModelConfig) -> I64:
    """Return the ids, int64[up to 48]."""
    count = min(_IDS, config.max_position_embeddings)
    return np.random.default_rng(0).integers(0, config.vocab_size, count)


def last(config: ModelConfig) -> int:
    """Return how many places, the last ones, are compared."""
    return min(_LAST, len(fixed_ids(config)))


class _Widened(Mapping[str, F32]):
    """Tensors that are widened to fp32 when they are looked at."""

    def __init__(self, tensors: Mapping[str, Stored]) -> None:
        self._tensors = tensors

    def __getitem__(self, name: str) -> F32:
        return self._tensors[name].wide()

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


def our_logits(config: ModelConfig, tensors: Mapping[str, Stored]) -> Logits:
    """Run our own model on the fixed ids."""
    return Logits("mrprep", CachedLlama(config, _Widened(tensors))(fixed_ids(config))[-last(config) :])


def see_finite(logits: Logits, tensors: Mapping[str, Stored], where: Path) -> None:
    """See that logits are numbers; where they are not, look for the array that is to blame.

    Raises:
        MrprepError: they are not; the first array with NaN or infinity in it is named.
    """
    if np.isfinite(logits.values).all():
        return
    wrong = next((name for name, tensor in tensors.items() if not np.isfinite(tensor.wide()).all()), None)
    said = f"{printable(wrong)} holds NaN or infinity" if wrong else "its numbers run over in a forward pass"
    raise MrprepError(f"{printable(str(where))}: {said} in the source: take a sound copy; nothing was written")


def compare(ours: Logits, other: Logits) -> Check:
    """See that two models say the same.

    Raises:
        MrprepError: they do not, to ``BOUND``.
    """
    if ours.values.shape != other.values.shape:
        raise MrprepError(
            f"{other.by} gives logits of shape {list(other.values.shape)}, ours are {list(ours.values.shape)}: it is "
            "another model, and nothing was written"
        )
    largest = float(np.abs(ours.values - other.values).max())
    logit = float(np.abs(other.values).max())
    bound = BOUND * logit
    if not largest <= bound:  # a NaN is no agreement
        raise MrprepError(
            f"the converted model is not the one it was: logits on the same ids differ by up to {largest:.2e} from "
            f"those of {other.by}, {bound:.2e} is allowed ({BOUND:g} of the largest); nothing was written"
        )
    return Check(other.by, largest, bound, logit)


def write_logits(folder: Path, config: ModelConfig, logits: Logits) -> None:
    """Write logits beside weights."""
    np.savez(folder / LOGITS, ids=fixed_ids(config), logits=logits.values.astype(np.float32))


def stored_logits(folder: Path, config: ModelConfig) -> Logits | None:
    """Return the logits that lie beside weights, if there are any.

    Raises:
        MrprepError: they cannot be read, or are of other ids.
    """
    file = folder / LOGITS
    if not file.is_file():
        return None
    try:
        with np.load(file, allow_pickle=False) as held:
            ids, values = held["ids"], held["logits"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise MrprepError(
            f"{printable(str(file))} cannot be read ({printable(str(error))}): take it away to do without it"
        ) from None
    if not np.array_equal(ids, fixed_ids(config)):
        raise MrprepError(f"{printable(str(file))} is of other ids than this mrprep checks: take it away")
    return Logits(f"{printable(file.name)} beside the weights", values)
