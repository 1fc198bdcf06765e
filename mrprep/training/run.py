"""``train``: from a finished build to a trained model. It starts the ranks and never loads MindSpore."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mrprep import order
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training import checkpoint, driver, history, metrics, msrun, rundir, suspects
from mrprep.training.config import ModelConfig
from mrprep.training.initial import begin
from mrprep.training.intact import Hashing, check_all_sizes
from mrprep.training.launch import run_ranks
from mrprep.training.mixture import Mixture, read_mixture
from mrprep.training.notes import Notes
from mrprep.training.presets import resolve
from mrprep.training.progress import Watch, Work
from mrprep.training.scalars import Scalars
from mrprep.training.schedule import Schedule, ScheduleOptions
from mrprep.training.settings import LoopOptions, Settings
from mrprep.training.stopping import stopped
from mrprep.training.verdict import verdict

_SCHEDULE, _OPTIONS = ScheduleOptions(), LoopOptions()


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
    valid: metrics.Validation | None
    """The last look at the valid split."""
    overflows: int
    """Steps not made because gradients overflowed float16."""
    verdict: str | None
    """On the second half of the run, in words."""


def _to_stderr(line: str) -> None:
    sys.stderr.write(line + "\n")


def train(
    *builds: Path,
    out: Path,
    mix: Sequence[float] | None = None,
    model: str | None = None,
    init_from: Path | None = None,
    steps: int | None = None,
    schedule: ScheduleOptions = _SCHEDULE,
    options: LoopOptions = _OPTIONS,
    global_batch: int | None = None,
    new_data: bool = False,
    tensorboard: bool = False,
    say: Callable[[str], None] = _to_stderr,
) -> Result | None:
    """Train a model on the train split of one or more builds, or go on where the run in ``out`` stopped.

    Under an ``msrun`` of the user's own, this process is one of its ranks; otherwise ranks are started here.

    Args:
        builds: directories of finished builds.
        out: directory of the run.
        mix: weight of each build, see ``mixture``; all rows of all if None.
        model: name of a preset, or path of a ``config.json``; ``tiny`` if None, or the shape of ``init_from``.
        init_from: weights that a new run begins with, see ``initial``.
        steps: of the whole run; one epoch if None.
        schedule: learning rate.
        options: ranks, batch, checkpoints, optimizer.
        global_batch: rows a step that the options must come to, if given.
        new_data: a checkpoint of another build may be gone on from.
        tensorboard: write scalars for TensorBoard; not under msrun.
        say: takes a line for the user.

    Returns:
        What the run left; None in the ranks of an msrun but the first.

    Raises:
        MrprepError: the builds, the model or the run cannot serve, a rank failed, or a signal stopped the run.
        KeyboardInterrupt: at the second Ctrl-C, after the ranks are killed.
    """
    options = options.model_copy(update={"ranks": msrun.ranks() or options.ranks})
    driver.check(options.device)
    mixture = read_mixture(builds, mix)
    for build in builds:
        check_all_sizes(build)
    _check_batch(mixture, options, global_batch)
    total = steps or order.steps_per_epoch(mixture.epoch_rows, options.global_batch)
    weights, shape = _model(out, model, init_from, mixture, options.train_seq, say)
    settings = Settings(
        **options.model_dump(),
        builds=tuple(build.resolve() for build in builds),
        mix=mix,
        run=out.resolve(),
        init_from=weights,
        model=shape,
        schedule=Schedule(**schedule.model_dump(), total=total),
    )
    if msrun.ranks() and not msrun.is_first():
        msrun.join(settings)
        return None
    with rundir.held(settings.run):
        heard: list[str] = []

        def hear(line: str) -> None:
            heard.append(line)
            say(line)

        done = rundir.prepare(settings, mixture, hear, new_data=new_data)
        for line in _plan(settings, mixture, done):
            say(line)
        scalars = Scalars(settings.run, done) if tensorboard and done < total else None
        number = None
        owed = done == total and rundir.owes_look(settings, mixture)
        if owed:
            say("the last look at the valid split is made up for")
        if done < total or owed:
            with history.kept(settings.run, done, total, "; ".join([f"ranks: {settings.ranks}", *heard])):
                number = _run(settings, _work(settings, mixture, done), say, scalars)
        return _result(settings, number)


def _model(
    out: Path,
    model: str | None,
    init_from: Path | None,
    mixture: Mixture,
    train_seq: int | None,
    say: Callable[[str], None],
) -> tuple[Path | None, ModelConfig]:
    """Return where a new run's weights lie, if they are given, and the model's shape."""
    like = mixture.like
    if init_from is None:
        return None, resolve(model or "tiny", like.vocab_size, train_seq or like.seq, like.eod_id, like.pad_id)
    if checkpoint.latest(out / "checkpoints") is not None:  # the weights it began with may be gone
        say(f"--init-from {printable(str(init_from))} is not looked at: the run goes on from its own checkpoint")
        return begin(out.resolve(), model, like, train_seq)
    return begin(init_from.resolve(), model, like, train_seq, say)


def _check_batch(mixture: Mixture, options: LoopOptions, stated: int | None) -> None:
    wanted = options.global_batch
    product = f"micro batch {options.micro_batch} x {options.ranks} ranks x accumulation {options.accumulate}"
    if stated not in (None, wanted):
        raise MrprepError(f"--global-batch {stated} is not {wanted} ({product}): change one of them")
    seq, rows = mixture.like.seq, mixture.epoch_rows
    if options.train_seq and seq % options.train_seq:
        fits = max(n for n in range(1, min(options.train_seq, seq) + 1) if seq % n == 0)
        raise MrprepError(
            f"--train-seq {options.train_seq} does not divide the build's rows of {seq} tokens: give one that does, "
            f"such as {fits}, or leave it out"
        )
    if rows < wanted:
        raise MrprepError(
            f"one step takes {wanted} rows ({product}), but an epoch of the train split has {rows}: lower one of "
            "them, or build with a smaller --seq"
        )


def _plan(settings: Settings, mixture: Mixture, done: int) -> list[str]:
    batch, total, seq = settings.global_batch, settings.schedule.total, mixture.like.seq
    rows = mixture.epoch_rows
    epoch = order.steps_per_epoch(rows, batch)
    model: ModelConfig = settings.model
    lines = [
        f"model: {model.parameter_count:,} parameters, {model.num_hidden_layers} layers of {model.hidden_size}, "
        f"{model.flops_per_token(settings.train_seq or seq):,} FLOPs a token",
        f"global batch {batch} rows = micro batch {settings.micro_batch} x {settings.ranks} ranks "
        f"x accumulation {settings.accumulate}; {batch * seq:,} tokens a step",
        f"{total} steps, {total / epoch:.2f} epochs of {epoch} steps; {rows - epoch * batch} of "
        f"{rows} rows sit out each epoch",
    ]
    if len(mixture.parts) > 1:
        lines += [
            f"of {printable(str(part.build))} {taken:,} of {part.rows:,} rows an epoch ({taken / rows:.1%})"
            for part, taken in zip(mixture.parts, mixture.taken, strict=True)
        ]
    if settings.train_seq:
        lines.append(f"each row is cut into {seq // settings.train_seq} of {settings.train_seq} tokens")
    if settings.init_from and not done:
        lines.append(f"beginning with the weights in {printable(str(settings.init_from))}")
    if done:
        lines.append(f"going on after step {done}" if done < total else f"step {done} is done already")
    return lines


def _run(settings: Settings, work: Work, say: Callable[[str], None], scalars: Scalars | None) -> int | None:
    """Train, and return the signal that ended it early, if one did."""
    if msrun.ranks():
        return msrun.join(settings)
    command = [sys.executable, "-P", "-m", "mrprep.training.worker", str(settings.run / "settings.json")]
    hashing = Hashing(settings.builds)

    notes = Notes(settings.run / "logs", say)

    def look() -> None:
        hashing.check()
        notes.update()
        watch.update()

    follower = metrics.Follower(settings.run / "metrics.jsonl")
    with Watch(follower, work, say, scalars, partial(suspects.told, settings.builds)) as watch:
        return run_ranks(command, settings.ranks, settings.run / "logs", look, settings.hang_after)


def _work(settings: Settings, mixture: Mixture, done: int) -> Work:
    peak = settings.peak_tflops and settings.peak_tflops * 1e12 * settings.ranks
    flops = settings.model.flops_per_token(settings.train_seq or mixture.like.seq)
    return Work(done, settings.schedule.total, flops, peak)


def _result(settings: Settings, number: int | None) -> Result:
    run, total = settings.run, settings.schedule.total
    found = checkpoint.latest(run / "checkpoints")
    if number and (found is None or found[1].step < total):
        where = f"after step {found[1].step} of {total}, with a checkpoint" if found else "before the first checkpoint"
        raise stopped(number, f"stopped {where}; the same command goes on from there")
    if found is None:
        raise MrprepError(f"{printable(str(run))} holds no sound checkpoint: is the disk full?")
    path, state = found
    lines = metrics.read(run / "metrics.jsonl")
    valid = metrics.last_validation(run / "valid.jsonl")
    return Result(
        run,
        path,
        state.step,
        lines[0]["loss"],
        lines[-1]["loss"],
        state.tokens,
        valid,
        state.overflows,
        verdict(lines[len(lines) // 2 :], partial(suspects.told, settings.builds)),
    )
