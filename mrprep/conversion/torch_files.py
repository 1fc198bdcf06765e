"""PyTorch's own files of weights, read by ``torch.load(weights_only=True)`` and by nothing else."""

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrprep import extras
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.tensors import Stored

if TYPE_CHECKING:
    import torch

_NOT_ALLOWED = re.compile(r"(?:GLOBAL|[Uu]nsupported (?:global|class|operand)[^\w]*) ?([\w.]+)")
"""What a message of torch's restricted unpickler names."""


def open_torch(file: Path) -> Iterator[tuple[str, Stored]]:
    """Yield the tensors of a ``.bin`` or ``.pth`` file, mapped where it is a zip file, as all since 2020 are.

    Raises:
        MrprepError: torch is not installed; the file is damaged, or holds something else than weights.
    """
    shown = printable(str(file))
    if not extras.has("interop"):
        raise MrprepError(f"{shown} {extras.advice('interop')}")
    held = _load(file)
    if not isinstance(held, dict):
        raise MrprepError(f"{shown} holds no weights by name")
    for name, tensor in held.items():
        yield str(name), _stored(tensor, f"{shown}: {printable(str(name))}")


def _load(file: Path) -> Any:
    import torch

    try:
        try:
            return torch.load(file, map_location="cpu", weights_only=True, mmap=True)
        except RuntimeError:  # not a zip file
            return torch.load(file, map_location="cpu", weights_only=True)
    except (OSError, EOFError, RuntimeError, ValueError, pickle.UnpicklingError) as error:
        raise MrprepError(
            f"{printable(str(file))} cannot be read as weights alone ({printable(_reason(error))}): take the model in "
            "safetensors, or a sound copy of this file"
        ) from None


def _reason(error: Exception) -> str:
    """Say why torch refused a file, without its advice to load it by other means."""
    if found := _NOT_ALLOWED.search(str(error)):
        return f"it holds {found[1]}, which is no tensor"
    if isinstance(error, pickle.UnpicklingError):
        return "it is damaged, or holds more than tensors"
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _stored(tensor: "torch.Tensor", where: str) -> Stored:
    import torch

    kinds = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}
    if not isinstance(tensor, torch.Tensor) or tensor.dtype not in kinds:
        what = getattr(tensor, "dtype", type(tensor).__name__)
        raise MrprepError(f"{where} is {printable(str(what))}, no weight: fp32, fp16, bf16 and fp64 are read")
    bits = tensor.detach().contiguous()
    import numpy as np

    raw = bits.view(torch.int16).numpy().view(np.uint16) if tensor.dtype == torch.bfloat16 else bits.numpy()
    return Stored(kinds[tensor.dtype], raw)
