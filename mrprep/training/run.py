"""``train``: from a finished build to a trained model. It starts the ranks and never loads MindSpore."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mrprep import order
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training import checkpoint, metrics, rundir
from mrprep.training.config import ModelConfig, resolve
from mrprep.training.launch import run_ranks
from mrprep.training.progress import Bar
from mrprep.training.schedule import Schedule
from mrprep.training.settings import Settings
from mrprep.training.shards import TrainingShards, read_shards


@dataclass(frozen=True, slots=True)
class Result:
    """What a finished run left."""

    run: Path
    """Its directory."""
    checkpoint: Path
    """The last checkpoint: weights under Hugging Face's names."""
    steps: int
    """Steps done."""
    first_loss: float | None
    """Loss of the first step, nats a token."""
    last_loss: float | None
    """Loss of the last step."""
    tokens: int
    """Targets trained on."""


def _to_stderr(line: str) -> None:
    sys.stderr.write(line + "\n")


def train(
    build: Path,
    *,
    out: Path,
    model: str = "tiny",
    ranks: int = 1,
    steps: int | None = None,
    micro_batch: int = 4,
    accumulate: int = 1,
    lr: float = 1e-3,
    warmup: int = 10,
    seed: int = 0,
    save_every: int = 100,
    say: Callable[[str], None] = _to_stderr,
) -> Result:
    """Train a model on the train split of a build, or go on where the run in ``out`` stopped.

    Args:
        build: directory of a finished build.
        out: directory of the run.
        model: name of a preset, or path of a ``config.json``.
        ranks: data-parallel processes on this machine.
        steps: of the whole run; one epoch if None.
        micro_batch: rows a forward pass of one rank.
        accumulate: forward passes a step.
        lr: highest learning rate.
        warmup: steps until it is reached.
        seed: of weights and row order.
        save_every: steps between checkpoints.
        say: takes a line for the user.

    Raises:
        MrprepError: the build, the model or the run cannot serve, or a rank failed.
        KeyboardInterrupt: after the ranks are stopped.
    """
    shards = read_shards(build)
    _enough_rows(shards, micro_batch, ranks, accumulate)
    global_batch = micro_batch * ranks * accumulate
    total = steps or order.steps_per_epoch(shards.rows, global_batch)
    settings = Settings(
        build=build.resolve(),
        run=out.resolve(),
        model=resolve(model, shards.vocab_size, shards.seq),
        schedule=Schedule(peak=lr, warmup=warmup, total=total),
        ranks=ranks,
        micro_batch=micro_batch,
        accumulate=accumulate,
        seed=seed,
        save_every=save_every,
    )
    with rundir.held(settings.run):
        done = rundir.prepare(settings, shards.manifest_sha256)
        for line in _plan(settings, shards, done):
            say(line)
        if done < total:
            _run(settings, done)
        return _result(settings.run)


def _enough_rows(shards: TrainingShards, micro_batch: int, ranks: int, accumulate: int) -> None:
    wanted = micro_batch * ranks * accumulate
    if shards.rows < wanted:
        raise MrprepError(
            f"one step takes {wanted} rows (micro batch {micro_batch} x {ranks} ranks x accumulation "
            f"{accumulate}), but the train split has {shards.rows}: lower one of them, "
            "or build with a smaller --seq"
        )


def _plan(settings: Settings, shards: TrainingShards, done: int) -> list[str]:
    batch, total = settings.global_batch, settings.schedule.total
    epoch = order.steps_per_epoch(shards.rows, batch)
    model: ModelConfig = settings.model
    lines = [
        f"model: {model.parameter_count:,} parameters, {model.num_hidden_layers} layers of {model.hidden_size}",
        f"global batch {batch} rows = micro batch {settings.micro_batch} x {settings.ranks} ranks "
        f"x accumulation {settings.accumulate}; {batch * shards.seq:,} tokens a step",
        f"{total} steps, {total / epoch:.2f} epochs of {epoch} steps; {shards.rows - epoch * batch} of "
        f"{shards.rows} rows sit out each epoch",
    ]
    if done:
        lines.append(f"going on after step {done}" if done < total else f"step {done} is done already")
    return lines


def _run(settings: Settings, done: int) -> None:
    command = [sys.executable, "-P", "-m", "mrprep.training.worker", str(settings.run / "settings.json")]
    follower = metrics.Follower(settings.run / "metrics.jsonl")
    with Bar(follower, done, settings.schedule.total) as bar:
        run_ranks(command, settings.ranks, settings.run / "logs", bar.update)


def _result(run: Path) -> Result:
    found = checkpoint.latest(run / "checkpoints")
    if found is None:
        raise MrprepError(f"{printable(str(run))} holds no sound checkpoint: is the disk full?")
    path, state = found
    lines = metrics.read(run / "metrics.jsonl")
    return Result(run, path, state.step, lines[0]["loss"], lines[-1]["loss"], state.tokens)
