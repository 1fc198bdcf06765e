"""The shape of a manifest: types, ranges, and that it names no file that it does not list."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Count = Annotated[int, Field(ge=0, strict=True)]


class _Shape(BaseModel):
    """Further keys are let through: a later version may write more."""

    model_config = ConfigDict(extra="allow")


class _File(_Shape):
    bytes: Count
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Part(_Shape):
    file: str
    base: Count
    rows: Count


class _Text(_Shape):
    parts: list[_Part]
    dropped: list[str]


class _Shard(_Shape):
    file: str
    provenance: str
    rows: Count
    tokens: Count
    padding: Count


class _Split(_Shape):
    shards: Annotated[list[_Shard], Field(min_length=1)]
    rows: Count
    tokens: Count
    padding: Count


class _Tokenizer(_Shape):
    file: str
    vocab_size: Annotated[int, Field(gt=0, strict=True)]
    eod_id: Count
    pad_id: Count | None


class _Documents(_Shape):
    """What a manifest says of any build."""

    version: str
    seed: Count
    pipeline: dict[str, Any]
    text: _Text
    splits: dict[Literal["train", "valid"], _Split]
    inputs: dict[str, Any]
    ledger: dict[str, Any]
    counts: dict[str, Any]
    notes: list[str]
    files: dict[str, _File]
    renamed: dict[str, str] = {}


class _Rows(_Documents):
    """What a manifest says of a build of rows."""

    seq: Annotated[int, Field(gt=0, strict=True)]
    layout: Literal["flat", "mcore"]
    packing: Literal["concat", "bestfit"]
    tokenizer: _Tokenizer


def faults(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield a clause for each thing in a manifest that cannot be."""
    kind = _Documents if "documents" in manifest else _Rows
    try:
        shape = kind.model_validate(manifest)
    except ValidationError as error:
        yield from (f"{'.'.join(map(str, item['loc']))}: {item['msg'].lower()}" for item in error.errors())
        return
    yield from (f"{name!r} is no plain relative name" for name in shape.files if not _is_plain(name))
    yield from (f"{name!r} is named but not listed in files" for name in _named(shape) if name not in shape.files)
    if isinstance(shape, _Rows):
        if "train" not in shape.splits:
            yield "splits: there is no train"
        if shape.tokenizer.eod_id >= shape.tokenizer.vocab_size:
            yield "tokenizer: eod_id lies outside of the vocabulary"


def _is_plain(name: str) -> bool:
    pure = PurePosixPath(name)
    return not pure.is_absolute() and ".." not in pure.parts and str(pure) == name and "\0" not in name


def _named(shape: _Documents) -> Iterator[str]:
    yield from (part.file for part in shape.text.parts)
    yield from shape.text.dropped
    yield from shape.renamed.values()
    for split in shape.splits.values():
        for shard in split.shards:
            yield from (shard.file, f"{shard.file}.db", shard.provenance)
    if isinstance(shape, _Rows):
        yield shape.tokenizer.file
