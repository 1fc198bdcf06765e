"""The documents of a build as files that ``datasets.load_dataset`` opens: Parquet or jsonl, a file a part and split.

What goes out is what stays after cleaning, filtering and deduplication, each document once whatever the weight of its
source, in the order in which it was read. Streams: memory is a row group of text, and with tokens the ids of 4 MB.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from mrprep import __version__
from mrprep.builddir.digest import digest
from mrprep.builddir.layout import MANIFEST, VERDICT
from mrprep.builddir.manifest import Build
from mrprep.engine.progress import bar
from mrprep.errors import MrprepError
from mrprep.interop.place import new_directory
from mrprep.printable import printable
from mrprep.provenance.tables import table_of
from mrprep.stages.export import RECORD, Form, Writer, open_writer, survivors
from mrprep.tokenizers.of_build import tokenizer_of

I64 = npt.NDArray[np.int64]
Encode = Callable[[list[str]], tuple[npt.NDArray[np.int32], I64]]

FACTS = "export.json"
SPLITS = {"train": "train", "valid": "validation"}
"""Name in a build -> as ``datasets`` calls it."""
_IDS = pa.field("input_ids", pa.list_(pa.int32()), nullable=False)
_ENCODED_BYTES = 4 << 20


@dataclass(slots=True)
class Written:
    """What has gone into one split."""

    files: list[str] = field(default_factory=list)
    rows: int = 0
    """Documents; of one over 16 MB, pieces."""
    bytes: int = 0
    """UTF-8 of the texts."""
    tokens: int = 0


def export_texts(build: Build, out: Path, form: Form, *, tokens: bool) -> dict[str, Written]:
    """Write the documents of a build as ``SPLIT-00000.FORM`` and what they are as ``export.json``.

    Columns: those of ``stages.export.RECORD``, and with ``tokens`` ``input_ids``, int32 lists: the ids of the text by
    the tokenizer of the build, without BOS and EOD.

    Args:
        build: of shards, or of documents (``mrprep dedupe``), which has no validation split.
        out: directory to make.
        form: jsonl or parquet.
        tokens: add ``input_ids``.

    Raises:
        MrprepError: something stands at ``out``; a table is damaged; or there is no tokenizer.
    """
    encode = _encoder(build) if tokens else None
    schema = RECORD.append(_IDS) if tokens else RECORD
    held_back = _documents_of(build, "valid")
    written: dict[str, Written] = {}
    parts = build.manifest["text"]["parts"]
    with new_directory(out) as staged, bar(sum(part["rows"] for part in parts), "export", "doc") as shown:
        for number, part in enumerate(parts):
            with ExitStack() as stack:
                writers: dict[str, Writer] = {}
                for split, table in _tables(build, part, held_back):
                    if split not in writers:
                        name = f"{SPLITS[split]}-{number:05d}.{form}"
                        writers[split] = stack.enter_context(closing(open_writer(staged / name, form, schema)))
                        written.setdefault(split, Written()).files.append(name)
                    _write(writers[split], table, encode, written[split])
            shown.update(part["rows"])
        _write_facts(build, staged, written)
    return written


def _tables(build: Build, part: Any, held_back: I64) -> Iterator[tuple[str, pa.Table]]:
    """Yield what stays of a part, by split."""
    last = part["base"] + part["rows"]
    verdict = np.load(build.file(VERDICT), mmap_mode="r")[part["base"] : last] if build.holds(VERDICT) else None
    for places, table in survivors(build.file(part["file"]), verdict):
        valid = np.isin(places + part["base"], held_back)
        for split, mask in (("train", ~valid), ("valid", valid)):
            if mask.any():
                yield split, table.filter(pa.array(mask))


def _write(writer: Writer, table: pa.Table, encode: Encode | None, written: Written) -> None:
    sizes = pc.binary_length(table["text"]).to_numpy().astype(np.int64)
    written.rows += table.num_rows
    written.bytes += int(sizes.sum())
    if encode is None:
        writer.write_table(table)
        return
    cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // _ENCODED_BYTES)) + 1
    for start, stop in pairwise([0, *cuts.tolist(), table.num_rows]):
        some = table.slice(start, stop - start)
        ids, offsets = encode(some["text"].to_pylist())
        written.tokens += len(ids)
        lists = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(ids))
        writer.write_table(some.append_column(_IDS, lists))


def _encoder(build: Build) -> Encode:
    if "tokenizer" not in build.manifest:
        raise MrprepError(
            f"{printable(str(build.path))} has no tokenizer: leave --tokens out, or use a build of shards"
        )
    return tokenizer_of(build).encode_batch


def _documents_of(build: Build, split: str) -> I64:
    """Return the row ordinals of the documents in a split, sorted."""
    shards = build.manifest["splits"].get(split, {}).get("shards", ())
    found = [table_of(build.file(shard["provenance"]), columns=["doc"])["doc"].to_numpy() for shard in shards]
    documents: I64 = np.unique(np.concatenate([np.zeros(0, np.int64), *found]))
    return documents


def _write_facts(build: Build, staged: Path, written: dict[str, Written]) -> None:
    facts = {
        "mrprep": __version__,
        "manifest_sha256": digest(build.file(MANIFEST))["sha256"],
        "splits": {SPLITS[name]: asdict(counts) for name, counts in written.items()},
    }
    (staged / FACTS).write_bytes(orjson.dumps(facts, option=orjson.OPT_INDENT_2))
