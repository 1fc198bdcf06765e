"""MindSpore's ``.ckpt`` (protobuf, no pickle) to safetensors and back, each in a process of its own.

A file that makes the library crash so becomes a sentence, and nobody else loads MindSpore (400 MB, 3 s). All of the
weights are held while it works.
"""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mrprep.engine.parts import open_to_others
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.tensors import Stored, open_tensors, write_tensors

_MOST = 1 << 62


def unpack(ckpt: Path, folder: Path) -> None:
    """Write the arrays of a ``.ckpt`` into a directory, as ``model.safetensors``.

    Raises:
        MrprepError: it is damaged, another format, or holds numbers that are no weights.
    """
    _run("_unpack", ckpt, folder, f"{printable(str(ckpt))} cannot be read as a MindSpore .ckpt")


def pack(folder: Path, ckpt: Path) -> None:
    """Write the safetensors of a directory as a ``.ckpt``.

    Raises:
        MrprepError: it cannot be written.
    """
    _run("_pack", folder, ckpt, f"{printable(str(ckpt))} cannot be written by MindSpore")


def _run(function: str, source: Path, target: Path, fault: str) -> None:
    code = f"import sys; from mrprep.training.ckpt import {function}; {function}(*sys.argv[1:])"
    command = [sys.executable, "-c", code, str(source.absolute()), str(target.absolute())]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise MrprepError(f"{fault} ({printable(last[0])})")


def _unpack(source: str, target: str) -> None:
    import mindspore as ms

    held: Mapping[str, Any] = ms.load_checkpoint(source)
    write_tensors(Path(target), ((name, _stored(name, parameter)) for name, parameter in held.items()), _MOST)


def _stored(name: str, parameter: Any) -> Stored:
    import mindspore as ms
    import numpy as np

    kinds = {ms.float64: "F64", ms.float32: "F32", ms.float16: "F16", ms.bfloat16: "BF16"}
    if parameter.dtype not in kinds:
        raise ValueError(f"the numbers of {name} are {parameter.dtype}; fp32, fp16, bf16 and fp64 are read")
    array = parameter.asnumpy()
    return Stored(kinds[parameter.dtype], array.view(np.uint16) if parameter.dtype == ms.bfloat16 else array)


def _pack(source: str, target: str) -> None:
    import mindspore as ms

    def tensor(stored: Stored) -> ms.Tensor:
        return ms.Tensor(stored.wide(), dtype=ms.bfloat16) if stored.kind == "BF16" else ms.Tensor(stored.raw)

    held = [{"name": name, "data": tensor(stored)} for name, stored in open_tensors(Path(source)).items()]
    ms.save_checkpoint(held, target)
    open_to_others(Path(target))
