"""The entries of token parts that go into one shard, in its order, and their tokens, some rows at a time.

A part is a directory with ``docs.npy`` (TOKEN_ENTRY) and ``tokens.npy``. Files are mapped for the length of a
call, so neither open files nor resident pages grow with parts or shards. Both calls together take 0.2 ms a part.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.builddir.mapped import mapped
from mrprep.builddir.tables import TOKEN_ENTRY
from mrprep.runs import runs
from mrprep.sharding.plan import I64, Plan, expand

I32 = npt.NDArray[np.int32]

_LOT = 1 << 18
"""Tokens that are copied at a time, and a row more: 40 bytes each."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of a shard in order of (key, doc, copy); arrays of one length."""

    part: I64
    """Index of the part that holds its tokens."""
    start: I64
    """Where they begin in that part's ``tokens.npy``."""
    length: I64
    doc: I64
    copy: I32
    ends: npt.NDArray[np.bool_]
    document: I64
    """Counts the documents of the shard from 0; the pieces of one document share it."""

    def document_lengths(self) -> I64:
        """Return the tokens of each document, int64[documents]."""
        documents = int(self.document[-1]) + 1 if self.document.size else 0
        lengths = np.zeros(documents, np.int64)
        np.add.at(lengths, self.document, self.length)
        return lengths


@dataclass(frozen=True, slots=True)
class Stretches:
    """A plan's segments cut where an entry ends; in order of (row, at)."""

    row: I64
    at: I64
    entry: I64
    token: I64
    """Offset within the entry's tokens."""
    length: I64


def load_docs(part: Path) -> npt.NDArray[Any]:
    """Map a part's entries, TOKEN_ENTRY[n], sorted by (key, doc, copy)."""
    return mapped(part / "docs.npy")


def select(parts: Sequence[Path], first: int, last: int, valid_end: int, *, valid: bool) -> Entries:
    """Return the entries with keys from ``first`` to ``last`` that belong to a split.

    Valid holds the first copies of documents whose base key lies before ``valid_end``; train holds every
    copy of the others.
    """
    found = [_between(part, first, last) for part in parts]
    docs = np.frombuffer(b"".join(found), TOKEN_ENTRY)
    part = np.repeat(np.arange(len(parts)), [len(some) // TOKEN_ENTRY.itemsize for some in found])
    before = docs["base"] < np.uint64(valid_end)
    chosen = (docs["length"] > 0) & (before & (docs["copy"] == 0) if valid else ~before)
    docs, part = docs[chosen], part[chosen]
    order = np.argsort(docs["key"], kind="stable")  # parts are in order of doc
    docs, part = docs[order], part[order]
    opens = np.ones(len(docs), np.int64)
    opens[1:] = docs["ends"][:-1] | (docs["key"][1:] != docs["key"][:-1])
    return Entries(
        part=part,
        start=docs["start"].copy(),
        length=docs["length"].copy(),
        doc=docs["doc"].copy(),
        copy=docs["copy"].copy(),
        ends=docs["ends"].copy(),
        document=np.cumsum(opens) - 1,
    )


def _between(part: Path, first: int, last: int) -> bytes:
    """Return a part's entries with keys from ``first`` to ``last``."""
    docs = load_docs(part)
    keys = docs["key"]
    low = bisect_left(keys, np.uint64(first))  # looks at some pages of the file, where searchsorted reads it all
    return docs[low : bisect_right(keys, np.uint64(last), lo=low)].tobytes()


def stretches(plan: Plan, entries: Entries) -> Stretches:
    """Cut the segments of ``plan``, packed from ``entries.document_lengths()``, where an entry ends."""
    ends = np.cumsum(entries.length)
    begins = ends - entries.length
    begin = begins[np.searchsorted(entries.document, plan.document)] + plan.offset
    end = begin + plan.length
    first = np.searchsorted(begins, begin, side="right") - 1
    counts = np.searchsorted(begins, end, side="left") - first
    segment, step = expand(counts)
    entry = first[segment] + step
    left = np.maximum(begin[segment], begins[entry])
    right = np.minimum(end[segment], ends[entry])
    at = plan.at[segment] + left - begin[segment]
    return Stretches(plan.row[segment], at, entry, left - begins[entry], right - left)


def gather(parts: Sequence[Path], entries: Entries, found: Stretches, first: int, rows: I32) -> None:
    """Copy the tokens of the rows from ``first`` on into ``rows``, int32[rows, S+1]; 100 Mtok/s."""
    low, high = np.searchsorted(found.row, (first, first + len(rows)))
    entry = found.entry[low:high]
    part = entries.part[entry]
    order = np.argsort(part, kind="stable")
    used, begins = np.unique(part[order], return_index=True)
    length = found.length[low:high][order]
    source = (entries.start[entry] + found.token[low:high])[order]
    shift = ((found.row[low:high] - first) * rows.shape[1] + found.at[low:high])[order] - source
    flat = rows.reshape(-1)
    for index, begin, end in zip(used.tolist(), begins, [*begins[1:], len(order)], strict=True):
        tokens = mapped(parts[index] / "tokens.npy")
        lots = np.flatnonzero(np.diff(np.cumsum(length[begin:end]) // _LOT)) + 1 + begin
        for mine in map(slice, [begin, *lots], [*lots, end]):
            places = runs(source[mine], length[mine])
            flat[places + np.repeat(shift[mine], length[mine])] = tokens[places]
