"""Token parts into shards: decide where each begins, then pack, write, read back and describe each of them.

Documents stand in shards in the order of their keys, a global shuffle; bounds are cut from the sum of tokens,
so shards are even and none is empty. A document is never cut between shards: one longer than a shard makes a
larger shard. A process takes 160-210 MB, 100 B a document or row of its shard among them; 20 Mtok/s a core in
layout flat, half of it in MindRecord's writer, and 0.2 ms a part and shard.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import orjson
from pydantic import Field

from mrprep.builddir.digest import digest
from mrprep.errors import BugError, MrprepError
from mrprep.mindrecord.columns import columns, merged_boundaries
from mrprep.mindrecord.read import check_rows, count_rows
from mrprep.mindrecord.schema import Schema, columns_of, index_of, row_bytes, schema
from mrprep.mindrecord.write import room_for, write_rows
from mrprep.options import Options as Base
from mrprep.sharding import bounds
from mrprep.sharding.bounds import Bound
from mrprep.sharding.entries import Entries, Stretches, gather, load_docs, select, stretches
from mrprep.sharding.plan import Plan
from mrprep.stages import pack

VERSION = 1

_SALT = 0x7061636B << 32

Split = Literal["train", "valid"]

_SHARD_TOKENS = 8 << 20
_SIDE_BY_SIDE, _SIDE_BY_SIDE_TOKENS = 4, 1 << 19
_SMALL = 1 << 20
_MOST_TRAIN, _MOST_VALID = 4032, 64
_BATCH_BYTES = 8 << 20
_INDEX_ROW = 40
"""Bytes of a row in the index, at the least."""
_SLAB_TOKENS = 9 << 20
"""Places of rows that are filled at a time, all of most shards: each slab opens every part."""


class Options(Base):
    """How many shards, and what share is kept for validation."""

    shards: int | None = Field(None, ge=1, le=_MOST_TRAIN)
    """Shards of the train split; fewer where there are fewer documents."""
    shard_size: int | None = Field(None, ge=1)
    """Bytes a shard, about; when neither is given, some 8 Mi tokens a shard."""
    valid: float = Field(0.01, ge=0, lt=1)
    """Share of the tokens that goes to the valid split, by document; 0 for none."""
    seed: int = 0
    """Of the order of rows under bestfit."""


@dataclass(frozen=True, slots=True)
class SplitUnit:
    """All tokens of a build."""

    parts: tuple[Path, ...]
    """Directories of the tokenize phase, in order."""
    pack: pack.Options
    options: Options


@dataclass(frozen=True, slots=True)
class ShardUnit:
    """One shard."""

    split: Split
    number: int
    bound: Bound
    valid_end: int
    parts: tuple[Path, ...]
    pack: pack.Options
    schema: Schema
    pad: int
    """Id that fills the rows up."""
    bos: bool
    """Whether each document begins with a BOS."""
    seed: int

    @property
    def file(self) -> str:
        """Name of its MindRecord file."""
        return f"{self.split}-{self.number:05d}.mindrecord"

    @property
    def least_rows(self) -> int:
        """How many rows it has, without the padding that packing may bring."""
        return max(1, self.bound.tokens // (self.pack.seq + 1))


def split_unit(unit: SplitUnit, out: Path) -> None:
    """Decide the splits and the bounds of all shards; write ``split.json``.

    It holds ``valid_end``; ``splits``: name -> bounds in key space with their tokens; ``withheld``: entries
    and tokens of repeats of valid documents, which go nowhere; ``notes``: sentences for people.
    """
    valid_end = bounds.valid_end(_by_base(unit.parts), unit.options.valid, unit.pack.seq + 1)
    train, valid, withheld = _by_key(unit.parts, valid_end)
    cuts: dict[str, list[Bound]] = {}
    wanted = _shards(int(train.sum()), unit)
    cuts["train"] = bounds.cut(train, wanted, 0, bounds.KEYS)
    if valid_end:
        share = len(cuts["train"]) * int(valid.sum()) // max(1, int(train.sum()))
        cuts["valid"] = bounds.cut(valid, min(max(1, share), _MOST_VALID), 0, valid_end)
    found = {
        "valid_end": valid_end,
        "splits": {name: [asdict(bound) for bound in cut] for name, cut in cuts.items()},
        "withheld": withheld,
        "notes": list(_notes(unit, wanted, cuts)),
    }
    (out / "split.json").write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2))


def shard_units(
    split: Path,
    parts: Sequence[Path],
    packing: pack.Options,
    options: Options,
    *,
    pad_id: int | None,
    eod_id: int,
    bos: bool,
) -> list[ShardUnit]:
    """Return the shards that ``split_unit`` decided, train first.

    Args:
        split: its directory.
        parts: directories of the tokenize phase, as given to ``split_unit``.
        packing: options of packing.
        options: options of sharding.
        pad_id: an id that encode never returns, if the tokenizer has one; else rows are filled up with EOD.
        eod_id: the id that ends documents.
        bos: whether each document begins with a BOS.

    Raises:
        MrprepError: packing bestfit in layout flat without ``pad_id``, or a shard too large for a file.
    """
    pack.check_padding(packing, pad_id)
    found = orjson.loads((split / "split.json").read_bytes())
    cuts = {name: [Bound.from_json(bound) for bound in cut] for name, cut in found["splits"].items()}
    try:
        form = _schema(packing, max((bound.tokens for cut in cuts.values() for bound in cut), default=0))
    except ValueError as error:
        raise MrprepError(f"{error}: ask for more shards") from None
    return [
        ShardUnit(
            split="valid" if name == "valid" else "train",
            number=number,
            bound=bound,
            valid_end=found["valid_end"],
            parts=tuple(parts),
            pack=packing,
            schema=form,
            pad=eod_id if pad_id is None else pad_id,
            bos=bos,
            seed=options.seed,
        )
        for name, cut in cuts.items()
        for number, bound in enumerate(cut)
    ]


@dataclass(frozen=True, slots=True)
class Beside:
    """Shards of a finished build, beside which others are to stand."""

    number: int
    """Of the first new one."""
    header: int
    page: int
    """Bytes of the headers and pages of all shards; one dataset reads only files that agree in both."""


def beside(units: Sequence[ShardUnit], others: Beside) -> list[ShardUnit]:
    """Return shards as they are to be written beside others.

    Raises:
        MrprepError: one is too large for the headers of the others.
    """
    if any(unit.schema.page != others.page or unit.schema.header > others.header for unit in units):
        raise MrprepError("the new shards do not fit beside those of the build, which are smaller: ask for more shards")
    return [
        replace(unit, number=unit.number + others.number, schema=replace(unit.schema, header=others.header))
        for unit in units
    ]


def bytes_of(units: Sequence[ShardUnit]) -> int:
    """Return the bytes that the rows of shards and their indices take, at the least."""
    return sum(unit.least_rows * (row_bytes(unit.schema.columns) + _INDEX_ROW) for unit in units)


def room_beside(units: Sequence[ShardUnit]) -> int:
    """Return the bytes that must be free beside the rows for the last of them to be written."""
    largest = max((unit.least_rows * row_bytes(unit.schema.columns) for unit in units), default=0)
    batch = min(_BATCH_BYTES, largest)
    return room_for(batch) - batch


def shard_unit(unit: ShardUnit, out: Path) -> None:
    """Write one shard: MindRecord file and index, ``provenance.parquet``, ``counts.json``.

    Raises:
        MrprepError: the disk is full.
        BugError: what is read back is not what was written.
    """
    bound = unit.bound
    entries = select(unit.parts, bound.first, bound.last, unit.valid_end, valid=unit.split == "valid")
    plan = pack.plan(entries.document_lengths(), unit.pack, _row_seed(unit))
    placed = stretches(plan, entries)
    file = out / unit.file
    written = write_rows(file, unit.schema, _rows(unit, plan, placed, entries))
    found = check_rows(file, tuple(unit.schema.columns))
    if not found == written or not written.rows == plan.rows == count_rows(file):
        raise BugError(f"{unit.file}: {found.rows} rows read back are not the {plan.rows} that were written")
    _write_provenance(placed, entries, out / "provenance.parquet")
    counts = _counts(unit, plan, entries) | {"files": {path.name: digest(path) for path in (file, index_of(file))}}
    (out / "counts.json").write_bytes(orjson.dumps(counts, option=orjson.OPT_INDENT_2))


def _by_base(parts: Sequence[Path]) -> bounds.I64:
    """Return tokens of first copies by base key."""
    histogram = bounds.empty_histogram()
    for part in parts:
        docs = load_docs(part)
        first = docs["copy"] == 0
        bounds.add(histogram, docs["base"][first], docs["length"][first])
    return histogram


def _by_key(parts: Sequence[Path], valid_end: int) -> tuple[bounds.I64, bounds.I64, dict[str, int]]:
    """Return tokens of train and of valid by key, and what is withheld from both."""
    train, valid = bounds.empty_histogram(), bounds.empty_histogram()
    withheld = {"entries": 0, "tokens": 0}
    for part in parts:
        docs = load_docs(part)
        before, repeat = docs["base"] < np.uint64(valid_end), docs["copy"] > 0
        bounds.add(train, docs["key"][~before], docs["length"][~before])
        bounds.add(valid, docs["key"][before & ~repeat], docs["length"][before & ~repeat])
        withheld["entries"] += int((before & repeat).sum())
        withheld["tokens"] += int(docs["length"][before & repeat].sum())
    return train, valid, withheld


def default_shards(tokens: int) -> int:
    """Return how many train shards so many tokens make when nothing is asked for."""
    wanted = -(-tokens // _SHARD_TOKENS)
    return max(wanted, min(_SIDE_BY_SIDE, -(-tokens // _SIDE_BY_SIDE_TOKENS))) if tokens > _SMALL else wanted


def _shards(tokens: int, unit: SplitUnit) -> int:
    """Return how many train shards are wanted."""
    if unit.options.shards:
        return unit.options.shards
    if unit.options.shard_size:
        wide = any(np.load(part / "tokens.npy", mmap_mode="r").dtype.itemsize > 2 for part in unit.parts)
        row = row_bytes(columns_of(unit.pack.layout, unit.pack.seq, pack.DOCUMENTS_A_ROW))
        size = tokens * row // (unit.pack.seq + 1) // (1 if wide else 2)  # ids of a small vocabulary: half the bytes
        wanted = -(-size // unit.options.shard_size)
    else:
        wanted = default_shards(tokens)
    return max(1, min(wanted, _MOST_TRAIN, tokens // (unit.pack.seq + 1)))


def _notes(unit: SplitUnit, wanted: int, cuts: Mapping[str, Sequence[Bound]]) -> Iterator[str]:
    held = {name: sum(bound.tokens for bound in cut) for name, cut in cuts.items()}
    if len(cuts["train"]) < wanted:
        yield f"{len(cuts['train'])} shards instead of {wanted}: there are no more documents to go into them"
    if unit.options.valid and not held.get("valid"):
        yield "no valid split: it takes whole documents and a row at least, and would leave too little for train"
    share = held.get("valid", 0) / max(1, sum(held.values()))
    if share > 2 * unit.options.valid:
        yield (
            f"valid holds {share:.1%} of the tokens instead of {unit.options.valid:.1%}: "
            "it takes whole documents, and a row at least"
        )


def _schema(packing: pack.Options, tokens: int) -> Schema:
    """Return a schema that serves shards of ``tokens`` tokens: bestfit fills more than half of all rows."""
    rows = tokens // packing.seq + 1
    if packing.packing == "bestfit":
        rows = 2 * rows + (tokens // pack.DOCUMENTS_A_ROW if packing.layout == "mcore" else 0)
    return schema(packing.layout, packing.seq, pack.DOCUMENTS_A_ROW, rows)


def _row_seed(unit: ShardUnit) -> int:
    """Return a seed of its own for each shard of each split, and none that order.rows uses to undo it."""
    return _SALT ^ (unit.seed << 20) + (unit.number << 1) + (unit.split == "valid")


def _rows(unit: ShardUnit, plan: Plan, placed: Stretches, entries: Entries) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield the rows of a shard as columns, about 8 MB a batch."""
    batch = max(1, _BATCH_BYTES // row_bytes(unit.schema.columns))
    slab = -(-_SLAB_TOKENS // (batch * (plan.seq + 1))) * batch
    ends = plan.at + plan.length
    for first in range(0, plan.rows, slab):
        tokens = np.full((min(slab, plan.rows - first), plan.seq + 1), unit.pad, np.int32)
        gather(unit.parts, entries, placed, first, tokens)
        for start in range(0, len(tokens), batch):
            some = tokens[start : start + batch]
            low, high = np.searchsorted(plan.row, (first + start, first + start + len(some)))
            row = plan.row[low:high] - (first + start)
            yield columns(unit.pack.layout, some, row, ends[low:high], pack.DOCUMENTS_A_ROW)


def _write_provenance(placed: Stretches, entries: Entries, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from mrprep.builddir.tables import PROVENANCE

    found = {
        "row": placed.row,
        "at": placed.at,
        "doc": entries.doc[placed.entry],
        "copy": entries.copy[placed.entry],
        "token": placed.token,
        "length": placed.length,
    }
    arrays = [pa.array(found[field.name], field.type) for field in PROVENANCE]
    table = pa.Table.from_arrays(arrays, schema=PROVENANCE)
    pq.write_table(table, path, compression="zstd", compression_level=1, row_group_size=1 << 18)


def _counts(unit: ShardUnit, plan: Plan, entries: Entries) -> dict[str, Any]:
    documents = int(entries.document[-1]) + 1
    mcore = unit.pack.layout == "mcore"
    places = plan.at + plan.length
    return {
        "split": unit.split,
        "rows": plan.rows,
        "tokens": plan.tokens,
        "targets": plan.targets,
        "padding": plan.padding,
        "cuts": plan.cuts,
        "documents": documents,
        "bos": documents if unit.bos else 0,
        "eod": int(entries.ends.sum()),
        "merged_boundaries": merged_boundaries(plan.row, places, plan.seq, pack.DOCUMENTS_A_ROW) if mcore else 0,
        "much_padding": plan.padding > pack.PADDING_WARNING * plan.rows * (plan.seq + 1),
        "header": unit.schema.header,
        "page": unit.schema.page,
    }
