"""Megatron's indexed datasets: ``SPLIT.bin``, the tokens of all documents, and ``SPLIT.idx``, where each begins.

The layout is that of Megatron-LM's ``indexed_dataset.py``: the index is ``MMIDIDX\\0\\0``, version 1 (uint64), code of
the dtype (uint8), sequences (uint64), documents + 1 (uint64); lengths, int32; places in bytes, int64; and the sequence
that each document begins with, int64. A document is one sequence here, its EOD counted; one that was cut by packing
is whole again, by the provenance of its shard.

A worker a shard writes to its own stretch of ``.bin``. Memory is 100 B a stretch of a document in a shard.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.builddir.manifest import Build, open_build
from mrprep.engine.executor import Pool
from mrprep.engine.progress import track
from mrprep.errors import MrprepError
from mrprep.interop.place import new_directory
from mrprep.interop.whole import runs_of, scatter
from mrprep.mindrecord.read import stored_batches
from mrprep.printable import printable
from mrprep.provenance.tables import table_of
from mrprep.training.rows import describe_damage
from mrprep.training.shards import TrainingShards, read_shards

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

MAGIC, CODES = b"MMIDIDX\x00\x00", {"uint16": 8, "int32": 4}
NARROW_VOCABULARY = 65_500
"""Below it Megatron itself takes uint16 (``DType.optimal_dtype``)."""


@dataclass(frozen=True, slots=True)
class ShardUnit:
    """What one worker writes."""

    build: Path
    split: str
    number: int
    """Of the shard."""
    tokens: Path
    """The ``.bin``, as long as it will be."""
    start: int
    """Its first token there."""
    lengths: Path
    """Where the lengths of its documents go, ``.npy``."""


def export_megatron(build: Build, out: Path, jobs: int) -> dict[str, tuple[int, int]]:
    """Write ``train.bin``, ``train.idx`` and, if there is a valid split, ``valid.bin`` and ``valid.idx``.

    Args:
        build: of shards.
        out: directory to make.
        jobs: worker processes; they decide no byte.

    Returns:
        Split -> (documents, tokens).

    Raises:
        MrprepError: something stands at ``out``, or a shard or its provenance is damaged.
    """
    found: dict[str, tuple[int, int]] = {}
    pool = Pool(jobs)
    try:
        with new_directory(out) as staged:
            for split in build.manifest["splits"]:
                found[split] = _export_split(build, split, staged, pool)
    finally:
        pool.close()
    return found


def _export_split(build: Build, split: str, staged: Path, pool: Pool) -> tuple[int, int]:
    shards = sorted(build.manifest["splits"][split]["shards"], key=lambda shard: str(shard["file"]))
    dtype = dtype_of(build.manifest["tokenizer"]["vocab_size"])
    file, sizes = staged / f"{split}.bin", [shard["tokens"] for shard in shards]
    with file.open("wb") as stream:
        stream.truncate(sum(sizes) * dtype.itemsize)
    units = [
        ShardUnit(build.path, split, number, file, start, staged / f"{split}-{number:05d}.npy")
        for number, start in enumerate(accumulate(sizes[:-1], initial=0))
    ]
    calls = [(export_shard, (unit,)) for unit in units]
    done = (index for index, _ in pool.run(calls, [shard["file"] for shard in shards]))
    for _ in track(done, sizes, f"megatron {split}", (), "tok"):
        pass
    lengths = np.concatenate([np.load(unit.lengths) for unit in units])
    for unit in units:
        unit.lengths.unlink()
    write_index(staged / f"{split}.idx", lengths, dtype)
    return len(lengths), sum(sizes)


def dtype_of(vocab_size: int) -> np.dtype[Any]:
    """Return the dtype that Megatron takes for a vocabulary."""
    return np.dtype(np.uint16 if vocab_size < NARROW_VOCABULARY else np.int32)


def write_index(file: Path, lengths: I64, dtype: np.dtype[Any]) -> None:
    """Write an index of documents of one sequence each."""
    places = np.cumsum(lengths) - lengths
    with file.open("wb") as stream:
        stream.write(MAGIC + struct.pack("<QBQQ", 1, CODES[dtype.name], len(lengths), len(lengths) + 1))
        for column in (lengths.astype("<i4"), places * dtype.itemsize, np.arange(len(lengths) + 1)):
            stream.write(np.ascontiguousarray(column).data)


def export_shard(unit: ShardUnit) -> None:
    """Write the documents of one shard into their stretch of ``.bin``, and their lengths.

    Raises:
        MrprepError: the shard does not hold what its provenance says, or an id beyond the vocabulary.
    """
    shards, build = read_shards(unit.build, unit.split), open_build(unit.build)
    shard, first = _shard(build, unit)
    lines = table_of(build.file(shard["provenance"]))
    columns = {name: lines[name].to_numpy().astype(np.int64) for name in lines.column_names}
    dtype = dtype_of(shards.vocab_size)
    try:
        runs, ends = runs_of(columns, shards.seq + 1, in_order=build.manifest["packing"] == "concat")
        if not len(ends) or ends[-1] != shard["tokens"]:
            raise MrprepError("it has other tokens than its provenance")  # noqa: TRY301
        target = np.memmap(unit.tokens, dtype, "r+", unit.start * dtype.itemsize, (int(ends[-1]),))
        scatter(_rows(shards, shards.files[unit.number], first), runs, target)
    except MrprepError as error:
        raise MrprepError(f"{printable(shard['file'])}: {error}") from None
    np.save(unit.lengths, np.diff(closed_at(target, ends, shards.eod_id), prepend=0))
    target.flush()


def _shard(build: Build, unit: ShardUnit) -> tuple[Mapping[str, Any], int]:
    """Return what the manifest says of the unit's shard, and the number of its first row in the split."""
    shards = sorted(build.manifest["splits"][unit.split]["shards"], key=lambda shard: str(shard["file"]))
    return shards[unit.number], sum(shard["rows"] for shard in shards[: unit.number])


def _rows(shards: TrainingShards, file: Path, first: int) -> Iterator[I32]:
    """Yield the ids of a shard, int32[rows, S+1] a batch; ``first`` is the number of its first row."""
    names = ["input_ids"] if shards.layout == "flat" else ["input_ids", "labels"]
    for batch in stored_batches(file, names):
        ids = batch["input_ids"]
        rows = ids if shards.layout == "flat" else np.concatenate([ids, batch["labels"][:, -1:]], axis=1)
        wrong = rows.view(np.uint32) >= shards.vocab_size
        if wrong.any():
            row = int(wrong.any(axis=1).argmax())
            raise MrprepError(describe_damage(shards, first + row, int(rows[row][wrong[row]][0])))
        first += len(rows)
        yield rows


def closed_at(tokens: npt.NDArray[Any], ends: I64, eod_id: int) -> I64:
    """Return where documents end: the texts' ends at an EOD, as a document of over 16 MB is several texts."""
    closed: I64 = ends[(np.asarray(tokens)[ends - 1] == eod_id) | (ends == len(tokens))]
    return closed
