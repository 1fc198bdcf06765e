"""What the trainer needs to know of a finished build, from its ``manifest.json``."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from mrprep.builddir.layout import MANIFEST
from mrprep.builddir.manifest import open_build
from mrprep.errors import MrprepError
from mrprep.printable import printable


@dataclass(frozen=True, slots=True)
class TrainingShards:
    """The train split of a build."""

    files: tuple[Path, ...]
    """MindRecord files, sorted: the rows are numbered through them in this order."""
    rows: int
    """Rows in all of them."""
    seq: int
    """Targets a row."""
    layout: str
    """``flat`` or ``mcore``."""
    vocab_size: int
    """Ids lie below it."""
    bos_id: int | None
    """Begin of a document, if the tokenizer has one."""
    eod_id: int
    """End of a document."""
    pad_id: int | None
    """Fills the last row; it is never a target."""
    manifest_sha256: str
    """Names the data in checkpoints."""


def read_shards(build: Path) -> TrainingShards:
    """Read the manifest of a build and see that its train shards are there.

    Raises:
        MrprepError: no build, one without train rows, or a shard or index that is missing.
    """
    opened = open_build(build)
    manifest = opened.manifest
    train, tokenizer = manifest["splits"]["train"], manifest["tokenizer"]
    files = tuple(sorted(opened.shards("train")))
    for file in files:
        _must_exist(file)
        _must_exist(file.with_name(file.name + ".db"))
    return TrainingShards(
        files=files,
        rows=train["rows"],
        seq=manifest["seq"],
        layout=manifest["layout"],
        vocab_size=tokenizer["vocab_size"],
        bos_id=_id(tokenizer.get("bos_id")),
        eod_id=tokenizer["eod_id"],
        pad_id=_id(tokenizer.get("pad_id")),
        manifest_sha256=hashlib.sha256((build / MANIFEST).read_bytes()).hexdigest(),
    )


def _must_exist(file: Path) -> None:
    if not file.is_file():
        raise MrprepError(f"{printable(str(file))} is missing: run mrprep verify, or build again")


def _id(value: int | None) -> int | None:
    return None if value is None or value < 0 else value
