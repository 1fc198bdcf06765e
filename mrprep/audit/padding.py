"""How much of the rows is padding, and does padding hold the id for it?"""

from collections.abc import Iterator

import numpy as np

from mrprep.audit.block import Block
from mrprep.audit.finding import Finding, Tally, grade
from mrprep.builddir.manifest import Build


class Padding:
    """Padding of the train split: by the manifest, or by the sample where there is none.

    Args:
        build: what is judged; None for shards without a manifest.
        limits: shares at which padding is a warning and a failure.
    """

    def __init__(self, build: Build | None, limits: tuple[float, float]) -> None:
        self._build, self._limits = build, limits
        self._pad: int | None = None
        if build is not None:
            tokenizer = build.manifest["tokenizer"]
            self._pad = int(tokenizer["eod_id"] if tokenizer["pad_id"] is None else tokenizer["pad_id"])
        self._wrong, self._padded, self._places = Tally(), Tally(), Tally()

    def see(self, block: Block) -> None:
        """Take in a block."""
        there = block.there
        padding = ~block.text & there
        self._places.add(int(padding.sum()), int(there.sum()))
        wrong = padding & (block.tokens != self._pad)
        self._wrong.add(int(wrong.sum()), int(padding.sum()), block.row_examples(np.flatnonzero(wrong.any(axis=1))))
        most = np.flatnonzero(padding.sum(axis=1) > 0.5 * there.sum(axis=1))
        self._padded.add(most.size, block.rows.size, block.row_examples(most))

    def findings(self) -> Iterator[Finding]:
        """Yield two judgements, or one of shards without a manifest."""
        share = self._share()
        yield self._padded.finding(
            "padding",
            grade(share, *self._limits),
            share,
            self._limits[0],
            f"{share:.2%} of the targets of train are padding",
            "that much of the training is for nothing: use --packing concat, or a shorter --seq",
        )
        if self._pad is None:
            return
        yield self._wrong.finding(
            "padding-id",
            "failure" if self._wrong.hits else "ok",
            self._wrong.hits,
            1,
            f"{self._wrong.hits:,} of {self._wrong.total:,} padding places hold another id than {self._pad}",
            "rows and provenance do not belong together: run mrprep verify, and build again",
        )

    def _share(self) -> float:
        if self._build is None:
            return self._places.share
        train = self._build.manifest["splits"]["train"]
        return float(train["padding"] / max(1, train["rows"] * self._build.manifest["seq"]))
