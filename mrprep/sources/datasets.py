"""What Hugging Face ``datasets`` puts into a folder beside the rows: what describes them, and caches of its ``map``."""

import os
from collections.abc import Collection, Mapping
from typing import Any

import orjson

from mrprep.printable import printable

_INFO, _STATE, _SPLITS = b"dataset_info.json", b"state.json", b"dataset_dict.json"
_ROWS = b".arrow"


def beside_rows(folder: bytes, names: Collection[bytes]) -> dict[bytes, str]:
    """Return the files of a folder that are no part of the rows of a saved dataset, with a clause why.

    Args:
        folder: full path.
        names: of what is in it.

    Returns:
        nothing, if the folder is not one that ``datasets`` saved.
    """
    if _SPLITS in names and isinstance(_loaded(folder, _SPLITS).get("splits"), list):
        return {_SPLITS: "says which splits a dataset has"}
    rows = {name for name in names if name.endswith(_ROWS)}
    named = _files_of(folder) if _STATE in names else set()
    if not named and (not rows or _INFO not in names):
        return {}
    told = {name: "describes a dataset" for name in (_INFO, _STATE) if name in names}
    if named:
        return told | dict.fromkeys(rows - named, f"is not among the files that {_STATE.decode()} names")
    return told | {name: "is a cache of a dataset" for name in rows if name.startswith(b"cache-")}


def missing_rows(folder: bytes, names: Collection[bytes]) -> dict[bytes, str]:
    """Return the files that a saved dataset names and that are not in its folder, with a clause that says so."""
    named = _files_of(folder) if _STATE in names else set()
    return dict.fromkeys(named - set(names), f"is not there, and {_STATE.decode()} names it")


def _files_of(folder: bytes) -> set[bytes]:
    files = _loaded(folder, _STATE).get("_data_files")
    if not isinstance(files, list):
        return set()
    names = (file.get("filename") for file in files if isinstance(file, dict))
    return {
        os.fsencode(name) for name in names if isinstance(name, str) and printable(name) == name and "/" not in name
    }


def _loaded(folder: bytes, name: bytes) -> Mapping[str, Any]:
    """Return the JSON object in a file; nothing, if it is something else or cannot be read."""
    try:
        with open(os.path.join(folder, name), "rb") as file:
            found = orjson.loads(file.read())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
