"""All estimates of one request put together: the corpus, the build, the training."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from mrprep.config import Pipeline
from mrprep.estimate import duplicates
from mrprep.estimate.compute import Compute, compute
from mrprep.estimate.cost import Cost, cost
from mrprep.estimate.memory import Layout, Memory, Saving, memory, savings
from mrprep.estimate.ranges import Range
from mrprep.estimate.sample import Sample, draw
from mrprep.estimate.splits import Split, splits
from mrprep.estimate.text import Text, measure
from mrprep.plan import plan
from mrprep.stages.shard import default_shards
from mrprep.training.config import ModelConfig


@dataclass(frozen=True, slots=True)
class Corpus:
    """What will be read and built."""

    text: Text
    share: float
    """Of the text, which share was looked at."""
    duplicates: Range
    """Share of the documents that pass the filter."""
    tokens: Range
    """That are written, once each."""
    rows: Range
    cost: Cost


@dataclass(frozen=True, slots=True)
class Training:
    """One way to train on it."""

    model: ModelConfig
    layout: Layout
    memory: Memory
    savings: tuple[Saving, ...]
    compute: Compute
    devices: "Devices"
    splits: tuple[Split, ...]
    """Ways to lay it over the devices, best first; empty if none fits or nothing was asked."""


def corpus(
    pipeline: Pipeline, seed: int, share: float | None, jobs: Sequence[int], removed: float | None = None
) -> Corpus:
    """Estimate a build from a sample of its input.

    Args:
        pipeline: of the build.
        seed: of the sample.
        share: of the text to look at; None takes as much as is looked at in seconds.
        jobs: numbers of workers to tell the time for.
        removed: share of the documents that dedupe takes out, if it is known.

    Raises:
        MrprepError: the inputs cannot be read, or the tokenizer is none.
    """
    started = time.process_time()
    sample = draw(plan(pipeline.source, None), seed, share)
    reading = sample.bytes / max(1e-9, time.process_time() - started)
    measured = measure(sample, pipeline, seed)
    text = measured.text
    texts = measured.first_stretches(sample)
    twice, sketching = _duplicates(sample, texts, pipeline)
    if removed is not None:
        twice = Range.exact(removed)
    left = Range(1 - twice.high, 1 - twice.mid, 1 - twice.low)
    tokens = Range(text.tokens.low * left.low, text.tokens.mid * left.mid, text.tokens.high * left.high)
    rows = tokens * (1 / pipeline.pack.seq)
    rates = {"read": reading, "dedupe": sketching, **measured.rates}
    taken = cost(
        text,
        tokens,
        rows,
        texts,
        rates,
        trained=pipeline.tokenize.model is None,
        files=pipeline.shard.shards or default_shards(int(tokens.mid)),
        jobs=jobs,
    )
    looked = sample.share * sample.read_share
    return Corpus(text, looked, twice, tokens, rows, taken)


def _duplicates(sample: Sample, texts: Sequence[str], pipeline: Pipeline) -> tuple[Range, float]:
    """Return the share of duplicates, and the bytes a second at which they are found."""
    if "dedupe" not in pipeline.stages:
        return Range.exact(0.0), float("inf")
    started = time.process_time()
    found = duplicates.share(sample, texts, pipeline.dedupe)
    size = sum(len(text.encode()) for text in texts)
    return found, size / max(1e-9, time.process_time() - started) if size else float("inf")


@dataclass(frozen=True, slots=True)
class Devices:
    """What there is to train on."""

    count: int
    room: float
    """Bytes of memory each."""
    peak: float
    """Operations a second each."""
    mfu: float
    """Share of the peak that a model gets."""


def training(model: ModelConfig, layout: Layout, tokens: float, devices: Devices) -> Training:
    """Estimate training a model on so many tokens.

    Args:
        model: its shape.
        layout: how it is asked to be trained.
        tokens: over all epochs.
        devices: to train on.
    """
    rows = layout.micro * layout.accumulate * layout.dp
    work = compute(model, layout.seq, tokens, rows, devices=devices.count, peak=devices.peak, mfu=devices.mfu)
    ways = splits(model, layout, devices.count, rows, devices.room) if devices.count > 1 else []
    return Training(model, layout, memory(model, layout), tuple(savings(model, layout)), work, devices, tuple(ways))
