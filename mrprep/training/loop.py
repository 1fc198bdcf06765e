"""The training loop of one rank."""

import time
from pathlib import Path

from mindspore import Tensor

from mrprep.training import checkpoint, data
from mrprep.training.metrics import Metric, MetricsFile
from mrprep.training.model import Llama
from mrprep.training.optimizer import AdamW
from mrprep.training.settings import Settings
from mrprep.training.shards import TrainingShards, read_shards
from mrprep.training.step import Outcome, TrainStep


def run(settings: Settings, rank: int) -> None:
    """Train from the newest checkpoint, or from new weights, to the last step of the schedule.

    Rank 0 writes metrics and checkpoints; all ranks hold the same weights.
    """
    shards = read_shards(settings.build)
    share = data.Share(settings.seed, settings.micro_batch, settings.accumulate, rank, settings.ranks)
    model = Llama(settings.model, shards.seq, settings.seed)
    optimizer = AdamW(model.trainable_params(), settings.beta1, settings.beta2, settings.eps, settings.weight_decay)
    train_step = TrainStep(
        model,
        optimizer,
        data.splitter(shards.layout, shards.pad_id, shards.eod_id),
        ranks=settings.ranks,
        accumulate=settings.accumulate,
        clip=settings.clip,
    )
    done, tokens = _resume(settings.run / "checkpoints", model, optimizer)
    metrics = MetricsFile(settings.run / "metrics.jsonl") if rank == 0 else None

    began = time.perf_counter()
    for step, micro_batches in data.steps(shards, share, done, settings.schedule.total):
        lr = settings.schedule.at(step)
        outcome = train_step(micro_batches, lr)
        tokens += outcome.tokens
        now = time.perf_counter()
        if metrics:
            metrics.write(_metric(step + 1, lr, outcome, now - began))
            if (step + 1) % settings.save_every == 0 or step + 1 == settings.schedule.total:
                snapshot = _snapshot(settings, shards, model, optimizer, step=step + 1, tokens=tokens)
                checkpoint.save(settings.run / "checkpoints", snapshot, settings.keep)
        began = now
    if metrics:
        metrics.close()


def _resume(directory: Path, model: Llama, optimizer: AdamW) -> tuple[int, int]:
    """Load the newest checkpoint; return steps done and tokens seen, zeros if there is none."""
    found = checkpoint.latest(directory)
    if found is None:
        return 0, 0
    path, state = found
    weights, moments = checkpoint.load(path)
    for parameter in model.trainable_params():
        parameter.set_data(Tensor(weights[parameter.name]))
    for name, parameter in optimizer.state().items():
        parameter.set_data(Tensor(moments[name]))
    return state.step, state.tokens


def _snapshot(
    settings: Settings, shards: TrainingShards, model: Llama, optimizer: AdamW, *, step: int, tokens: int
) -> checkpoint.Snapshot:
    state = checkpoint.LoopState(
        step=step,
        rows=step * settings.global_batch,
        tokens=tokens,
        seed=settings.seed,
        global_batch=settings.global_batch,
        manifest_sha256=shards.manifest_sha256,
    )
    return checkpoint.Snapshot(
        state,
        model={p.name: p.asnumpy() for p in model.trainable_params()},
        optimizer={name: p.asnumpy() for name, p in optimizer.state().items()},
        config=settings.model.to_hf(shards.bos_id, shards.eod_id, shards.pad_id),
    )


def _metric(step: int, lr: float, outcome: Outcome, seconds: float) -> Metric:
    return {
        "step": step,
        "loss": outcome.loss,
        "lr": lr,
        "norm": outcome.norm,
        "tokens": outcome.tokens,
        "tokens_per_s": round(outcome.tokens / seconds, 1),
        "seconds": round(seconds, 6),
    }
