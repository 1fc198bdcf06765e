"""What becomes of a step that is not finite or far out: an incident is written, the update withheld or made."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from mrprep import order
from mrprep.training import incident
from mrprep.training.parts import Parts
from mrprep.training.spikes import Limits
from mrprep.training.step import Columns, Outcome


def handle(
    parts: Parts, data_step: int, micro_batches: Sequence[Columns], lr: float, limits: Limits, outcome: Outcome
) -> Outcome:
    """Write the incident at weights that have not changed, then make the update if it is to be ignored.

    Every rank calls it for the same step, as all see the same loss and norm.

    Args:
        parts: of this rank; ``standing.step`` counts this step already.
        data_step: the step, counted on this data.
        micro_batches: its rows of this rank.
        lr: its learning rate.
        limits: one of which it passed.
        outcome: of the step, skipped.
    """
    ignored = parts.settings.on_spike == "ignore" and math.isfinite(outcome.loss) and math.isfinite(outcome.norm)
    if parts.rank == 0:
        facts = _facts(parts, lr, limits, outcome) | {"update": "made" if ignored else "skipped"}
        incident.write(parts.settings.run / "incidents", facts, _scored(parts, data_step), parts.mixture)
    return parts.train_step(micro_batches, lr, stop=outcome.stop) if ignored else outcome


def reason_to_end(parts: Parts) -> str | None:
    """Return the sentence with which the run ends after a skipped step, or None if it goes on."""
    settings, standing = parts.settings, parts.standing
    allowed = 1 if settings.on_spike == "stop" else settings.spikes_in_a_row
    if standing.spikes < allowed:
        return None
    first = standing.step - standing.spikes + 1
    where = settings.run / "incidents" / f"step-{first:08d}" / "incident.txt"
    steps = f"step {first} was" if first == standing.step else f"steps {first} to {standing.step} were"
    return (
        f"{steps} not finite or far out, and the update skipped: read {where}; the same command goes on after it, "
        "a lower --lr or --on-spike ignore may help"
    )


def _facts(parts: Parts, lr: float, limits: Limits, outcome: Outcome) -> dict[str, Any]:
    if not (math.isfinite(outcome.loss) and math.isfinite(outcome.norm)):
        reason = "loss or gradient is not finite"
    elif outcome.loss >= limits.loss:
        reason = f"loss {outcome.loss:.4f} is far above the losses before it"
    elif outcome.norm >= limits.norm:
        reason = f"gradient norm {outcome.norm:.4g} is far above the norms before it"
    else:
        reason = f"loss {outcome.peak:.4f} of a stretch of a row is far above those before it"
    return {
        "step": parts.standing.step,
        "reason": reason,
        "loss": outcome.loss,
        "loss_limit": limits.loss,
        "norm": outcome.norm,
        "norm_limit": limits.norm,
        "peak": outcome.peak,
        "peak_limit": limits.peak,
        "lr": lr,
        "tokens": outcome.tokens,
    }


def _scored(parts: Parts, data_step: int) -> list[incident.Scored]:
    """Score the rows of all ranks; one rank does, as an incident is rare."""
    share, mixture = parts.share, parts.mixture
    epoch, within = divmod(data_step, order.steps_per_epoch(mixture.epoch_rows, share.global_batch))
    found = []
    for rank in range(share.ranks):
        mine = mixture.deal(share.seed, epoch, share.global_batch, rank, share.ranks, within, 1)
        losses, mask = parts.scorer(mixture, mine, partial(parts.beat, "scoring the rows of a bad step"))
        found += [incident.Scored(rank, int(row), *one) for row, *one in zip(mine, losses, mask, strict=True)]
    return found
