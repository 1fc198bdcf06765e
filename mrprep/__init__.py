"""mrprep: from a folder of raw text to packed, sharded MindSpore MindRecord, and a trainer that reads it.

As a library: ``build``, ``open_build``, ``dataset`` and ``TorchRows``, loaded when asked for (docs/interop.md).
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PLACES = {
    "build": "library",
    "open_build": "library",
    "OpenBuild": "library",
    "dataset": "minddata",
    "TorchRows": "torch_rows",
}
__all__ = ["OpenBuild", "TorchRows", "__version__", "build", "dataset", "open_build"]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mrprep.interop.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
