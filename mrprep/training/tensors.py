"""Weights in files of safetensors, one or several with an index: read lazily, widened to fp32, written as they are.

What is read is mapped, not copied: a tensor takes memory while it is looked at.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.engine.parts import open_to_others, sync
from mrprep.errors import MrprepError
from mrprep.printable import printable

F32 = npt.NDArray[np.float32]
Arrays = Mapping[str, F32]

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
_NUMPY: dict[str, Any] = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16}
_WRITTEN = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor as it lies in a file."""

    kind: str
    """F64, F32, F16 or BF16."""
    raw: npt.NDArray[Any]
    """Its numbers in its shape; those of BF16 as uint16, the upper halves of fp32."""

    def wide(self) -> F32:
        """Return it in fp32."""
        if self.kind == "BF16":
            return (self.raw.astype(np.uint32) << 16).view(np.float32)
        return self.raw.astype(np.float32)


def has_weights(folder: Path) -> bool:
    """Return whether a directory holds weights."""
    return (folder / SINGLE).is_file() or (folder / INDEX).is_file()


def open_tensors(folder: Path) -> dict[str, Stored]:
    """Return the weights of a directory, mapped, by the names they bear there.

    Raises:
        MrprepError: a file is missing or damaged, or of numbers that are no weights.
    """
    files = [folder / SINGLE] if (folder / SINGLE).is_file() else indexed(folder / INDEX)
    return {name: tensor for file in files for name, tensor in open_file(file)}


def indexed(index: Path) -> list[Path]:
    """Return the files that an index names, which lie beside it.

    Raises:
        MrprepError: it cannot be read, or names a file elsewhere.
    """
    try:
        held = json.loads(index.read_bytes())
    except (OSError, ValueError) as error:
        raise _unreadable(index, error) from None
    places = held.get("weight_map") if isinstance(held, dict) else None
    if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
        raise MrprepError(
            f"{printable(str(index))} has no weight_map of arrays to files: put a sound copy in its place"
        )
    names = sorted(set(places.values()))
    outside = next((name for name in names if Path(name).name != name), None)
    if outside is not None:
        raise MrprepError(
            f"{printable(str(index))} names {printable(outside)}, which is no file beside it: put that there, and "
            "write its name alone"
        )
    return [index.parent / name for name in names]


def open_file(file: Path) -> Iterator[tuple[str, Stored]]:
    """Yield the tensors of one file, mapped.

    Raises:
        MrprepError: it is missing or damaged, or of numbers that are no weights.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np"):  # sees that the header is sound and the file as long as it says
            pass
        yield from _mapped(file)
    except (OSError, ValueError, SafetensorError) as error:
        raise _unreadable(file, error) from None


def _unreadable(file: Path, error: Exception) -> MrprepError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return MrprepError(f"{printable(str(file))} cannot be read ({printable(reason)}): copy it again from where it came")


def _mapped(file: Path) -> Iterator[tuple[str, Stored]]:
    """Yield the tensors of a sound file: 8 bytes of length, a header in JSON, the numbers.

    The library itself gives NumPy no BF16.
    """
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        header: dict[str, Any] = json.loads(opened.read(length))
    data = np.asarray(np.memmap(file, np.uint8, "r"))[8 + length :]
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        kind, (begin, end) = tensor["dtype"], tensor["data_offsets"]
        if kind not in _NUMPY:
            raise MrprepError(
                f"{printable(str(file))}: the numbers of {printable(name)} are {printable(str(kind))}; fp32, fp16, "
                "bf16 and fp64 are read: take the model in one of those"
            )
        yield name, Stored(kind, data[begin:end].view(_NUMPY[kind]).reshape(tensor["shape"]))


def write_tensors(folder: Path, tensors: Iterable[tuple[str, Stored]], most: int) -> int:
    """Write weights into a directory as Hugging Face lays them out; return their bytes.

    Each file holds up to ``most`` bytes, but at least one tensor; with more than one there is an index.
    """
    parts: list[list[str]] = []
    held: dict[str, Stored] = {}
    total = size = 0
    for name, tensor in tensors:
        if held and size + tensor.raw.nbytes > most:
            parts.append(_write_part(folder, len(parts), held))
            held, size = {}, 0
        held[name] = tensor
        size, total = size + tensor.raw.nbytes, total + tensor.raw.nbytes
    parts.append(_write_part(folder, len(parts), held))
    _name_parts(folder, parts, total)
    return total


def _write_part(folder: Path, number: int, tensors: Mapping[str, Stored]) -> list[str]:
    from safetensors import TensorSpec, serialize_file

    kept = {name: np.ascontiguousarray(tensor.raw) for name, tensor in tensors.items()}
    specs = {
        name: TensorSpec(
            dtype=_WRITTEN[tensors[name].kind], shape=raw.shape, data_ptr=raw.ctypes.data, data_len=raw.nbytes
        )
        for name, raw in kept.items()
    }
    serialize_file(specs, folder / _part(number), metadata={"format": "pt"})
    open_to_others(folder / _part(number))
    sync(folder / _part(number))
    return list(kept)


def _part(number: int) -> str:
    return f"part-{number}.safetensors"


def _name_parts(folder: Path, parts: list[list[str]], total: int) -> None:
    if len(parts) == 1:
        (folder / _part(0)).rename(folder / SINGLE)
        return
    places: dict[str, str] = {}
    for number, names in enumerate(parts):
        final = f"model-{number + 1:05d}-of-{len(parts):05d}.safetensors"
        (folder / _part(number)).rename(folder / final)
        places |= dict.fromkeys(names, final)
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(places.items()))}
    (folder / INDEX).write_text(json.dumps(index, indent=2) + "\n")
