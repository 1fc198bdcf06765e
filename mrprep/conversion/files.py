"""Which files of a place hold weights, and their tensors: safetensors, PyTorch's, MindSpore's ``.ckpt``."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mrprep.conversion.torch_files import open_torch
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training import ckpt
from mrprep.training.tensors import Stored, has_weights, indexed, open_file, open_tensors

_TORCH, _TORCH_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
_META = ("consolidated.safetensors", "consolidated.00.pth")
_TAKEN = f"model.safetensors, {_TORCH}, an index of either, {' or '.join(_META)}, or one .ckpt"


@contextmanager
def opened(place: Path) -> Iterator[dict[str, Stored]]:
    """Give the tensors of a directory or a ``.ckpt`` by the names they bear there; of several kinds the safest.

    Raises:
        MrprepError: there are none, or several that could be meant; a file is missing, damaged, or no weights.
    """
    found = _ckpt(place)
    if found is None:
        yield dict(_tensors(place))
        return
    with tempfile.TemporaryDirectory(prefix="mrprep-ckpt-") as folder:
        ckpt.unpack(found, Path(folder))
        yield open_tensors(Path(folder))


def has_transformers_files(place: Path) -> bool:
    """Return whether a place is a directory of weights in files that ``transformers`` reads."""
    return has_weights(place) or any((place / name).is_file() for name in (_TORCH, _TORCH_INDEX))


def _ckpt(place: Path) -> Path | None:
    """Return the ``.ckpt`` that is meant, if one is."""
    if place.is_file():
        if place.suffix == ".ckpt":
            return place
        raise MrprepError(f"{printable(str(place))} is a file: name its directory, or a .ckpt")
    if has_transformers_files(place) or any((place / name).is_file() for name in _META):
        return None
    several = sorted(place.glob("*.ckpt"))
    if len(several) > 1:
        raise MrprepError(
            f"{printable(str(place))} holds {len(several)} files .ckpt, such as {printable(several[-1].name)}: name one"
        )
    if not several:
        raise MrprepError(f"{printable(str(place))} holds no weights: there must be {_TAKEN}")
    return several[0]


def _tensors(folder: Path) -> Iterator[tuple[str, Stored]]:
    if has_weights(folder):
        yield from open_tensors(folder).items()
    elif (folder / _TORCH).is_file():
        yield from open_torch(folder / _TORCH)
    elif (folder / _TORCH_INDEX).is_file():
        for file in indexed(folder / _TORCH_INDEX):
            yield from open_torch(file)
    elif (folder / _META[0]).is_file():
        yield from open_file(folder / _META[0])
    else:
        _see_whole(folder)
        yield from open_torch(folder / _META[1])


def _see_whole(folder: Path) -> None:
    parts = sorted(folder.glob("consolidated.*.pth"))
    if len(parts) > 1:
        raise MrprepError(
            f"{printable(str(folder))} holds the parts of {len(parts)} model-parallel ranks (consolidated.*.pth), "
            "which are not joined here: take the model in Hugging Face's form"
        )
