"""What a build takes: time, disk and memory. Rates are measured on the sample; the other constants in bench/."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mrprep.engine.memory import PARENT, WORKER
from mrprep.estimate.ranges import Range
from mrprep.estimate.text import Text

_WRITING = 50e6
"""Bytes of text a second and core for writing text, tokens and shards, and reading them back."""
_START = 1.2
_TRAINING = 6.0
"""Seconds that training a vocabulary takes."""
_SPREAD = (0.6, 1.0, 1.8)
"""Of measured build times around the estimate, on machines that also do something else."""
_WORK_A_DOCUMENT = 300
_PROVENANCE_A_STRETCH = 24
_SKETCH = 125
"""Bytes a document that dedup/ keeps."""
_INDEX_A_ROW, _FILE = 65, 250e3
"""Bytes of .db a row; header, half-empty last pages and an empty index of a shard."""
_REPORTS, _PIECE = 60e3, 16
"""Bytes of manifest and reports, and of a tokenizer a piece."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a build."""

    seconds: Mapping[int, Range]
    """Jobs -> time."""
    output: Range
    """Bytes of the finished build."""
    work: Range
    """Bytes of the work directory at its largest, the output included."""
    memory: Mapping[int, float]
    """Jobs -> bytes of all processes."""


def cost(
    text: Text,
    tokens: Range,
    rows: Range,
    texts: Sequence[str],
    rates: Mapping[str, float],
    *,
    trained: bool,
    files: int,
    jobs: Sequence[int],
) -> Cost:
    """Return what a build of a corpus takes.

    Args:
        text: the corpus.
        tokens: that are written, after duplicates are gone.
        rows: of them.
        texts: cleaned texts of the sample, to see how they compress.
        rates: phase -> bytes of text a second of one core, measured.
        trained: whether a vocabulary is trained.
        files: train shards.
        jobs: numbers of workers to tell the time for.
    """
    core = sum(text.bytes.mid / rate for rate in rates.values()) + text.bytes.mid / _WRITING
    serial = _START + (_TRAINING if trained else 0.0)
    low, mid, high = _SPREAD
    seconds = {n: Range(*((serial + core / n) * factor for factor in (low, mid, high))) for n in jobs}
    kept = text.kept_bytes * _compressed(texts)
    shards = (tokens * text.id_bytes).plus(rows * _INDEX_A_ROW)
    tables = (text.kept.plus(rows) * _PROVENANCE_A_STRETCH).plus(text.kept * _SKETCH)
    fixed = (files + 1) * _FILE + _REPORTS + text.vocab_size * _PIECE
    output = kept.plus(shards).plus(tables).plus(Range.exact(fixed))
    flat = tokens * (2 if text.vocab_size <= 1 << 16 else 4)
    work = output.plus(flat).plus(text.documents * _WORK_A_DOCUMENT)
    return Cost(seconds, output, work, {n: float(PARENT + n * WORKER) for n in jobs})


def _compressed(texts: Sequence[str]) -> float:
    """Return the bytes that a byte of text takes in a build's Parquet."""
    size = sum(len(text.encode()) for text in texts)
    with tempfile.TemporaryDirectory(prefix="mrprep-plan-") as folder:
        path = Path(folder, "text.parquet")
        pq.write_table(pa.table({"text": pa.array(texts, pa.string())}), path, compression="zstd")
        return path.stat().st_size / max(1, size)
