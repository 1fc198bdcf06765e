"""Write one MindRecord file and its index: 25-30 Mtok/s a core in layout flat, once MindSpore is there (1 s).

The bytes depend on rows, schema and file name alone: not on the process, the time or the directory.
"""

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.errors import BugError, MrprepError
from mrprep.mindrecord.checksum import Checksum, Written
from mrprep.mindrecord.errors import reason
from mrprep.mindrecord.schema import Schema, index_of
from mrprep.printable import printable

Columns = Mapping[str, npt.NDArray[Any]]
"""A batch of rows: name -> array [rows, places]."""

_DESCRIPTION = "mrprep"
_ROOM = 1 << 20  # free bytes below which a failed write is put down to a full disk


def load() -> None:
    """Import what writing and reading need: a second and 400 MB, once a process."""
    import mindspore.dataset
    import mindspore.mindrecord  # noqa: F401


def write_rows(file: Path, schema: Schema, batches: Iterable[Columns]) -> Written:
    """Write ``file`` and its index with the modes of the umask; batches of about 1,000 rows are fastest.

    Args:
        file: its final name; a MindRecord file cannot be renamed, its directory can.
        schema: columns, header and page size.
        batches: every column of the schema, arrays [rows, places] of its dtype.

    Raises:
        MrprepError: the disk is full, or the file cannot be written.
        BugError: a batch does not fit the schema.
    """
    sums = Checksum(schema.columns)
    try:
        _write(file, schema, _checked(batches, schema, sums))
    except (OSError, RuntimeError) as error:
        raise _failure(file, error) from error
    mode = 0o666 & ~_umask()
    for path in (file, index_of(file)):
        path.chmod(mode)
    return sums.written()


def _write(file: Path, schema: Schema, batches: Iterable[Columns]) -> None:
    from mindspore.mindrecord import FileWriter

    writer = FileWriter(str(file), shard_num=1)
    writer.set_header_size(schema.header)
    writer.set_page_size(schema.page)
    fields = {name: {"type": dtype, "shape": [places]} for name, (dtype, places) in schema.columns.items()}
    writer.add_schema(fields, _DESCRIPTION)
    names = tuple(schema.columns)
    for batch in batches:
        rows = zip(*(batch[name] for name in names), strict=True)
        writer.write_raw_data([dict(zip(names, row, strict=True)) for row in rows])
    writer.commit()


def _checked(batches: Iterable[Columns], schema: Schema, sums: Checksum) -> Iterator[Columns]:
    """Pass batches on, summed; FileWriter would drop rows that do not match with no more than a warning."""
    for batch in batches:
        for name, (dtype, places) in schema.columns.items():
            array = batch[name]
            if array.dtype != np.dtype(dtype) or array.shape[1:] != (places,):
                raise BugError(
                    f"column {name} is {array.dtype}{list(array.shape[1:])}, not {dtype}[{places}]"
                )
        sums.update(batch)
        yield batch


def _failure(file: Path, error: Exception) -> MrprepError:
    where = printable(str(file))
    if getattr(error, "errno", None) == errno.ENOSPC or shutil.disk_usage(file.parent).free < _ROOM:
        return MrprepError(f"{where}: no space left on the disk; free some and run the same command again")
    return MrprepError(
        f"{where} cannot be written ({reason(error)}): mend that and run the same command again"
    )


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
