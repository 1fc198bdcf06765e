"""Do documents hold stretches of evaluation files? The rule of `mrprep.evaluation.runs`: 13 words in a row.

Of a build, the documents themselves are looked through, 50 MB/s a core, up to a budget; of shards without a manifest
the sampled rows are.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mrprep.audit.block import Block, Example
from mrprep.audit.finding import Finding, Tally, grade
from mrprep.audit.ngrams import ngrams
from mrprep.evaluation.ngrams import load_known, write_ngrams
from mrprep.evaluation.runs import runs
from mrprep.printable import printable

_NGRAM = 13


class Contamination:
    """Texts that hold stretches of evaluation files.

    Args:
        files: the evaluation files, .jsonl or text.
        limits: shares of texts at which they are a warning and a failure.

    Raises:
        MrprepError: a file cannot be read.
    """

    def __init__(self, files: Sequence[Path], limits: tuple[float, float]) -> None:
        self._limits = limits
        with TemporaryDirectory(prefix="mrprep-eval-") as folder:
            write_ngrams(files, _NGRAM, None, Path(folder))
            self._known = load_known(Path(folder))
        self._texts = Tally()
        self._items: dict[str, int] = {}
        self.looked = 1.0
        """Share of the texts that were looked through."""

    def see(self, block: Block) -> None:
        """Take in a block of rows."""
        self.add(block.decoded, block.example)

    def add(self, texts: Sequence[str], example: Callable[[int, str], Example]) -> None:
        """Take in texts; ``example`` makes an example of one by its number and what to show."""
        shown = []
        hits = 0
        for number in self._suspects(texts):
            found = runs(texts[number], self._known, _NGRAM)
            hits += bool(found)
            for run in found:
                self._items[run.place] = self._items.get(run.place, 0) + 1
            shown += [example(number, f"{run.place} <> {texts[number][run.start : run.end]}") for run in found[:1]]
        self._texts.add(hits, len(texts), shown)

    def _suspects(self, texts: Sequence[str]) -> list[int]:
        if not self._known.ngrams.hashes.size:
            return []
        hashes, counts = ngrams(texts, _NGRAM)
        owners = np.repeat(np.arange(len(texts)), counts)
        return [int(number) for number in np.unique(owners[self._known.ngrams.among(hashes)])]

    def findings(self) -> Iterator[Finding]:
        """Yield the judgement."""
        found = self._texts
        most = sorted(self._items, key=lambda place: -self._items[place])[:3]
        said = f", most of {', '.join(printable(place) for place in most)}" if most else ""
        part = "" if self.looked >= 1 else f" ({self.looked:.1%} of the text was looked through)"
        yield found.finding(
            "contamination",
            grade(found.share, *self._limits),
            found.share,
            self._limits[0],
            f"{found.hits:,} of {found.total:,} texts hold stretches of {len(self._items):,} evaluation texts"
            f"{said}{part}",
            "scores on these files will be too good: build again with --decontaminate and the same files",
        )
