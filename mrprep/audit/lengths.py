"""How long documents are, how many stand in a row, and which of them a row's end cuts.

A document is looked at where it begins: beginnings are spread over rows evenly, so that long documents weigh no more
than short ones.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from mrprep.audit.block import Block
from mrprep.audit.figures import Histogram
from mrprep.audit.finding import Finding, Tally
from mrprep.order import I64

_SHORT = 64
"""Bytes of a text under which it is short: 20 Han characters, a dozen words."""
_EDGES = 16
"""Powers of two that a histogram of bytes goes up to, from 16."""
_MOST = 1 << 20
"""Documents whose lengths are kept."""


class Lengths:
    """Lengths of documents and cuts, from where documents begin in rows.

    Args:
        eod: id that closes a document.
        short: share of short documents from which on it is a note.
        cut: share of documents cut though they fit into a row from which on it is a note.
    """

    def __init__(self, eod: int, short: float, cut: float) -> None:
        self._eod, self._limits = eod, (short, cut)
        self._bytes: list[int] = []
        self._short, self._cut, self._avoidable = Tally(), Tally(), Tally()
        self._row_documents = np.zeros(0, np.int64)
        self._tokens = self._text_bytes = 0

    def see(self, block: Block) -> None:
        """Take in a block."""
        here = block.stretches
        counts = np.bincount(np.bincount(here.row, minlength=block.rows.size))
        held = self._row_documents
        size = max(held.size, counts.size)
        self._row_documents = np.pad(held, (0, size - held.size)) + np.pad(counts, (0, size - counts.size))
        self._see_beginnings(block)

    def _see_beginnings(self, block: Block) -> None:
        here, width = block.stretches, block.tokens.shape[1]
        begins = [s for s in np.flatnonzero(here.token == 0).tolist() if self._opens(block, s)]
        sizes = np.array([block.sizes[int(here.doc[s])] for s in begins], np.int64)
        last = np.array([block.tokens[here.row[s], here.at[s] + here.length[s] - 1] for s in begins], np.int64)
        at_end = np.array([here.at[s] + here.length[s] == width for s in begins], bool)
        cut = at_end & (last != self._eod)
        whole = ~cut
        self._tokens += int(here.length[begins][whole].sum()) if begins else 0
        self._text_bytes += int(sizes[whole].sum())
        fits = cut & (sizes <= width * self._text_bytes / max(1, self._tokens))
        self._count(self._short, block, begins, sizes < _SHORT)
        self._count(self._cut, block, begins, cut)
        self._count(self._avoidable, block, begins, fits)
        self._bytes += sizes.tolist()[: _MOST - len(self._bytes)]

    def _opens(self, block: Block, stretch: int) -> bool:
        doc = int(block.stretches.doc[stretch])
        return doc in block.found and block.found[doc].piece == 0

    def _count(
        self, tally: Tally, block: Block, begins: Sequence[int], bad: np.ndarray[tuple[int], np.dtype[np.bool_]]
    ) -> None:
        hits = [begins[i] for i in np.flatnonzero(bad).tolist()]
        tally.add(len(hits), len(begins), (block.example(stretch) for stretch in hits))

    @property
    def document_bytes(self) -> Histogram | None:
        """Documents by the bytes of their texts; None where they are not known."""
        if not self._bytes:
            return None
        counts, edges = np.histogram(self._bytes, bins=[0, *(2.0**k for k in range(4, 4 + _EDGES)), 2.0**40])
        return _trimmed(np.array(edges), counts)

    @property
    def row_documents(self) -> Histogram | None:
        """Rows by the documents in them."""
        held = self._row_documents
        if not held.size:
            return None
        edges = 2.0 ** np.arange(24)
        counts = np.histogram(np.arange(held.size), bins=edges, weights=held)[0].astype(np.int64)
        return _trimmed(edges, counts)

    def findings(self) -> Iterator[Finding]:
        """Yield two judgements; none of shards without a manifest."""
        if not self._bytes:
            return
        p5, median, p95 = (int(x) for x in np.quantile(self._bytes, (0.05, 0.5, 0.95)))
        yield _noted(
            self._short,
            "document-lengths",
            self._limits[0],
            f"documents have {median:,} bytes in the median, 9 of 10 from {p5:,} to {p95:,}, "
            f"{max(self._bytes):,} at most; {self._short.share:.1%} under {_SHORT}",
            "lines may have been taken for documents: see documents = in the source, or join them",
        )
        yield _noted(
            self._avoidable,
            "cut-documents",
            self._limits[1],
            f"{self._cut.share:.1%} of {self._cut.total:,} documents go on in the next row, "
            f"{self._avoidable.share:.1%} though they would fit into one",
            "--packing bestfit keeps documents whole that fit into a row, at the price of a little padding",
        )


def _noted(tally: Tally, check: str, limit: float, message: str, advice: str) -> Finding:
    return tally.finding(check, "note" if tally.share >= limit else "ok", tally.share, limit, message, advice)


def _trimmed(edges: np.ndarray[tuple[int], np.dtype[np.float64]], counts: I64) -> Histogram:
    """Leave out what is empty at both ends."""
    filled = np.flatnonzero(counts)
    low, high = (int(filled[0]), int(filled[-1]) + 1) if filled.size else (0, 1)
    return Histogram(edges[low : high + 1].tolist(), counts[low:high].tolist())
