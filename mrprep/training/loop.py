"""The training loop of one rank."""

import time
from collections.abc import Callable, Iterator

from mrprep.errors import MrprepError
from mrprep.training import data, guard
from mrprep.training.heartbeat import COMPUTING
from mrprep.training.keeper import Keeper
from mrprep.training.metrics import Metric, MetricsFile
from mrprep.training.parts import Parts, assemble
from mrprep.training.settings import Settings
from mrprep.training.step import Columns, Outcome

Rows = Iterator[tuple[int, list[Columns]]]


def run(settings: Settings, rank: int, asked_to_stop: Callable[[], bool]) -> None:
    """Train from the newest checkpoint, or from new weights, to the last step, or until asked to stop.

    Rank 0 writes metrics, checkpoints and incidents; all ranks hold the same weights.

    Raises:
        MrprepError: on rank 0, after the checkpoint: too many steps in a row were far out.
    """
    parts = assemble(settings, rank)
    keep, standing = Keeper(parts), parts.standing
    metrics = MetricsFile(settings.run / "metrics.jsonl") if rank == 0 else None
    begin, total = standing.data_from, settings.schedule.total
    rows = data.steps(parts.mixture, parts.share, standing.step - begin, total - begin)
    stop, reason = False, None
    while standing.step < total and not stop and not reason:
        outcome, metric = _step(parts, rows, asked_to_stop())
        if metrics:
            metrics.write(metric)
        stop, reason = outcome.stop, guard.reason_to_end(parts)
        keep(ending=stop or reason is not None)
    if metrics:
        metrics.close()
        if reason:
            raise MrprepError(reason)


def _step(parts: Parts, rows: Rows, stop: bool) -> tuple[Outcome, Metric]:
    """Read the rows of a step, train on them, and count what came of it."""
    standing = parts.standing
    began = time.perf_counter()
    parts.beat("reading its rows")
    data_step, micro_batches = next(rows)
    waited = time.perf_counter() - began
    parts.beat(COMPUTING)
    lr, limits = parts.settings.schedule.at(standing.step), standing.recent.limits()
    outcome = parts.train_step(micro_batches, lr, limits, stop)
    standing.step += 1
    standing.tokens += outcome.tokens
    if outcome.skipped:
        outcome = guard.handle(parts, data_step, micro_batches, lr, limits, outcome)
    standing.count(outcome.seen, limits, skipped=outcome.skipped)
    return outcome, _metric(standing.step, lr, outcome, time.perf_counter() - began, waited)


def _metric(step: int, lr: float, outcome: Outcome, seconds: float, waited: float) -> Metric:
    return {
        "step": step,
        "loss": outcome.loss,
        "lr": lr,
        "norm": outcome.norm,
        "peak": outcome.peak,
        "tokens": outcome.tokens,
        "tokens_per_s": round(outcome.tokens / seconds, 1),
        "seconds": round(seconds, 6),
        "waited": round(waited, 6),
        "skipped": outcome.skipped,
    }
