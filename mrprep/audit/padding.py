"""How much of the rows is padding, by the manifest, and does padding hold the id for it?"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mrprep.audit.block import Block
from mrprep.audit.finding import Finding, Tally, grade


class Padding:
    """Padding of the train split.

    Args:
        manifest: of the build.
        limits: shares at which padding is a warning and a failure.
    """

    def __init__(self, manifest: Mapping[str, Any], limits: tuple[float, float]) -> None:
        train = manifest["splits"]["train"]
        self._padding = int(train["padding"])
        self._targets = int(train["rows"]) * int(manifest["seq"])
        tokenizer = manifest["tokenizer"]
        self._pad = tokenizer["eod_id"] if tokenizer["pad_id"] is None else tokenizer["pad_id"]
        self._limits = limits
        self._wrong, self._padded = Tally(), Tally()

    def see(self, block: Block) -> None:
        """Take in a block."""
        padding = ~block.text
        wrong = padding & (block.tokens != self._pad)
        self._wrong.add(int(wrong.sum()), int(padding.sum()), block.row_examples(np.flatnonzero(wrong.any(axis=1))))
        most = np.flatnonzero(padding.mean(axis=1) > 0.5)
        self._padded.add(most.size, block.rows.size, block.row_examples(most))

    def findings(self) -> Iterator[Finding]:
        """Yield two judgements."""
        share = self._padding / max(1, self._targets)
        yield self._padded.finding(
            "padding",
            grade(share, *self._limits),
            share,
            self._limits[0],
            f"{share:.2%} of the targets of train are padding",
            "that much of the training is for nothing: use --packing concat, or a shorter --seq",
        )
        yield self._wrong.finding(
            "padding-id",
            "failure" if self._wrong.hits else "ok",
            self._wrong.hits,
            1,
            f"{self._wrong.hits:,} of {self._wrong.total:,} padding places hold another id than {self._pad}",
            "rows and provenance do not belong together: run mrprep verify, and build again",
        )
