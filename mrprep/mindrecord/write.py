"""Write one MindRecord file and its index: about 30 Mtok/s a core in layout flat.

The bytes are those that ``mindspore.mindrecord.FileWriter`` writes, and depend on rows, schema and file name alone:
not on the process, the time, the directory or the size of the batches.
"""

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.engine.parts import open_to_others
from mrprep.engine.room import free_in
from mrprep.errors import BugError, MrprepError
from mrprep.mindrecord import core
from mrprep.mindrecord.checksum import Checksum, Written
from mrprep.mindrecord.errors import reason
from mrprep.mindrecord.schema import DTYPE, Schema, index_of
from mrprep.printable import printable

Columns = Mapping[str, npt.NDArray[Any]]
"""A batch of rows: name -> array [rows, places]."""

_DESCRIPTION = "mrprep"
_MEMORY = Path("/dev/shm")
ROOM = 16 << 20
"""Bytes that stay free on the disk: MindRecord itself wants 10 MiB there before each write, no more when several write
side by side, and can crash the process when a write fails (2.10)."""


def write_rows(file: Path, schema: Schema, batches: Iterable[Columns]) -> Written:
    """Write ``file`` and its index with the modes of the umask.

    Args:
        file: its final name; a MindRecord file cannot be renamed, its directory can.
        schema: columns, header and page size.
        batches: every column of the schema, int32[rows, places]; some hundreds of rows each.

    Raises:
        MrprepError: the disk is full, or the file cannot be written.
        BugError: a batch does not fit the schema.
    """
    sums = Checksum(schema.columns)
    try:
        _write(file, schema, _checked(batches, schema, sums, file))
        _index(file)
    except (OSError, RuntimeError) as error:
        raise _failure(file, error) from error
    for path in (file, index_of(file)):
        open_to_others(path)
    return sums.written()


def room_for(batch: int) -> int:
    """Return the bytes that must be free on the disk when a batch of so many is written."""
    return 2 * batch + ROOM


def _write(file: Path, schema: Schema, batches: Iterable[Columns]) -> None:
    library = core.load()
    fields = {name: {"type": DTYPE, "shape": [places]} for name, places in schema.columns.items()}
    header = library.ShardHeader()
    header.add_schema(library.Schema.build(_DESCRIPTION, fields))
    stored = header.get_meta()[0].get_schema_content()["blob_fields"]
    writer = library.ShardWriter()
    core.done(writer.set_header_size(schema.header))
    core.done(writer.set_page_size(schema.page))
    core.done(writer.open([str(file)], False, False))
    core.done(writer.set_shard_header(header))
    for batch in batches:
        core.done(writer.write_raw_data({}, _blobs([batch[name] for name in stored]), True, False))
    core.done(writer.commit())


def _index(file: Path) -> None:
    """Write the index, in memory first where there is room: MindRecord waits for the disk 16 times, 70 ms together."""
    if not os.access(_MEMORY, os.W_OK) or shutil.disk_usage(_MEMORY).free < file.stat().st_size:
        _index_beside(Path(os.path.realpath(file)))
        return
    with TemporaryDirectory(prefix="mrprep-", dir=_MEMORY) as folder:
        link = Path(folder, file.name)
        link.symlink_to(file.absolute())
        _index_beside(link)
        shutil.copyfile(index_of(link), index_of(file))


def _index_beside(file: Path) -> None:
    generator = core.load().ShardIndexGenerator(str(file), False)
    core.done(generator.build())
    core.done(generator.write_to_db())


def _blobs(columns: list[npt.NDArray[Any]]) -> list[bytes]:
    """Return each row as MindRecord takes it: its only column, or all, each after its bytes' number (8, big-endian)."""
    parts = [np.ascontiguousarray(column).view(np.uint8) for column in columns]
    if len(parts) > 1:
        parts = [np.concatenate([part for column in parts for part in (_length(column), column)], axis=1)]
    return [row.tobytes() for row in parts[0]]


def _length(column: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    rows, size = column.shape
    return np.full((rows, 1), size, ">u8").view(np.uint8)


def _checked(batches: Iterable[Columns], schema: Schema, sums: Checksum, file: Path) -> Iterator[Columns]:
    """Pass batches on, summed; MindRecord itself checks neither dtype nor shape of what it is given."""
    for batch in batches:
        if shutil.disk_usage(file.parent).free < room_for(sum(array.nbytes for array in batch.values())):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        for name, places in schema.columns.items():
            array = batch[name]
            if array.dtype != np.dtype(DTYPE) or array.shape[1:] != (places,):
                raise BugError(f"column {name} is {array.dtype}{list(array.shape[1:])}, not {DTYPE}[{places}]")
        sums.update(batch)
        yield batch


def _failure(file: Path, error: Exception) -> MrprepError:
    where = printable(str(file))
    if getattr(error, "errno", None) == errno.ENOSPC or shutil.disk_usage(file.parent).free < ROOM:
        return MrprepError(
            f"{where}: no space left on the disk, {free_in(file.parent)}; free some and run the same command again"
        )
    return MrprepError(f"{where} cannot be written ({reason(error)}): mend that and run the same command again")
