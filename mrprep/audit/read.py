"""Rows of a shard as blocks, traced and decoded."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from mrprep.audit.block import BLOCK_TOKENS, I32, Block, Stretches
from mrprep.audit.decode import decoded, owners
from mrprep.audit.foreign import foreign_blocks
from mrprep.audit.subject import Shard, Subject
from mrprep.audit.trace import Origins, origins, stretches
from mrprep.builddir.manifest import Build
from mrprep.errors import MrprepError
from mrprep.mindrecord.read import count_rows, stored_batches
from mrprep.order import I64
from mrprep.printable import printable
from mrprep.tokenizers.protocol import Tokenizer


def looked_up(subject: Subject, wanted: Iterable[tuple[Shard, I64]]) -> Origins | None:
    """Return where the documents in some rows of several shards came from, each row group of text read once for all.

    Nothing of what has no build, or is damaged: that is told shard by shard.
    """
    build = subject.build
    if build is None:
        return None
    try:
        docs = [stretches(build, shard, rows).doc for shard, rows in wanted]
        return origins(build, np.concatenate(docs))
    except MrprepError:
        return None


def blocks(
    subject: Subject, tokenizer: Tokenizer, split: str, shard: Shard, rows: I64, known: Origins | None = None
) -> Iterator[Block]:
    """Yield rows of a shard.

    Args:
        subject: the build, or shards without a manifest.
        tokenizer: decodes the rows.
        split: the shard's split.
        shard: its entry there.
        rows: their numbers, rising.
        known: where their documents came from; looked up if None.

    Raises:
        MrprepError: the shard or a table is damaged, or its rows are not what the manifest says.
    """
    if subject.build is None:
        yield from foreign_blocks(subject, tokenizer, split, shard, rows)
        return
    build = subject.build
    _check_count(build, shard)
    width = int(build.manifest["seq"]) + 1
    step = max(1, BLOCK_TOKENS // width)
    for start in range(0, rows.size, step):
        some = rows[start : start + step]
        tokens = _tokens(build, shard, some)
        traced = stretches(build, shard, some)
        _check_places(shard, traced, width)
        own = known.of(traced.doc) if known is not None else origins(build, traced.doc)
        yield Block(
            split=split,
            shard=shard["file"],
            rows=some,
            tokens=tokens,
            stretches=traced,
            owner=owners(traced, tokens.shape),
            found=own.found,
            sizes=own.sizes,
            texts=own.texts,
            decoded=decoded(tokenizer, tokens, traced),
        )


def _check_count(build: Build, shard: Mapping[str, Any]) -> None:
    file = build.file(shard["file"])
    if not file.is_file():
        raise MrprepError(f"{printable(shard['file'])} is missing")
    if file.stat().st_size != build.files[shard["file"]]["bytes"]:
        raise MrprepError(f"{printable(shard['file'])} has not the size that the manifest says")
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
    file = build.file(shard["file"])
    batches = list(stored_batches(file, names, rows))
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
