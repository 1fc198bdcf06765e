"""Rows of shards without a manifest as blocks: EOD tells where documents end, and where they came from is unknown."""

from collections.abc import Iterator
from dataclasses import replace
from zlib import crc32

import numpy as np
import numpy.typing as npt

from mrprep.audit.block import BLOCK_TOKENS, I32, Block, Mask, Stretches
from mrprep.audit.decode import decoded, owners
from mrprep.audit.subject import Shard, Subject
from mrprep.errors import MrprepError
from mrprep.mindrecord.foreign import read_ragged
from mrprep.order import I64
from mrprep.printable import printable
from mrprep.tokenizers.protocol import Tokenizer

NOTHING = -1
"""Fills up rows that are shorter than others; ids that stand for no token are negative."""
_NEIGHBOURS = 16
"""Rows side by side that may begin within the same document, and are told apart from others only."""
_FILLED = 2
"""Equal fillers at a row's end that make padding."""


def foreign_blocks(subject: Subject, tokenizer: Tokenizer, split: str, shard: Shard, rows: I64) -> Iterator[Block]:
    """Yield some rows of a shard, in blocks of about 2 Mtok.

    Raises:
        MrprepError: the shard cannot be read, or its rows have not the length of the others.
    """
    if 0 < shard["width"] != subject.width:
        name = printable(str(shard["file"]))
        raise MrprepError(f"{name} has rows of {shard['width']} tokens, not of {subject.width}")
    step = max(1, BLOCK_TOKENS // max(1, subject.width))
    for some in (rows[start : start + step] for start in range(0, rows.size, step)):
        ragged = list(read_ragged(subject.file(shard), subject.column, some.tolist()))
        tokens = rectangle(ragged)
        traced = segments(tokens, padded(tokens, tokenizer), tokenizer.eod_id)
        own = np.int64(crc32(str(shard["file"]).encode()) >> 8) << 38
        row = some[traced.row]
        row = np.where(traced.at == 0, row - row % _NEIGHBOURS, row)
        unlike = -2 - own - row * tokens.shape[1] - traced.at
        yield Block(
            split=split,
            shard=str(shard["file"]),
            rows=some,
            tokens=tokens,
            stretches=replace(traced, doc=unlike),
            owner=owners(traced, tokens.shape),
            found={},
            sizes={},
            decoded=decoded(tokenizer, tokens, traced),
            lengths=np.array([held.size for held in ragged], np.int64),
        )


def rectangle(rows: list[npt.NDArray[np.int64]]) -> I32:
    """Return rows of any length as int32[n, longest]; what is missing, or too large for int32, is NOTHING."""
    width, most = max((row.size for row in rows), default=0), np.iinfo(np.int32).max
    out = np.full((len(rows), width), NOTHING, np.int32)
    for number, row in enumerate(rows):
        out[number, : row.size] = np.where((row >= -most) & (row <= most), row, most)
    return out


def padded(tokens: I32, tokenizer: Tokenizer) -> Mask:
    """Return what is padding, bool[n, S]: fillers at a row's end, two or more equal ones, and all that is NOTHING."""
    fillers = [NOTHING, 0, tokenizer.eod_id, *(token for token in (tokenizer.pad_id, tokenizer.bos_id) if token)]
    last = tokens[:, -1:]
    differs = tokens[:, ::-1] != last
    run = np.where(differs.any(axis=1), differs.argmax(axis=1), tokens.shape[1])
    run = np.where(np.isin(last[:, 0], fillers) & (run >= _FILLED), run, 0)
    run -= (run > 0) & (last[:, 0] == tokenizer.eod_id) & (run < tokens.shape[1])  # the first closes a document
    places = np.arange(tokens.shape[1])
    return np.asarray((places >= tokens.shape[1] - run[:, None]) | (tokens == NOTHING))


def segments(tokens: I32, padding: Mask, eod: int) -> Stretches:
    """Return the stretches between the EODs of each row, each a document of its own with the EOD that closes it.

    ``token`` and ``doc`` are 0: where a row begins within a document is not known.
    """
    if not tokens.size:
        return Stretches(*(np.zeros(0, np.int64) for _ in Stretches.__slots__))
    text = ~padding
    begins = text.copy()
    begins[:, 1:] = text[:, 1:] & (~text[:, :-1] | (tokens[:, :-1] == eod))
    row, at = np.nonzero(begins)
    ends = text.copy()
    ends[:, :-1] = text[:, :-1] & (~text[:, 1:] | (tokens[:, :-1] == eod))
    length = np.nonzero(ends)[1] - at + 1
    zeros = np.zeros(row.size, np.int64)
    return Stretches(row, at, zeros, zeros, zeros, length)
