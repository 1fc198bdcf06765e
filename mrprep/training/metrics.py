"""``metrics.jsonl``, a line a step, ``valid.jsonl``, ``layers.jsonl``: appended and flushed as a run goes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TypedDict

import orjson


class Metric(TypedDict):
    """One step, over all ranks."""

    step: int
    """Counted from 1: steps done."""
    at: float
    """When it was done, seconds since the epoch."""
    loss: float | None
    """Mean cross entropy a token, nats; null when not finite."""
    lr: float
    """Learning rate."""
    norm: float | None
    """Gradient norm before clipping; null when not finite: the update was skipped."""
    peak: float | None
    """Highest mean loss of a stretch of 128 places or so of a row, nats a place; null when not finite."""
    tokens: int
    """Targets trained on in this step."""
    tokens_per_s: float
    """Over this step's wall time."""
    seconds: float
    """Wall time of this step, reading its rows counted."""
    waited: float
    """Seconds of them blocked in the dataset's next()."""
    communication: float | None
    """Seconds that a step's sums over the ranks take, timed alone now and then; null until they were timed."""
    memory: int
    """Bytes of rank 0 in memory (RSS)."""
    device_memory: int | None
    """Bytes held on its device; null where MindSpore does not count, as on CPU."""
    skipped: bool
    """Whether the update was not made: not finite, or far out."""
    overflow: bool
    """Whether it was not made because gradients overflowed float16; the loss scale was halved."""
    loss_scale: float | None
    """What the loss was multiplied by; null if it was not."""


class Validation(TypedDict):
    """A look at the valid split; a line of ``valid.jsonl``."""

    step: int
    """Steps done."""
    loss: float
    """Mean cross entropy a token, nats."""
    perplexity: float
    """exp(loss)."""
    bits_per_byte: float | None
    """loss / ln 2 / bytes a token of the build; null when the manifest does not count bytes."""
    tokens: int
    """Targets looked at."""


class LayerNorms(TypedDict):
    """A line of ``layers.jsonl``."""

    step: int
    """Steps done."""
    norms: dict[str, float | None]
    """Name of a weight -> L2 norm of its mean gradient, before clipping; null when not finite."""


def told(valid: Validation) -> str:
    """Return a look at the valid split in words."""
    per_byte = valid["bits_per_byte"]
    bits = "" if per_byte is None else f", {per_byte:.4f} bits a byte"
    return f"loss {valid['loss']:.4f}, perplexity {valid['perplexity']:.2f}{bits} ({valid['tokens']:,} tokens)"


class MetricsFile:
    """Writes the lines; close it at the end."""

    def __init__(self, path: Path) -> None:
        self._file: IO[bytes] = path.open("ab")

    def write(self, metric: Metric | Validation | LayerNorms) -> None:
        """Append one line."""
        self._file.write(orjson.dumps(metric) + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class StepLog:
    """Writes what is known of each step; close it at the end.

    Args:
        run: directory of the run.
        weights: their names, in the order in which their norms come.
        every: steps between two lines of ``layers.jsonl``; none if None.
    """

    def __init__(self, run: Path, weights: Sequence[str], every: int | None) -> None:
        self._metrics, self._weights, self._every = MetricsFile(run / "metrics.jsonl"), weights, every
        self._layers = MetricsFile(run / "layers.jsonl") if every else None

    def write(self, metric: Metric, norms: Sequence[float]) -> None:
        """Append a step; ``norms``: of the gradient of each weight."""
        self._metrics.write(metric)
        if self._layers and self._every and metric["step"] % self._every == 0:
            self._layers.write({"step": metric["step"], "norms": dict(zip(self._weights, norms, strict=True))})

    def close(self) -> None:
        """Close the files."""
        self._metrics.close()
        if self._layers:
            self._layers.close()


class Follower:
    """Reads lines as another process appends them."""

    def __init__(self, path: Path) -> None:
        self._path, self._offset = path, 0

    def new(self) -> Iterator[Any]:
        """Yield the whole lines written since the last call."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                yield orjson.loads(line)


def read(path: Path) -> list[Metric]:
    """Return all whole lines of ``metrics.jsonl``."""
    return list(Follower(path).new())


def last_validation(path: Path) -> Validation | None:
    """Return the last line of ``valid.jsonl``, if there is one."""
    lines: list[Validation] = list(Follower(path).new())
    return lines[-1] if lines else None


def cut_after(path: Path, step: int) -> None:
    """Take out the lines after ``step``, which a run that resumes there writes anew; no file, nothing to do."""
    if not path.exists():
        return
    kept = b"".join(orjson.dumps(metric) + b"\n" for metric in read(path) if metric["step"] <= step)
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(kept)
    temporary.replace(path)
