"""Write one part of the texts: those that stay, what was left out, and what was found in the files; and read it back.

Texts are flushed in batches of some megabytes, so that memory does not follow the size of a part.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from mrprep.builddir import tables
from mrprep.document import NO_EDITS, BadRecord, Document, Dropped, FileNote, Place
from mrprep.engine.ledger import added
from mrprep.order import document_id

BATCH_CHARACTERS = 2 << 20
EXCERPT = 200
_DOCUMENT = ("source", "path", "offset", "line", "piece", "text", "edits", "score")

Batch = Callable[[pa.Array, npt.NDArray[np.uint64]], None]
"""Is shown each batch of texts (string[n]) with their document ids (uint64[n]) as it is written; the pieces of a
document, rows of equal ids, may come in several batches."""


class TextPartWriter:
    """Collects documents and writes the tables ``text``, ``dropped``, ``files``, ``hits``, and ``counts.json``."""

    def __init__(self, out: Path, on_batch: Batch) -> None:
        self._out, self._on_batch = out, on_batch
        self._kept: list[Document] = []
        self._characters = 0
        self._text = pq.ParquetWriter(out / "text.parquet", tables.TEXT, compression="zstd", compression_level=1)
        self._left_out: list[tuple[Place, str, str, str, str]] = []
        self._notes: list[FileNote] = []
        self._hits: list[tuple[Place, str, str]] = []
        self._rows = self._scored = 0
        self._seen: Counter[str] = Counter()
        self._by_source: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._edits: Counter[str] = Counter()
        self._shortened: dict[str, Counter[str]] = {}
        self._before: Path | None = None

    def follow(self, part: Path) -> None:
        """Take over from an earlier part, whose documents are to be kept or dropped now, all that came before them."""
        self._before = part
        was = _counts_of(part)
        self._seen.update({name: was[name] for name in ("records", "cuts", "bad", "documents")})
        for source, counts in was["by_source"].items():
            self._by_source[source]["documents"] = counts["documents"]

    def saw(self, document: Document) -> None:
        """Count a document as it was read."""
        first = document.place.piece == 0
        self._seen["records" if first else "cuts"] += 1
        self._seen["documents"] += 1
        self._by_source[document.place.source]["documents"] += 1

    def bad(self, record: BadRecord) -> None:
        """Note a record that is no document."""
        self._seen["records"] += 1
        self._seen["bad"] += 1
        self._left_out.append((record.place, "read", record.reason, record.message, ""))

    def drop(self, dropped: Dropped, stage: str) -> None:
        """Note a document that a map stage took out."""
        document = dropped.document
        self._left_out.append((document.place, stage, dropped.reason, dropped.detail, document.text[:EXCERPT]))

    def note(self, found: FileNote) -> None:
        """Note what reading a span of a file found."""
        self._notes.append(found)

    def hit(self, place: Place, evaluation: str, text: str) -> None:
        """Note a stretch that a document shares with an evaluation set."""
        self._hits.append((place, evaluation, text[:EXCERPT]))

    def keep(self, document: Document) -> None:
        """Add a document that passed all map stages."""
        self._kept.append(document)
        self._characters += len(document.text)
        if document.edits:
            self._edits.update(document.edits)
            self._seen["edited"] += 1
        if self._characters >= BATCH_CHARACTERS:
            self._flush()

    def shortened(self, stage: str, stretches: int, characters: int) -> None:
        """Count a document out of which a stage has taken so many lines or paragraphs."""
        counts = self._shortened.setdefault(stage, Counter())
        counts.update(documents=1, stretches=stretches, characters=characters)

    def close(self) -> None:
        """Write what is left, and the counts."""
        self._flush()
        self._text.close()
        tables_ = {"dropped": self._dropped_table(), "files": self._files_table(), "hits": self._hits_table()}
        for name, table in tables_.items():
            before = [pq.read_table(self._before / f"{name}.parquet", use_threads=False)] if self._before else []
            _write(pa.concat_tables([*before, table]), self._out / f"{name}.parquet")
        (self._out / "counts.json").write_bytes(orjson.dumps(self._counts(), option=orjson.OPT_SORT_KEYS))

    def _flush(self) -> None:
        if not self._kept:
            return
        texts = pa.array([_plain(document.text) for document in self._kept], pa.string())
        places = [document.place for document in self._kept]
        ids = _ids(places)
        edits = pa.array([_edits(document.edits) for document in self._kept], pa.string())
        scores = pa.array([document.score for document in self._kept], pa.float64())
        self._kept, self._characters = [], 0
        table = pa.table([*_where(places, ids), texts, edits, scores], schema=tables.TEXT)
        self._text.write_table(table)
        self._on_batch(texts, ids)
        self._count_kept(table)
        self._rows += len(places)
        self._scored += len(scores) - scores.null_count

    def _count_kept(self, table: pa.Table) -> None:
        column = table["source"].chunk(0)
        source, sizes = column.indices.to_numpy(), pa.compute.binary_length(table["text"]).to_numpy()
        kept, bytes_ = np.bincount(source), np.bincount(source, sizes)
        for index, name in enumerate(column.dictionary.to_pylist()):
            self._by_source[name].update(kept=int(kept[index]), bytes=int(bytes_[index]))

    def _dropped_table(self) -> pa.Table:
        places = [row[0] for row in self._left_out]
        texts = [pa.array([row[i] for row in self._left_out], pa.string()) for i in (1, 2, 3, 4)]
        return pa.table([*_where(places, _ids(places)), *texts], schema=tables.DROPPED)

    def _hits_table(self) -> pa.Table:
        places = [row[0] for row in self._hits]
        texts = [pa.array([row[i] for row in self._hits], pa.string()) for i in (1, 2)]
        return pa.table([*_where(places, _ids(places)), *texts], schema=tables.HITS)

    def _files_table(self) -> pa.Table:
        names = tables.FILES.names
        return pa.table(
            [pa.array([getattr(n, name) for n in self._notes], tables.FILES.field(name).type) for name in names],
            schema=tables.FILES,
        )

    def _counts(self) -> Mapping[str, Any]:
        dropped: dict[str, Counter[str]] = {}
        for _, stage, reason, _, _ in self._left_out:
            dropped.setdefault(stage, Counter())[reason] += 1
        nothing: dict[str, Any] = {"left_out": {}, "shortened": {}, "hits": 0}
        before = _counts_of(self._before) if self._before else nothing
        return {
            **{name: self._seen[name] for name in ("records", "cuts", "bad", "documents", "edited")},
            "rows": self._rows,
            "scored": self._scored,
            "left_out": added([before["left_out"], dropped]),
            "shortened": added([before["shortened"], self._shortened]),
            "hits": len(self._hits) + before["hits"],
            "edits": self._edits,
            "by_source": self._by_source,
        }


def join(parts: Sequence[Path], out: Path, on_batch: Batch) -> None:
    """Write several parts, the rows of which follow each other, as one; memory is a row group.

    Args:
        parts: each with what a TextPartWriter writes.
        out: a directory.
        on_batch: is shown the rows that stayed.
    """
    told = [name for name in tables.TEXT.names if name != "text"]  # of texts they take time
    with pq.ParquetWriter(
        out / "text.parquet", tables.TEXT, compression="zstd", compression_level=1, write_statistics=told
    ) as writer:
        for part in parts:
            with pq.ParquetFile(part / "text.parquet") as file:
                for group in range(file.num_row_groups):
                    table = file.read_row_group(group, use_threads=False)
                    writer.write_table(table)
                    on_batch(table["text"], table["id"].to_numpy())
    for name in ("dropped", "files", "hits"):
        _write(
            pa.concat_tables(pq.read_table(part / f"{name}.parquet", use_threads=False) for part in parts),
            out / f"{name}.parquet",
        )
    counts = added([_counts_of(part) for part in parts])
    (out / "counts.json").write_bytes(orjson.dumps(counts, option=orjson.OPT_SORT_KEYS))


def documents(part: Path) -> Iterator[Document]:
    """Yield the documents of a part that stayed, a row group in memory at a time."""
    with pq.ParquetFile(part / "text.parquet") as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, use_threads=False)
            rows = zip(*(table.column(name).to_pylist() for name in _DOCUMENT), strict=True)
            for *place, text, edits, score in rows:
                yield Document(Place(*place), text, _edits_in(edits), score)


def _edits_in(edits: str | None) -> Mapping[str, int]:
    pairs = (edit.rsplit(" ", 1) for edit in edits.split(", ")) if edits else ()
    return {rule: int(count) for rule, count in pairs} or NO_EDITS


def _counts_of(part: Path) -> dict[str, Any]:
    counts: dict[str, Any] = orjson.loads((part / "counts.json").read_bytes())
    return counts


def _plain(text: str) -> str | bytes:
    """Return a text as Arrow takes it without a copy that would stay with the text."""
    return text if text.isascii() else text.encode()


def _edits(edits: Mapping[str, int]) -> str | None:
    return ", ".join(f"{rule} {edits[rule]}" for rule in sorted(edits)) or None


def _ids(places: Sequence[Place]) -> npt.NDArray[np.uint64]:
    return np.fromiter((document_id(p.source, p.path, p.offset) for p in places), np.uint64, len(places))


def _where(places: Sequence[Place], ids: npt.NDArray[np.uint64]) -> list[pa.Array]:
    """Return the columns that say where documents begin, in the order of the schemas."""
    return [
        pa.array(ids),
        pa.array([p.source for p in places], pa.string()).dictionary_encode(),
        pa.array([p.path for p in places], pa.binary()).dictionary_encode(),
        pa.array([p.offset for p in places], pa.int64()),
        pa.array([p.line for p in places], pa.int64()),
        pa.array([p.piece for p in places], pa.int32()),
    ]


def _write(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, compression="zstd", compression_level=1)
