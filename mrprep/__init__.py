"""mrprep: from a folder of raw text to packed, sharded MindSpore MindRecord, and a trainer that reads it.

As a library, loaded when asked for: ``build``, ``open_build``, ``dataset``, ``TorchRows`` and
``MrprepError``, which all of them raise (docs/interop.md), and ``Document`` and ``Dropped`` for stages of your own
(docs/stages.md).
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PLACES = {
    "Document": "document",
    "Dropped": "document",
    "MrprepError": "errors",
    "build": "interop.library",
    "open_build": "interop.library",
    "OpenBuild": "interop.library",
    "dataset": "interop.minddata",
    "TorchRows": "interop.torch_rows",
}
__all__ = [
    "Document",
    "Dropped",
    "MrprepError",
    "OpenBuild",
    "TorchRows",
    "__version__",
    "build",
    "dataset",
    "open_build",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"mrprep.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
