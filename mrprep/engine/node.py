"""What runs on a machine of a cluster: a call, after a look at whether the machine is fit for it.

This module travels to the machine as it is, so that one without mrprep can be told from one with another version.
"""

import os
import pickle
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PYTHON = "Python"
"""Stands for the interpreter among the names of packages."""


def versions(names: Sequence[str]) -> dict[str, str]:
    """Return the version of each package here; ``none`` where it is not installed."""
    return {name: _version(name) for name in names}


def unfit(wanted: Mapping[str, str], seen: Mapping[str, int]) -> str:
    """Return why this machine must not take part in a build, empty if it may.

    Args:
        wanted: versions on the machine that the build was started on.
        seen: files there, and their bytes.
    """
    for name, there in wanted.items():
        if (here := _version(name)) != there:
            return f"has {name} {here} where this machine has {there}: give all the same versions"
    for path, size in seen.items():
        try:
            if os.path.getsize(path) == size:  # noqa: PTH202
                continue
        except OSError:
            pass
        return f"does not see {path} as this machine does: keep inputs and --out on a file system that all share"
    return ""


def call_here(wanted: Mapping[str, str], seen: Mapping[str, int], folder: str, packed: bytes) -> tuple[str, str, Any]:
    """Run a pickled call in ``folder`` if this machine is fit for it; return its id, why it is not, and the result."""
    import ray

    here = ray.get_runtime_context().get_node_id()
    if reason := unfit(wanted, seen):
        return here, reason, None
    if os.path.isdir(folder):  # noqa: PTH112
        os.chdir(folder)
    function, arguments = pickle.loads(packed)
    return here, "", function(*arguments)


def _version(name: str) -> str:
    try:
        return platform.python_version() if name == PYTHON else version(name)
    except PackageNotFoundError:
        return "none"
