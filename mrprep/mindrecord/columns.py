"""Rows of tokens into the columns of a layout. About 200 Mtok/s (flat: nothing to do)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.mindrecord.schema import Layout

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


def columns(layout: Layout, tokens: I32, row: I64, end: I64, documents: int) -> dict[str, npt.NDArray[Any]]:
    """Return name -> array [rows, places] for rows of tokens.

    Layout mcore is the view that mindformers' GPTModel reads: inputs and targets shifted by one,
    ``loss_mask`` 0 where the target is padding, and ``actual_seq_len`` with the ends of documents before
    place S, filled up with S; the last is always S. Padding after the last document is a segment of its own
    while there is a place for it. ``position_ids`` count from 0 in each of those segments.

    Args:
        layout: flat or mcore.
        tokens: rows with padding in place, int32[rows, S+1].
        row: which row each segment is in, rising.
        end: where it ends there, rising within a row; every row has a segment.
        documents: places of ``actual_seq_len`` (K).
    """
    if layout == "flat":
        return {"input_ids": tokens}
    seq = tokens.shape[1] - 1
    used = np.zeros(len(tokens), np.int64)
    used[row] = end  # the last of a row stays
    places = np.arange(seq)
    kept = kept_boundaries(row, end, seq, documents)
    row, end, rank = row[kept], end[kept], _rank(row)[kept]
    starts = np.zeros((len(tokens), seq), np.int32)
    starts[row, end] = end
    ends = np.full((len(tokens), documents), seq, np.int32)
    ends[row, rank] = end
    return {
        "input_ids": tokens[:, :-1],
        "labels": tokens[:, 1:],
        "loss_mask": (places + 1 < used[:, None]).astype(np.int32),
        "position_ids": places.astype(np.int32) - np.maximum.accumulate(starts, axis=1),
        "actual_seq_len": ends,
    }


def kept_boundaries(row: I64, end: I64, seq: int, documents: int) -> npt.NDArray[np.bool_]:
    """Return which segment ends are told apart: those before place S, the first K-1 of each row."""
    kept: npt.NDArray[np.bool_] = (end < seq) & (_rank(row) < documents - 1)
    return kept


def merged_boundaries(row: I64, end: I64, seq: int, documents: int) -> int:
    """Return how many boundaries between two documents are lost, because a row has more than K of them."""
    followed = np.zeros(len(row), bool)
    followed[:-1] = row[1:] == row[:-1]
    return int((followed & (end < seq) & ~kept_boundaries(row, end, seq, documents)).sum())


def _rank(row: I64) -> I64:
    """Return each segment's number within its row."""
    return np.arange(len(row)) - np.searchsorted(row, row)
