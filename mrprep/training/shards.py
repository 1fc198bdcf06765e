"""What the trainer needs to know of a split of a finished build, from its ``manifest.json``."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mrprep.builddir.layout import MANIFEST
from mrprep.builddir.manifest import Build, open_build
from mrprep.errors import BugError, MrprepError, NoRowError
from mrprep.printable import printable
from mrprep.training.intact import check_sizes


@dataclass(frozen=True, slots=True)
class TrainingShards:
    """A split of a build."""

    build: Path
    """Directory of the build."""
    split: str
    """Name of the split."""
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
    tokenizer_sha256: str | None
    """Of the tokenizer's model."""
    bos_id: int | None
    """Begin of a document, if the tokenizer has one."""
    eod_id: int
    """End of a document."""
    pad_id: int | None
    """Fills the last row; it is never a target."""
    manifest_sha256: str
    """Names the data in checkpoints."""
    bytes_per_token: float | None
    """Of the text of the whole build; None when its manifest does not count."""


def read_shards(build: Path, name: str = "train") -> TrainingShards:
    """Read the manifest of a build and see that the shards of a split are there; it may have no rows.

    Raises:
        MrprepError: no build, no such split, or a shard or index that is missing or cut.
    """
    opened = open_build(build)
    manifest = opened.manifest
    if name not in manifest["splits"]:
        raise MrprepError(f"{printable(str(build))} has no {name} split: build with --valid 0.01, say")
    split, tokenizer = manifest["splits"][name], manifest["tokenizer"]
    files = tuple(sorted(opened.shards(name)))
    check_sizes(opened, name)
    return TrainingShards(
        build=build,
        split=name,
        files=files,
        rows=split["rows"],
        seq=manifest["seq"],
        layout=manifest["layout"],
        vocab_size=tokenizer["vocab_size"],
        tokenizer_sha256=tokenizer.get("sha256"),
        bos_id=_id(tokenizer.get("bos_id")),
        eod_id=tokenizer["eod_id"],
        pad_id=_id(tokenizer.get("pad_id")),
        manifest_sha256=hashlib.sha256((build / MANIFEST).read_bytes()).hexdigest(),
        bytes_per_token=_bytes_per_token(manifest),
    )


def has_split(build: Path, name: str) -> bool:
    """Return whether a build has rows in a split."""
    splits: Mapping[str, Mapping[str, int]] = open_build(build).manifest["splits"]
    return name in splits and splits[name]["rows"] > 0


def place(build: Build, split: str, row: int) -> tuple[Mapping[str, Any], int]:
    """Return the shard of a row of a split, as the manifest has it, and the row's number there.

    Raises:
        NoRowError: there is no such row.
    """
    rows = build.manifest["splits"][split]["rows"]
    if not 0 <= row < rows:
        raise NoRowError(f"row {row} of {split} asked for, there are {rows}, counted from 0: name one of them")
    for shard in sorted(build.manifest["splits"][split]["shards"], key=lambda shard: str(shard["file"])):
        if row < shard["rows"]:
            return shard, row
        row -= shard["rows"]
    raise BugError(f"{split} has {rows} rows by its manifest, its shards have fewer")


def _bytes_per_token(manifest: Mapping[str, Any]) -> float | None:
    tokens = manifest.get("counts", {}).get("tokens", {})
    return tokens["bytes"] / tokens["tokens"] if tokens.get("tokens") else None


def _id(value: int | None) -> int | None:
    return None if value is None or value < 0 else value
