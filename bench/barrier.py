"""Memory of the barrier of dedupe by the number of documents: python bench/barrier.py 1000000 3000000.

The sketches are made up, 145 bytes a document and no texts, so that millions of documents take seconds; one document
in a hundred is a copy of one of the part before, and one in six shares all bands with one. Printed for each phase: the
largest peak of a unit of work (tracemalloc), CPU seconds under it, and how many units there were.
"""

import json
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mrprep.builddir.tables import TextPart
from mrprep.duplicates.candidates import find_candidates
from mrprep.duplicates.layout import DOCUMENT, REMOVED, Corpus
from mrprep.duplicates.verdicts import VerdictUnit, write_verdicts

BANDS, PART = 12, 50_000
COPIES, ALIKE = slice(500, 1000), slice(1000, 9000)


class Traced:
    """A RunPhase that runs unit after unit and notes what each phase takes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.taken: dict[str, tuple[int, float, int]] = {}

    def __call__(
        self,
        name: str,
        units: Sequence[Any],
        function: Callable[[Any, Path], None],
        *,
        settings: Any,  # noqa: ARG002
        weights: Any = None,  # noqa: ARG002
    ) -> list[Path]:
        """Run a phase."""
        outs = [self._root / name / f"{index:05d}" for index in range(len(units))]
        for unit, out in zip(units, outs, strict=True):
            out.mkdir(parents=True)
            peak, seconds, count = self.taken.get(name, (0, 0.0, 0))
            tracemalloc.start()
            started = time.process_time()
            function(unit, out)
            taken = tracemalloc.get_traced_memory()[1] >> 20
            tracemalloc.stop()
            self.taken[name] = max(peak, taken), seconds + time.process_time() - started, count + 1
        return outs


def parts(root: Path, count: int) -> list[TextPart]:
    """Write parts of so many documents, each alike to the one before in some."""
    chance = np.random.default_rng(0)
    found, before = [], None
    for number in range(count):
        path = root / f"part{number}"
        path.mkdir()
        documents = np.zeros(PART, DOCUMENT)
        documents["exact"] = chance.integers(0, 1 << 63, (PART, 2))
        documents["units"], documents["rows"], documents["banded"] = 40, 1, True
        bands = chance.integers(0, 1 << 63, (BANDS, PART)).astype(np.uint64)
        if before is not None:
            documents["exact"][COPIES], bands[:, ALIKE] = before[0]["exact"][COPIES], before[1][:, ALIKE]
        before = documents, bands
        np.save(path / "documents.npy", documents)
        np.save(path / "bands.npy", bands)
        columns = {
            "source": pa.array(["s"] * PART).dictionary_encode(),
            "path": pa.array([b"p"] * PART),
            "line": pa.array(np.arange(PART)),
            "text": pa.array(["t"] * PART),
        }
        pq.write_table(pa.table(columns), path / "text.parquet")
        found.append(TextPart(path, number * PART, PART))
    return found


def measure(documents: int) -> dict[str, tuple[int, float, int]]:
    """Return phase -> MiB, CPU seconds, units."""
    with tempfile.TemporaryDirectory(prefix="mrprep-barrier-") as folder:
        root = Path(folder)
        corpus = Corpus(tuple(parts(root, documents // PART)))
        run = Traced(root)
        found = find_candidates(run, corpus, BANDS, {})
        alike = np.arange(documents).reshape(-1, PART)[1:, ALIKE].ravel()
        removed = np.zeros(alike.size, REMOVED)
        removed["doc"], removed["survivor"], removed["jaccard"] = alike, alike % PART, 0.9
        compared = root / "compared"
        compared.mkdir()
        np.save(compared / "removed.npy", removed)
        (compared / "overflow.json").write_text(json.dumps(0))
        run("dedupe.verdicts", [VerdictUnit(corpus, found, (compared,), None, 0.8)], write_verdicts, settings={})
        return run.taken


def main() -> None:
    for documents in map(int, sys.argv[1:] or ["1000000", "3000000"]):
        said = ", ".join(f"{name} {peak} MiB {took:.1f} s /{n}" for name, (peak, took, n) in measure(documents).items())
        print(f"{documents:,} documents: {said}", flush=True)


if __name__ == "__main__":
    main()
