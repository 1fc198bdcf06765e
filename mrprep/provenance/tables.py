"""Read a build's tables: documents by their ordinal, by where they came from, and by the rows they are in."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mrprep.builddir.layout import CLUSTERS, VERDICT
from mrprep.builddir.manifest import Build
from mrprep.errors import MrprepError
from mrprep.printable import printable

Mask = npt.NDArray[np.bool_]

_WHERE = ["id", "source", "path", "offset", "line", "piece"]


@dataclass(frozen=True, slots=True)
class Found:
    """A document of a build, one that passed the map stages or one that was left out before."""

    id: int
    source: str
    path: bytes
    line: int
    piece: int
    doc: int | None
    """Row ordinal in text/; None for what was left out before."""
    stage: str = ""
    """Where it was left out, if it was."""
    reason: str = ""
    detail: str = ""
    excerpt: str = ""

    @property
    def place(self) -> str:
        """``path:line``, safe to print."""
        piece = f"@{self.piece}" if self.piece else ""
        return f"{printable(self.path, 4096)}:{self.line}{piece}"


def documents(build: Build, columns: list[str] | None = None) -> Iterator[tuple[int | None, pa.Table]]:
    """Yield (ordinal of its first row, rows without texts) of each text part, then (None, rows) of what was left out.

    ``columns``: those that are wanted, if not all are.

    Raises:
        MrprepError: the build was made with --no-keep-text.
    """
    for part in build.manifest["text"]["parts"]:
        yield part["base"], table_of(build.file(part["file"]), columns=columns or _WHERE)
    for name in build.manifest["text"]["dropped"]:
        yield None, table_of(build.file(name), columns=columns)


def found_rows(base: int | None, table: pa.Table, mask: Mask) -> list[Found]:
    """Return the rows of a table of ``documents`` where ``mask`` (bool[n]) is set, but for those emptied on request."""
    mask = mask & (np.asarray(table["id"]) != 0)
    rows = table.filter(pa.array(mask)).to_pylist()
    ordinals = [None] * len(rows) if base is None else [base + int(i) for i in np.flatnonzero(mask)]
    return [
        Found(
            row["id"],
            row["source"],
            row["path"],
            row["line"],
            row["piece"],
            doc,
            *(row.get(name) or "" for name in ("stage", "reason", "detail", "excerpt")),
        )
        for row, doc in zip(rows, ordinals, strict=True)
    ]


def by_ordinal(build: Build, doc: int) -> tuple[Found, str, str]:
    """Return a document, its text, and what cleaning did to it, by its row ordinal."""
    part = next(p for p in reversed(build.manifest["text"]["parts"]) if p["base"] <= doc)
    row = _row(build.file(part["file"]), doc - part["base"])
    found = Found(row["id"], row["source"], row["path"], row["line"], row["piece"], doc)
    return found, row["text"], row["edits"] or ""


def cluster_row(build: Build, doc: int) -> dict[str, Any] | None:
    """Return the line of dedup/clusters.parquet for a document by the ordinal of its first row, or None."""
    if not build.holds(CLUSTERS):
        return None
    rows = table_of(build.file(CLUSTERS), filters=pc.field("doc") == doc).to_pylist()
    return rows[0] if rows else None


def stands_for(build: Build, doc: int) -> list[dict[str, Any]]:
    """Return the lines of dedup/clusters.parquet of those that went for a document of this build."""
    mine = (pc.field("survivor") == doc) & pc.field("against").is_null()
    rows: list[dict[str, Any]] = pq.read_table(build.file(CLUSTERS), filters=mine).to_pylist()
    return rows


def verdict(build: Build, doc: int) -> int:
    """Return the verdict of dedupe on row ``doc``; see `mrprep.stages.dedupe.run`."""
    return int(np.load(build.file(VERDICT), mmap_mode="r")[doc])


def written(build: Build, doc: int) -> tuple[str, int]:
    """Return the file of a build of documents that holds row ``doc``, and its record there, counted from 1."""
    parts = build.manifest["text"]["parts"]
    number = max(i for i, part in enumerate(parts) if part["base"] <= doc)
    verdict = np.load(build.file(VERDICT), mmap_mode="r")[parts[number]["base"] : doc + 1]
    return build.manifest["documents"][number], int((verdict == -1).sum())


def stretches(build: Build, doc: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (shard file, line of its provenance table) for each stretch of a document in a row."""
    for split in build.manifest["splits"].values():
        for shard in split["shards"]:
            rows = table_of(build.file(shard["provenance"]), filters=pc.field("doc") == doc)
            yield from ((shard["file"], row) for row in rows.to_pylist())


def stretches_of_row(build: Build, shard: dict[str, Any], row: int) -> list[dict[str, Any]]:
    """Return the provenance lines of one row of a shard, in order."""
    rows: list[dict[str, Any]] = table_of(build.file(shard["provenance"]), filters=pc.field("row") == row).to_pylist()
    return rows


def table_of(path: Path, **options: Any) -> pa.Table:
    """Read a Parquet table of a build.

    Raises:
        MrprepError: it is missing or damaged.
    """
    with _readable(path):
        return pq.read_table(path, use_threads=False, **options)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException):
        raise MrprepError(
            f"{printable(str(path))} is missing or damaged: mrprep verify says what else is; build again"
        ) from None


def _row(path: Path, index: int) -> dict[str, Any]:
    with _readable(path), pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if index < rows:
                row: dict[str, Any] = file.read_row_group(group).slice(index, 1).to_pylist()[0]
                return row
            index -= rows
    raise MrprepError(f"{printable(str(path))} is shorter than its manifest says: run mrprep verify")
