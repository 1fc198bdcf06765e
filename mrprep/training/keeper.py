"""Validation and checkpoints, where they are due: the checkpoint first, so that a look that fails costs no steps."""

import time
from functools import partial

from mrprep.training import checkpoint
from mrprep.training.changes import deciding
from mrprep.training.metrics import MetricsFile
from mrprep.training.mixture import valid_mixture
from mrprep.training.parts import Parts
from mrprep.training.reduce import total_over_ranks
from mrprep.training.tensors import Arrays
from mrprep.training.validate import Validator


class Keeper:
    """Calls of it after every step, by every rank, look at the valid split and write what is to be kept."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._saved_at = time.monotonic()
        self._validator = _validator(parts)

    def __call__(self, ending: bool) -> None:
        """Validate, and write a checkpoint, if they are due; ``ending``: the run ends here, done or not."""
        settings, standing = self._parts.settings, self._parts.standing
        last = standing.step == settings.schedule.total
        saved = last or ending or self._due()  # asks the other ranks
        if saved:
            self._write(None)
        if last or (standing.step % settings.valid_every == 0 and not ending):
            self._look(saved)

    def make_up(self) -> None:
        """Look at the valid split where the run that wrote the newest checkpoint ended before it could."""
        settings, standing = self._parts.settings, self._parts.standing
        due = standing.step == settings.schedule.total or standing.step % settings.valid_every == 0
        if standing.step and not standing.looked and due:
            self._look(saved=True)

    def _write(self, valid: float | None) -> None:
        """Write a checkpoint; ``valid`` is the validation loss at this step, if known."""
        parts = self._parts
        parts.beat("writing a checkpoint")
        moments = parts.optimizer.snapshot() if parts.rank == 0 or parts.settings.zero else {}
        if parts.rank == 0:
            _save(parts, valid, moments)
        self._saved_at = time.monotonic()

    def _due(self) -> bool:
        settings = self._parts.settings
        return self._late() or self._parts.standing.step % settings.save_every == 0

    def _late(self) -> bool:
        """Return whether a checkpoint is overdue, by the clock of rank 0."""
        settings = self._parts.settings
        if not settings.save_minutes:
            return False
        late = self._parts.rank == 0 and time.monotonic() - self._saved_at >= 60 * settings.save_minutes
        return late if settings.ranks == 1 else total_over_ranks([float(late)])[0] > 0

    def _look(self, saved: bool) -> None:
        """Validate; the checkpoint of this step, if it is ``saved``, is told, and else written if it is the best."""
        if self._validator is None:
            return
        settings, standing = self._parts.settings, self._parts.standing
        found = self._validator(standing.step, partial(self._parts.beat, "validating"))
        loss = found["loss"]
        standing.best = loss if standing.best is None else min(standing.best, loss)
        if self._parts.rank == 0:
            file = MetricsFile(settings.run / "valid.jsonl")
            file.write(found)
            file.close()
        if not saved and loss == standing.best:
            self._write(loss)
        elif saved and self._parts.rank == 0:
            told = {"valid_loss": loss, "best_loss": standing.best}
            checkpoint.tell(settings.run / "checkpoints", standing.step, told, settings.keep, settings.keep_every)


def _validator(parts: Parts) -> Validator | None:
    settings = parts.settings
    found = valid_mixture(settings.builds, parts.mixture, settings.valid_rows)
    return Validator(parts.scorer, found, parts.rank, settings.ranks) if found else None


def _save(parts: Parts, valid: float | None, moments: Arrays) -> None:
    """Publish a checkpoint of the run as it stands; ``valid`` is the validation loss at this step, if known."""
    settings, standing, shards, scaler = parts.settings, parts.standing, parts.mixture.like, parts.scaler
    state = checkpoint.LoopState(
        step=standing.step,
        rows=standing.step * settings.global_batch,
        tokens=standing.tokens,
        seed=settings.seed,
        global_batch=settings.global_batch,
        settings=deciding(settings),
        manifest_sha256=parts.mixture.sha256,
        tokenizer_sha256=shards.tokenizer_sha256,
        data_from=standing.data_from,
        valid_loss=valid,
        best_loss=standing.best,
        recent=standing.recent.seen(),
        spikes=standing.spikes,
        overflows=standing.overflows,
        loss_scale=(float(scaler.scale_value.asnumpy()), int(scaler.counter.asnumpy())) if scaler else None,
    )
    snapshot = checkpoint.Snapshot(
        state,
        model={p.name: p.asnumpy() for p in parts.model.trainable_params()},
        optimizer=moments,
        config=settings.model.to_hf(shards.bos_id, shards.eod_id, shards.pad_id),
    )
    checkpoint.save(settings.run / "checkpoints", snapshot, settings.keep, settings.keep_every)
