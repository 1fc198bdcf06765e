"""MindRecord files of anyone: which are there, what columns of integers they hold, and their rows.

A file that is not ours is opened in a child process first, so that a crash of the library becomes a sentence.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from mrprep.errors import MrprepError
from mrprep.mindrecord.errors import reason
from mrprep.printable import printable

_SECONDS = 60
_LOOK = """
import json, sys
from mrprep.mindrecord import core
reader = core.load().ShardReader()
core.done(reader.open([sys.argv[1]], False, 1, [], []))
schema = reader.get_header().get_meta()[0].get_schema_content()["schema"]
print(json.dumps({"rows": reader.len(), "schema": schema}))
"""


def mindrecord_files(path: Path) -> list[Path]:
    """Return the MindRecord files at a path, itself or below it, sorted: whatever has a ``.db`` beside it."""
    if path.is_file():
        return [path]
    indexes = sorted(index for index in path.rglob("*.db") if index.is_file())
    return [data for index in indexes if (data := index.with_suffix("")).is_file()]


def describe(file: Path) -> tuple[int, dict[str, Any]]:
    """Return the rows of a file and the columns of integers in it, name -> ``{"type", "shape"}``; takes 0.1 s.

    Raises:
        MrprepError: it is no MindRecord file, damaged, or without its index.
    """
    command = [sys.executable, "-c", _LOOK, str(file.absolute())]
    try:
        found = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        facts = orjson.loads(found.stdout if found.returncode == 0 else b"")
    except (subprocess.TimeoutExpired, ValueError):
        raise MrprepError(
            f"{printable(str(file))} cannot be read as MindRecord: it is damaged, another format, or its .db is missing"
        ) from None
    columns = {name: kind for name, kind in facts["schema"].items() if kind["type"] in ("int32", "int64")}
    return int(facts["rows"]), {name: kind for name, kind in columns.items() if "shape" in kind}


def read_ragged(file: Path, column: str, indices: Sequence[int] | None = None) -> Iterator[npt.NDArray[np.int64]]:
    """Yield one column of rows of a file, int64[places] each, rows of any length; in the order asked for, or all.

    Raises:
        MrprepError: the file cannot be read.
    """
    import mindspore.dataset as ds

    sampler = ds.SequentialSampler() if indices is None else ds.SubsetSampler(list(indices))
    try:
        rows = ds.MindDataset([str(file)], columns_list=[column], num_parallel_workers=1, sampler=sampler)
        for row in rows.create_dict_iterator(num_epochs=1, output_numpy=True):
            yield row[column].astype(np.int64).reshape(-1)
    except RuntimeError as error:
        raise MrprepError(f"{printable(str(file))} cannot be read ({reason(error)})") from None
