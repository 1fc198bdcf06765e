"""A part of a build's text without some documents: their rows stay, emptied, so all others keep their ordinals."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from mrprep.builddir.tables import DROPPED, HITS, TEXT
from mrprep.growing.removed_texts import text_hashes
from mrprep.order import I64, U64
from mrprep.printable import printable
from mrprep.provenance.called import all_names, name_hashes

_EMPTY = {"id": 0, "path": b"", "offset": 0, "line": 0, "piece": 0, "text": "", "edits": None, "score": None}
_SHOWN = 1 << 18
"""Characters of a text in which quotes are looked for at a time."""


@dataclass(frozen=True, slots=True)
class CleanUnit:
    """A part of a build, and what of it goes."""

    text: Path
    dropped: Path
    hits: Path | None
    sketch: tuple[Path, ...]
    """``documents.npy`` and ``bands.npy``, if dedupe is a stage."""
    rows: I64
    """Places in ``text`` that are emptied, rising."""
    ids: U64
    """Of the documents that go, rising."""
    excerpts: tuple[str, ...]
    """What the build's reports quote."""


def clean_unit(unit: CleanUnit, out: Path) -> None:
    """Write what changes: ``text.parquet``, ``dropped.parquet``, ``hits.parquet``, the sketch, and ``facts.json``.

    Of the texts that go there is ``removed.npy``: XXH3-128, uint64[n, 2]; of the names of the documents
    ``removed-names.npy``: `provenance.called.name_hashes`, uint64[n].

    ``facts.json``: ``rows`` (place, id, source, bytes of each emptied row), ``dropped`` (how many documents that map
    stages had left out), ``quoted`` (numbers of the excerpts that stand in a text that goes).
    """
    quoted: set[int] = set()
    names: list[bytes] = []
    rows = _clean_text(unit, out, quoted, names) if unit.rows.size else []
    ids, hashes = text_hashes(unit.text)
    np.save(out / "removed.npy", hashes[np.isin(ids, unit.ids)])
    dropped = _without(unit.dropped, unit.ids, DROPPED, out / "dropped.parquet")
    if unit.hits is not None:
        _without(unit.hits, unit.ids, HITS, out / "hits.parquet")
    for row in dropped:
        _note_quoted(row["excerpt"], unit.excerpts, quoted)
        names += _names(row)
    np.save(out / "removed-names.npy", name_hashes(names))
    if unit.sketch and unit.rows.size:
        _clean_sketch(unit, out)
    documents = sum(row["stage"] != "read" for row in dropped)
    facts = {"rows": rows, "dropped": documents, "quoted": sorted(quoted)}
    (out / "facts.json").write_bytes(orjson.dumps(facts))


def _clean_text(unit: CleanUnit, out: Path, quoted: set[int], names: list[bytes]) -> list[dict[str, Any]]:
    """Copy the table, a row group at a time; return what stood in the emptied rows, but for the texts; add to names."""
    gone = []
    base = 0
    with pq.ParquetFile(unit.text) as file, _writer(out / "text.parquet", TEXT) as writer:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, use_threads=False)
            mine = unit.rows[slice(*np.searchsorted(unit.rows, (base, base + table.num_rows)))] - base
            if mine.size:
                rows = table.to_pylist()
                for place in mine.tolist():
                    text = rows[place]["text"]
                    facts = {name: rows[place][name] for name in ("id", "source")}
                    gone.append({"place": base + place, **facts, "bytes": len(text.encode())})
                    _note_quoted(text, unit.excerpts, quoted)
                    names += _names(rows[place])
                    rows[place] |= _EMPTY
                table = pa.Table.from_pylist(rows, schema=TEXT)
            writer.write_table(table)
            base += table.num_rows
    return gone


def _names(row: Mapping[str, Any]) -> list[bytes]:
    """Return the names of the document that begins with a row, if one does."""
    return [] if row["piece"] else all_names(row["id"], row["source"], row["path"], row["line"])


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, schema, compression="zstd", compression_level=1)


def _note_quoted(text: str, excerpts: tuple[str, ...], quoted: set[int]) -> None:
    wanted = [excerpt.rstrip("…") for excerpt in excerpts]
    reach = max(map(len, wanted), default=0)  # printable makes no text shorter
    for at in range(0, len(text) if wanted else 0, _SHOWN):
        shown = printable(text[at : at + _SHOWN + reach], _SHOWN + reach)
        quoted.update(number for number, excerpt in enumerate(wanted) if excerpt in shown)


def _without(path: Path, ids: U64, schema: pa.Schema, out: Path) -> list[dict[str, Any]]:
    """Copy a table without the rows of some documents, if it has any; return those."""
    table = pq.read_table(path, use_threads=False)
    mine = np.isin(np.asarray(table["id"]), ids)
    if not mine.any():
        return []
    rows = table.filter(pa.array(mine)).to_pylist()
    kept = pa.Table.from_pylist(table.filter(pa.array(~mine)).to_pylist(), schema=schema)
    pq.write_table(kept, out, compression="zstd", compression_level=1)
    return list(rows)


def _clean_sketch(unit: CleanUnit, out: Path) -> None:
    """Empty the documents of the emptied rows: they keep their number of rows, and resemble nothing."""
    documents, bands = (np.load(path) for path in unit.sketch)
    firsts = np.cumsum(documents["rows"], dtype=np.int64) - documents["rows"]
    gone = np.isin(firsts, unit.rows)
    np.save(out / "bands.npy", bands[:, ~gone[documents["banded"]]])
    for name in ("exact", "units", "banded"):
        documents[name][gone] = 0
    np.save(out / "documents.npy", documents)
