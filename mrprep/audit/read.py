"""Rows of a shard as blocks, traced and decoded. A block holds about 2 Mtok, some 40 MB."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mrprep.audit.block import I32, Block, Stretches
from mrprep.audit.trace import places, stretches
from mrprep.builddir.manifest import Build
from mrprep.errors import MrprepError
from mrprep.mindrecord.read import count_rows, read_batches
from mrprep.order import I64
from mrprep.printable import printable
from mrprep.tokenizers.protocol import Tokenizer

_BLOCK_TOKENS = 2 << 20


def blocks(build: Build, tokenizer: Tokenizer, split: str, shard: Mapping[str, Any], rows: I64) -> Iterator[Block]:
    """Yield rows of a shard.

    Args:
        build: the build.
        tokenizer: decodes the rows.
        split: the shard's split.
        shard: its entry in the manifest.
        rows: their numbers, rising.

    Raises:
        MrprepError: the shard or a table is damaged, or its rows are not what the manifest says.
    """
    _check_count(build, shard)
    width = int(build.manifest["seq"]) + 1
    step = max(1, _BLOCK_TOKENS // width)
    for start in range(0, rows.size, step):
        some = rows[start : start + step]
        tokens = _tokens(build, shard, some)
        traced = stretches(build, shard, some)
        _check_places(shard, traced, width)
        yield Block(
            split=split,
            shard=shard["file"],
            rows=some,
            tokens=tokens,
            stretches=traced,
            owner=_owner(traced, tokens.shape),
            found=places(build, traced.doc),
            decoded=_decoded(tokenizer, tokens, traced),
        )


def _check_count(build: Build, shard: Mapping[str, Any]) -> None:
    file = build.file(shard["file"])
    if not file.is_file():
        raise MrprepError(f"{printable(shard['file'])} is missing")
    rows = count_rows(file)
    if rows != shard["rows"]:
        raise MrprepError(f"{printable(shard['file'])} has {rows} rows, the manifest says {shard['rows']}")


def _check_places(shard: Mapping[str, Any], traced: Stretches, width: int) -> None:
    if traced.at.size and (int(traced.at.min()) < 0 or int((traced.at + traced.length).max()) > width):
        raise MrprepError(f"{printable(shard['provenance'])} names places outside of rows of {width} tokens")


def _tokens(build: Build, shard: Mapping[str, Any], rows: I64) -> I32:
    """Return rows as int32[n, S+1]; in layout mcore the last label closes the row."""
    mcore = build.manifest["layout"] == "mcore"
    names = ["input_ids", "labels"] if mcore else ["input_ids"]
    batches = list(read_batches([build.file(shard["file"])], names, rows.tolist()))
    columns = {name: np.concatenate([batch[name] for batch in batches]) for name in names}
    tokens = columns["input_ids"]
    if mcore:
        if not np.array_equal(tokens[:, 1:], columns["labels"][:, :-1]):
            raise MrprepError(f"{printable(shard['file'])} has labels that are not its input_ids shifted by one")
        tokens = np.concatenate([tokens, columns["labels"][:, -1:]], axis=1)
    wanted = int(build.manifest["seq"]) + 1
    if tokens.shape[1] != wanted:
        raise MrprepError(f"{printable(shard['file'])} has rows of {tokens.shape[1]} tokens, not of {wanted}")
    return tokens


def _owner(traced: Stretches, shape: tuple[int, ...]) -> I32:
    owner = np.full(shape, -1, np.int32)
    number = np.arange(traced.row.size)
    first = np.cumsum(traced.length) - traced.length
    places = np.arange(int(traced.length.sum())) - np.repeat(first - traced.at - traced.row * shape[1], traced.length)
    owner.reshape(-1)[places] = np.repeat(number, traced.length)
    return owner


def _decoded(tokenizer: Tokenizer, tokens: I32, traced: Stretches) -> tuple[str, ...]:
    """Return the text of each stretch; ids outside of the vocabulary stand for nothing."""
    known = (tokens >= 0) & (tokens < tokenizer.vocab_size)
    ends = traced.at + traced.length
    return tuple(
        tokenizer.decode(tokens[row, at:end][known[row, at:end]].tolist())
        for row, at, end in zip(traced.row.tolist(), traced.at.tolist(), ends.tolist(), strict=True)
    )
