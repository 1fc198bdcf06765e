"""A shard without some documents: the tokens of the others, packed anew in the order in which they stood."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mrprep.builddir.mapped import let_go
from mrprep.builddir.tables import TOKEN_ENTRY
from mrprep.errors import MrprepError
from mrprep.interop.whole import runs_of, scatter, texts_of
from mrprep.mindrecord.read import stored_batches
from mrprep.mindrecord.schema import Schema, columns_of
from mrprep.order import I64
from mrprep.printable import printable
from mrprep.provenance.tables import table_of
from mrprep.sharding.bounds import KEYS, Bound
from mrprep.stages import pack
from mrprep.stages.shard import ShardUnit, shard_unit

I32 = npt.NDArray[np.int32]
_HELD_TOKENS = 4 << 20


@dataclass(frozen=True, slots=True)
class RepackUnit:
    """A shard to be written again."""

    file: Path
    provenance: Path
    split: Literal["train", "valid"]
    number: int
    """Of the shard that takes its place."""
    tokens: int
    """That it holds."""
    rows: I64
    """Ordinals of the rows of text/ that go, rising."""
    pack: pack.Options
    header: int
    page: int
    eod: int
    pad: int
    bos: bool
    seed: int


def repack_unit(unit: RepackUnit, out: Path) -> None:
    """Write what `stages.shard.shard_unit` writes, or nothing where no document stays, and ``removed.npy``.

    ``removed.npy`` holds doc, tokens and whether an EOD closes it of each entry that goes, int64[n, 3].

    Raises:
        MrprepError: the shard does not hold what its provenance says.
    """
    lines = table_of(unit.provenance)
    columns = {name: lines[name].to_numpy().astype(np.int64) for name in lines.column_names}
    in_order = unit.pack.packing == "concat"
    doc, copy = texts_of(columns, in_order=in_order)
    runs, ends = runs_of(columns, unit.pack.seq + 1, in_order=in_order)
    if not ends.size or ends[-1] != unit.tokens:
        raise MrprepError(f"{printable(str(unit.file))} has other tokens than its provenance: run mrprep verify")
    part = out / "part"
    part.mkdir()
    shape = (unit.tokens,)
    tokens = np.lib.format.open_memmap(part / "tokens.npy", "w+", np.int32, shape)  # type: ignore[no-untyped-call]
    scatter(_rows(unit, tokens), runs, tokens)
    tokens.flush()
    let_go(tokens)
    entries = _entries(unit, tokens, ends, {"doc": doc, "copy": copy})
    gone = np.isin(entries["doc"], unit.rows)
    removed = [entries[name][gone].astype(np.int64) for name in ("doc", "length", "ends")]
    np.save(out / "removed.npy", np.stack(removed, axis=1))
    np.save(part / "docs.npy", entries[~gone])
    if not gone.all():
        shard_unit(_shard(unit, part, int(entries["length"][~gone].sum())), out)
    shutil.rmtree(part)


def _rows(unit: RepackUnit, tokens: I32) -> Iterator[I32]:
    """Yield the tokens of the rows, int32[rows, S+1] a batch; what was written of ``tokens`` is not held meanwhile."""
    names = ["input_ids"] if unit.pack.layout == "flat" else ["input_ids", "labels"]
    taken = 0
    for batch in stored_batches(unit.file, names):
        ids = batch["input_ids"]
        yield ids if len(names) == 1 else np.concatenate([ids, batch["labels"][:, -1:]], axis=1)
        taken += ids.size
        if taken > _HELD_TOKENS:
            let_go(tokens)
            taken = 0


def _entries(unit: RepackUnit, tokens: I32, ends: I64, of: Mapping[str, I64]) -> npt.NDArray[Any]:
    """Return the texts of a shard as TOKEN_ENTRY, keys in their order; the pieces of a document share one."""
    entries = np.zeros(ends.size, TOKEN_ENTRY)
    entries["doc"], entries["copy"] = of["doc"], of["copy"]
    entries["start"] = np.concatenate([[0], ends[:-1]])
    entries["length"] = ends - entries["start"]
    entries["ends"] = tokens[ends - 1] == unit.eod
    entries["key"][1:] = np.cumsum(entries["ends"][:-1])
    entries["base"] = unit.split == "train"  # before valid_end, 1 in a shard of valid, else not
    return entries


def _shard(unit: RepackUnit, part: Path, tokens: int) -> ShardUnit:
    columns = columns_of(unit.pack.layout, unit.pack.seq, pack.DOCUMENTS_A_ROW)
    return ShardUnit(
        split=unit.split,
        number=unit.number,
        bound=Bound(0, KEYS - 1, tokens),
        valid_end=int(unit.split == "valid"),
        parts=(part,),
        pack=unit.pack,
        schema=Schema(columns, unit.header, unit.page),
        pad=unit.pad,
        bos=unit.bos,
        seed=unit.seed,
    )
