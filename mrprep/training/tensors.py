"""Weights in safetensors, in one file or in several with an index, as fp32 arrays; bf16 and fp16 are widened."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.errors import MrprepError
from mrprep.printable import printable

Arrays = Mapping[str, npt.NDArray[np.float32]]

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
_DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16}


def has_weights(folder: Path) -> bool:
    """Return whether a directory holds weights."""
    return (folder / SINGLE).is_file() or (folder / INDEX).is_file()


def read_tensors(folder: Path) -> Arrays:
    """Return the weights of a directory, by Hugging Face's names. One file at a time is held besides.

    Raises:
        MrprepError: a file is missing or damaged, or of numbers that are no weights.
    """
    arrays: dict[str, npt.NDArray[np.float32]] = {}
    for file in _files(folder):
        try:
            arrays.update(_tensors(file))
        except (OSError, ValueError) as error:
            raise MrprepError(f"{printable(str(file))} cannot be read ({printable(str(error))})") from None
    return arrays


def _files(folder: Path) -> list[Path]:
    """Return the files of weights; an index names its own, which lie beside it."""
    if (folder / SINGLE).is_file():
        return [folder / SINGLE]
    index = folder / INDEX
    try:
        names = sorted(set(json.loads(index.read_bytes())["weight_map"].values()))
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise MrprepError(f"{printable(str(index))} cannot be read ({printable(str(error))})") from None
    outside = next((name for name in names if Path(name).name != name), None)
    if outside is not None:
        raise MrprepError(f"{printable(str(index))} names {printable(outside)}, which is no file beside it")
    return [folder / name for name in names]


def _tensors(file: Path) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    from safetensors import SafetensorError, deserialize

    try:
        held: list[tuple[str, dict[str, Any]]] = deserialize(file.read_bytes())  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ValueError(str(error)) from None
    for name, tensor in held:
        yield name, _widened(tensor["dtype"], tensor["data"]).reshape(tensor["shape"])


def _widened(dtype: str, data: bytes) -> npt.NDArray[np.float32]:
    if dtype == "BF16":  # the upper half of an fp32
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
    if dtype not in _DTYPES:
        raise ValueError(f"its numbers are {dtype}; fp32, fp16 and bf16 are read")
    return np.frombuffer(data, _DTYPES[dtype]).astype(np.float32)
