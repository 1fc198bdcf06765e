"""The head of the page: the numbers that matter most, and the verdict."""

from collections.abc import Iterator
from statistics import median

import numpy as np

from mrprep.pages.numbers import duration, percent, short, size
from mrprep.pages.page import Card, Level
from mrprep.report.curves import column, smooth, window
from mrprep.report.state import Run
from mrprep.training import memory
from mrprep.training.verdict import COMMUNICATED, FIRST_STEPS, WAITED, verdict

_RECENT = 100
"""Steps by which speed and shares are told."""


def cards(run: Run) -> Iterator[Card]:
    """Yield the cards."""
    yield _loss(run)
    if run.valid:
        last = run.valid[-1]
        bits = "" if last["bits_per_byte"] is None else f", {last['bits_per_byte']:.3f} bits a byte"
        yield Card("Validation loss", f"{last['loss']:.3f}", f"perplexity {short(last['perplexity'])}{bits}")
    yield _progress(run)
    yield _speed(run)
    yield from _shares(run)
    yield _memory(run)
    yield _incidents(run)


def verdicts(run: Run) -> Iterator[tuple[str, Level]]:
    """Yield a sentence on the first hundred steps, and on the second half when there are more."""
    first = verdict(run.steps[:FIRST_STEPS])
    if first and run.steps[0]["step"] == 1:
        yield f"The first {min(FIRST_STEPS, len(run.steps))} steps: {first}.", _level(first)
    if len(run.steps) > FIRST_STEPS and (second := verdict(run.steps[len(run.steps) // 2 :])):
        yield f"The second half: {second}.", _level(second)


def _level(told: str) -> Level:
    if told.startswith(("diverging", "oscillating")):
        return "bad"
    return "good" if told.startswith("falling") and ";" not in told else "warning"


def _loss(run: Run) -> Card:
    losses = column(run, "loss")
    smoothed = smooth(losses, window(len(losses)))
    first = next((m["loss"] for m in run.steps if m["loss"] is not None), None)
    return Card("Loss", short(float(smoothed[-1])), "" if first is None else f"from {first:.3f}; nats a token")


def _progress(run: Run) -> Card:
    share = f"{percent(run.done / run.total)} of {run.total:,}"
    left = (run.total - run.done) * median(m["seconds"] for m in run.steps[-_RECENT:])
    return Card("Steps", f"{run.done:,}", f"{share}; {duration(left)} left" if run.at_work and left else share)


def _speed(run: Run) -> Card:
    recent = run.steps[-_RECENT:]
    speed = median(m["tokens_per_s"] for m in recent)
    settings = run.settings
    flops = settings.model.flops_per_token(settings.train_seq or settings.model.max_position_embeddings) * speed
    if settings.peak_tflops:
        return Card(
            "Tokens a second", short(speed), f"MFU {percent(flops / settings.peak_tflops / 1e12 / settings.ranks)}"
        )
    return Card(
        "Tokens a second", short(speed), f"{short(flops)}FLOP/s; {short(sum(m['tokens'] for m in run.steps))} in all"
    )


def _shares(run: Run) -> Iterator[Card]:
    """Yield what the time of the steps is lost to, judged as the verdict judges it."""
    seconds = sum(m["seconds"] for m in run.steps)
    waited = sum(m["waited"] for m in run.steps) / seconds
    late = waited > WAITED
    yield Card("Waiting for rows", percent(waited), "over 5 %: a faster disk" if late else "of the time", _judged(late))
    if run.settings.ranks > 1:
        timed = [m for m in run.steps if m["communication"] is not None]
        sums = sum(m["communication"] or 0.0 for m in timed) / (sum(m["seconds"] for m in timed) or 1.0)
        much = sums > COMMUNICATED
        told = "over 40 %: more --accumulate" if much else "of the time"
        yield Card("Sums over ranks", percent(sums), told, _judged(much))


def _memory(run: Run) -> Card:
    used = column(run, "memory")
    grows = memory.growth([m["memory"] for m in run.steps])
    told = (
        f"growing, {size(grows * 1000)} in 1,000 steps" if grows else f"rank 0; at most {size(float(np.nanmax(used)))}"
    )
    return Card("Memory", size(float(used[-1])), told, _judged(bool(grows)))


def _incidents(run: Run) -> Card:
    skipped = sum(m["skipped"] for m in run.steps)
    told = f"{skipped:,} of {len(run.steps):,} steps skipped"
    return Card("Incidents", f"{len(run.incidents):,}", told, _judged(bool(run.incidents)))


def _judged(bad: bool) -> Level:
    return "warning" if bad else "good"
