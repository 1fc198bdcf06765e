"""MindSpore's MindRecord library alone: 10 ms and 30 MB, where ``import mindspore`` takes a second and 400 MB.

``mindspore.mindrecord.FileWriter`` and ``FileReader`` are thin wrappers of this extension module, but importing
them imports all of MindSpore. The module is registered under its own name, so that a later ``import mindspore``
takes it as it is. ``tests/test_mindrecord_write.py`` holds the files against FileWriter's, byte for byte.
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any

_NAME = "mindspore._c_mindrecord"


def load() -> Any:
    """Return the extension module ``mindspore._c_mindrecord``.

    Raises:
        ImportError: MindSpore is not installed, or has no such library.
    """
    if _NAME in sys.modules:
        return sys.modules[_NAME]
    spec = importlib.util.spec_from_file_location(_NAME, _library())
    if spec is None or spec.loader is None:
        raise ImportError(f"{_NAME} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    spec.loader.exec_module(module)
    return module


def done(status: Any) -> None:
    """Raise RuntimeError if a call of the library says that it failed."""
    if status != load().MSRStatus.SUCCESS:
        raise RuntimeError("MindRecord reports a failure and no reason")


def _library() -> Path:
    package = importlib.util.find_spec("mindspore")  # finds, does not import
    if package is None or package.origin is None:
        raise ImportError("mindspore is not installed")
    found = sorted(Path(package.origin).parent.glob("_c_mindrecord*.so"))
    if not found:
        raise ImportError(f"{Path(package.origin).parent} holds no _c_mindrecord library")
    return found[0]
