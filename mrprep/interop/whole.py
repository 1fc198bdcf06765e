"""The documents of a shard whole again: which stretch of its rows goes where, by its provenance. No files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.errors import MrprepError

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Runs:
    """Stretches of tokens that stand together in a row and in the documents; arrays, ``source`` rising."""

    source: I64
    """Place in the rows, counted through them."""
    target: I64
    """Place in the documents, laid end to end."""
    length: I64


def runs_of(lines: Mapping[str, I64], width: int, *, in_order: bool) -> tuple[Runs, I64]:
    """Return the runs of a shard, and where each of its texts ends, int64[texts].

    A token at a cut, which stands in two rows, is taken once. Costs 200 B a line while it works.

    Args:
        lines: columns of its provenance table.
        width: places a row.
        in_order: texts follow each other as they stand in the rows (packing concat); else they are sorted by their
            ordinals, which keeps the pieces of a document together.

    Raises:
        MrprepError: the lines leave out a token of a text.
    """
    order, opens = _opened(lines, in_order=in_order)
    row, at, token, length = (lines[name][order] for name in ("row", "at", "token", "length"))
    covered = np.where(opens, 0, np.roll(token + length, 1))
    again = covered - token
    if ((again < 0) | (again > length)).any():
        raise MrprepError("tokens of a document are missing in its provenance")
    fresh = length - again
    end = np.cumsum(fresh)
    ends = end[np.append(opens[1:], True)] if len(end) else end
    return _joined(row, row * width + at + again, end - fresh, fresh), ends


def texts_of(lines: Mapping[str, I64], *, in_order: bool) -> tuple[I64, I64]:
    """Return ordinal and copy of each text that ``runs_of`` returns the end of, int64[texts] each."""
    order, opens = _opened(lines, in_order=in_order)
    return lines["doc"][order][opens], lines["copy"][order][opens]


def _opened(lines: Mapping[str, I64], *, in_order: bool) -> tuple[I64, npt.NDArray[np.bool_]]:
    """Return the lines text by text, and which of them open one."""
    order = np.arange(len(lines["doc"])) if in_order else np.lexsort((lines["token"], lines["doc"], lines["copy"]))
    doc, copy = lines["doc"][order], lines["copy"][order]
    opens = np.ones(len(doc), bool)
    opens[1:] = (doc[1:] != doc[:-1]) | (copy[1:] != copy[:-1])
    return order, opens


def _joined(row: I64, source: I64, target: I64, length: I64) -> Runs:
    """Join runs of one row that follow each other, and sort them by ``source``."""
    some = length > 0
    row, source, target, length = row[some], source[some], target[some], length[some]
    heads = np.ones(len(row), bool)
    heads[1:] = (source[1:] != source[:-1] + length[:-1]) | (row[1:] != row[:-1])
    first = np.flatnonzero(heads)
    joined = np.add.reduceat(length, first) if len(first) else length
    order = np.argsort(source[first], kind="stable")
    return Runs(source[first][order], target[first][order], joined[order])


def scatter(batches: Iterable[npt.NDArray[np.int32]], runs: Runs, target: npt.NDArray[Any]) -> None:
    """Copy the runs out of rows, int32[rows, width] a batch, to their places; about a microsecond a run.

    Raises:
        MrprepError: there are fewer rows than the runs need.
    """
    base = done = 0
    for batch in batches:
        flat = batch.reshape(-1)
        last = int(np.searchsorted(runs.source, base + len(flat)))
        some = slice(done, last)
        starts = (runs.source[some] - base).tolist()
        for start, place, length in zip(starts, runs.target[some].tolist(), runs.length[some].tolist(), strict=True):
            target[place : place + length] = flat[start : start + length]
        base, done = base + len(flat), last
    if done < len(runs.source):
        raise MrprepError("it has fewer rows than its provenance")
