"""The survivors as plain files, for whoever wants text without duplicates and no tokens: jsonl or Parquet.

One file a part of the read phase, one record a row of its text table that stays, in reading order. Costs one read
of the texts and one write; memory is a row group of some megabytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mrprep.builddir.tables import TextPart
from mrprep.printable import printable

VERSION = 1
Form = Literal["jsonl", "parquet"]

_WANTED = ["id", "source", "path", "line", "piece", "text"]
RECORD = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),  # order.document_id as 16 hexadecimal digits
        pa.field("source", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),  # relative to its source
        pa.field("line", pa.int64(), nullable=False),
        pa.field("piece", pa.int32(), nullable=False),  # 0 but for texts of over 16 MB, which come in pieces
        pa.field("text", pa.string(), nullable=False),
    ]
)
"""What is written of a document; other fields of its record are not carried through the stages."""


@dataclass(frozen=True, slots=True)
class ExportUnit:
    """What one worker writes."""

    part: TextPart
    verdict: Path
    """``verdict.npy``."""
    form: Form


class Writer(Protocol):
    """Writes tables to one file."""

    def write_table(self, table: pa.Table) -> None: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


def open_writer(file: Path, form: Form, schema: pa.Schema = RECORD) -> Writer:
    """Open a file for tables of a schema."""
    return _Lines(file) if form == "jsonl" else pq.ParquetWriter(file, schema, compression="zstd")


def export_unit(unit: ExportUnit, out: Path) -> None:
    """Write ``documents.jsonl`` or ``documents.parquet`` (RECORD), and ``counts.json`` (``rows``, ``bytes``)."""
    writer = open_writer(out / f"documents.{unit.form}", unit.form)
    rows = size = 0
    verdict = np.load(unit.verdict, mmap_mode="r")[unit.part.base : unit.part.base + unit.part.rows]
    for _, table in survivors(unit.part.path / "text.parquet", verdict):
        writer.write_table(table)
        rows += table.num_rows
        size += pc.sum(pc.binary_length(table["text"])).as_py() or 0
    writer.close()
    (out / "counts.json").write_bytes(orjson.dumps({"rows": rows, "bytes": size}))


class _Lines:
    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def write_table(self, table: pa.Table) -> None:
        self._file.writelines(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in table.to_pylist())

    def close(self) -> None:
        self._file.close()


def survivors(texts: Path, verdict: npt.NDArray[np.int64] | None) -> Iterator[tuple[npt.NDArray[np.int64], pa.Table]]:
    """Yield the rows of a text table that stay, a row group at a time: their places in it, and RECORD.

    Args:
        texts: ``text.parquet``, or a part under ``text/`` of a finished build.
        verdict: of its rows, see ``dedupe``; None when all stay.
    """
    at = 0
    with pq.ParquetFile(texts) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=_WANTED, use_threads=False)
            places = np.arange(at, at + table.num_rows)
            kept = places if verdict is None else places[verdict[places] == -1]
            yield kept, _records(table.take(kept - at))
            at += table.num_rows


def _records(table: pa.Table) -> pa.Table:
    ids = [f"{number:016x}" for number in table["id"].to_pylist()]
    paths = [printable(path, 4096) for path in table["path"].to_pylist()]
    columns = [pa.array(ids, pa.string()), table["source"].cast(pa.string()), pa.array(paths, pa.string())]
    return pa.table([*columns, table["line"], table["piece"], table["text"]], schema=RECORD)
