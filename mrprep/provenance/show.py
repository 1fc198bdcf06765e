"""A row of a shard: its text, its documents, and the input lines they came from."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from mrprep.builddir.manifest import Build
from mrprep.errors import MrprepError
from mrprep.mindrecord.read import read_row
from mrprep.printable import printable
from mrprep.provenance import tables

_TEXT_SHOWN = 600


def show_row(build: Build, name: str) -> str:
    """Return a row decoded, and a line for each document in it.

    Args:
        build: a finished build.
        name: ``SHARD:ROW``; the shard by its file, with or without folder and ending.

    Raises:
        MrprepError: there is no such shard or row.
    """
    shard, row = _find(build, name)
    ids = read_row(build.file(shard["file"]), row, ["input_ids"])["input_ids"]
    return "\n".join([f"{shard['file']}:{row}  {len(ids)} tokens", *_stretches(build, shard, row, ids)])


def _find(build: Build, name: str) -> tuple[dict[str, Any], int]:
    match = re.fullmatch(r"(.+):(\d+)", name)
    if not match:
        raise MrprepError(f"{printable(name)!r} names no row: write SHARD:ROW, such as train-00000:17")
    stem = PurePosixPath(match[1]).name.removesuffix(".mindrecord")
    shards = [shard for split in build.manifest["splits"].values() for shard in split["shards"]]
    for shard in shards:
        if PurePosixPath(shard["file"]).stem == stem:
            row = int(match[2])
            if row < shard["rows"]:
                return shard, row
            raise MrprepError(f"{shard['file']} has rows 0 to {shard['rows'] - 1}: name one of them")
    there = _ranges([shard["file"] for shard in shards])
    raise MrprepError(f"there is no shard {printable(stem)!r}, only {', '.join(there)}: name one of them")


def _ranges(files: Sequence[str]) -> list[str]:
    """Return names of shards in order, those with numbers that follow each other as one range."""
    runs: list[list[str]] = []
    for file in sorted(files):
        folder, number = _numbered(file)
        if runs and _numbered(runs[-1][-1]) == (folder, number - 1):
            runs[-1].append(file)
        else:
            runs.append([file])
    return [run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]


def _numbered(file: str) -> tuple[str, int]:
    """Return what comes before the number of a shard, and the number."""
    stem, _, number = file.removesuffix(".mindrecord").rpartition("-")
    return stem, int(number)


def _stretches(build: Build, shard: dict[str, Any], row: int, ids: Any) -> Iterator[str]:
    tokenizer = _tokenizer(build)
    end = 0
    for stretch in tables.stretches_of_row(build, shard, row):
        found, _, _ = tables.by_ordinal(build, stretch["doc"])
        at, end = stretch["at"], stretch["at"] + stretch["length"]
        where = f"{found.id:016x}  {printable(found.source)}  {found.place}, from its token {stretch['token']}"
        yield f"\n[{at}-{end - 1}] {where}"
        yield printable(tokenizer.decode(ids[at:end]), _TEXT_SHOWN)
    if end < len(ids):
        yield f"\n[{end}-{len(ids) - 1}] padding"


def _tokenizer(build: Build) -> Any:
    from mrprep.tokenizers.of_build import tokenizer_of

    return tokenizer_of(build)
