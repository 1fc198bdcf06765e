"""The training loop of one rank."""

import time
from collections.abc import Callable, Iterator

from mrprep.errors import MrprepError
from mrprep.training import data, guard
from mrprep.training.heartbeat import COMPUTING
from mrprep.training.keeper import Keeper
from mrprep.training.meter import Meter
from mrprep.training.metrics import Metric, StepLog
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
    meter = Meter(settings.model.parameter_count, settings.ranks)
    names = [parameter.name for parameter in parts.optimizer.parameters]
    log = StepLog(settings.run, names, settings.layer_norms) if rank == 0 else None
    begin, total = standing.data_from, settings.schedule.total
    rows = data.steps(parts.mixture, parts.share, standing.step - begin, total - begin)
    keep.make_up()
    stop, reason = False, None
    while standing.step < total and not stop and not reason:
        outcome, metric = _step(parts, rows, meter, asked_to_stop())
        if log:
            log.write(metric, outcome.norms)
        stop, reason = outcome.stop, guard.reason_to_end(parts)
        keep(ending=stop or reason is not None)
    if log:
        log.close()
        if reason:
            raise MrprepError(reason)


def _step(parts: Parts, rows: Rows, meter: Meter, stop: bool) -> tuple[Outcome, Metric]:
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
    if outcome.skipped and not outcome.overflow:
        outcome = guard.handle(parts, data_step, micro_batches, lr, limits, outcome)
    standing.count(outcome.seen, limits, skipped=outcome.skipped, overflow=outcome.overflow)
    return outcome, meter(standing.step, lr, outcome, time.perf_counter() - began, waited)
