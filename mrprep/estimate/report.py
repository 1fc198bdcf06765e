"""Estimates in words and numbers for a terminal."""

from collections.abc import Iterator, Sequence

from mrprep.estimate.memory import DEVICES, Layout
from mrprep.estimate.plans import Corpus, Training
from mrprep.estimate.ranges import Range

_LISTED = 5
_COUNTS = (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3))
_SIZES = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
_OPERATIONS = (
    ("YFLOP", 1e24),
    ("ZFLOP", 1e21),
    ("EFLOP", 1e18),
    ("PFLOP", 1e15),
    ("TFLOP", 1e12),
    ("GFLOP", 1e9),
    ("MFLOP", 1e6),
)


def corpus_lines(found: Corpus, seq: int) -> Iterator[str]:
    """Yield what a build will make of its input, and what it takes."""
    text = found.text
    yield _line("looked at", f"{found.share:.1%} of the text" if found.share < 1 else "all of the text")
    yield _line("documents", f"{_range(text.documents)}, {_bytes(text.bytes)} of text")
    dropped = ", ".join(f"{reason} {share:.1%}" for reason, share in list(text.dropped.items())[:_LISTED])
    yield _line("kept", f"{_range(text.kept)}" + (f"; dropped: {dropped}" if dropped else ""))
    yield _line("duplicates", f"{_percent(found.duplicates)} of these")
    yield _line("tokens", f"{_range(found.tokens)}, vocabulary {text.vocab_size:,}")
    yield _line("rows", f"{_range(found.rows)} of {seq:,} tokens")
    for jobs, seconds in found.cost.seconds.items():
        yield _line("time" if jobs == 1 else "", f"{_duration(seconds)} with --jobs {jobs}")
    yield _line("disk", f"{_bytes(found.cost.output)} for the build, {_bytes(found.cost.work)} while it is made")
    memory = ", ".join(f"{_size(size)} with --jobs {jobs}" for jobs, size in found.cost.memory.items())
    yield _line("memory", f"up to {memory}")
    if found.share < 1:
        yield "few pairs of duplicates come into a sample together: --scan reads all and tells the exact share"


def training_lines(found: Training) -> Iterator[str]:
    """Yield what a training needs, what would make it need less, and the ways to lay it over the devices."""
    model, memory, devices = found.model, found.memory, found.devices
    yield _line(
        "model",
        f"{_count(model.parameter_count)} parameters, {_scaled(found.compute.flops_a_token, _OPERATIONS)} a token",
    )
    parts = {
        "weights": memory.weights,
        "gradients": memory.gradients,
        "optimizer": memory.optimizer,
        "activations": memory.activations,
        "logits": memory.logits,
        "MindSpore": memory.program,
    }
    listed = ", ".join(f"{name} {_size(size)}" for name, size in parts.items() if size)
    yield _line("a device", f"{_size(memory.total)}: {listed}")
    for saving in found.savings:
        yield _line("", f"{_size(saving.bytes)} less with {saving.what} ({saving.price})")
    work = found.compute
    yield _line("training", f"{_count(work.tokens)} tokens, {work.steps:,} steps of {work.global_batch} rows")
    where = f"{devices.count} x {_scaled(devices.peak, _OPERATIONS)}/s at {devices.mfu:.0%}"
    yield _line("", f"{_scaled(work.flops, _OPERATIONS)}, {_seconds(work.seconds)} on {where}")
    yield from _fit(found)


def _fit(found: Training) -> Iterator[str]:
    devices = found.devices
    if devices.count == 1:
        fits = found.memory.total <= devices.room
        yield _line(
            "fits", f"yes, in {_size(devices.room)}" if fits else f"no, not in {_size(devices.room)}: {_advice(found)}"
        )
    elif not found.splits:
        yield _line("fits", f"no split over {devices.count} devices of {_size(devices.room)} fits: {_advice(found)}")
    for split in found.splits[:_LISTED]:
        yield _line("split", f"{_layout(split.layout)}: {_size(split.memory.total)}, {', '.join(split.reasons)}")


def _advice(found: Training) -> str:
    if not DEVICES[found.layout.device].frugal:
        return "a smaller --micro-batch with more --accumulate, then --zero 1 over more --ranks; a smaller model last"
    return "recompute first, then accumulation, ZeRO, model parallel; a smaller batch or row length last"


def _layout(layout: Layout) -> str:
    parts = [f"dp {layout.dp}", f"tp {layout.tp}", f"pp {layout.pp}", f"micro {layout.micro} x {layout.accumulate}"]
    return " ".join(parts) + (" recompute" if layout.recompute else "")


def _line(name: str, text: str) -> str:
    return f"{name:<12}{text}"


def _range(value: Range) -> str:
    return _between([_count(value.low), _count(value.mid), _count(value.high)])


def _percent(value: Range) -> str:
    return _between([f"{value.low:.2%}", f"{value.mid:.2%}", f"{value.high:.2%}"])


def _bytes(value: Range) -> str:
    return _between([_size(value.low), _size(value.mid), _size(value.high)])


def _duration(value: Range) -> str:
    return _between([_seconds(value.low), _seconds(value.mid), _seconds(value.high)])


def _between(shown: Sequence[str]) -> str:
    low, mid, high = shown
    return mid if low == high else f"{mid} ({low} to {high})"


def _count(number: float) -> str:
    return _scaled(number, _COUNTS)


def _size(number: float) -> str:
    return _scaled(number, _SIZES) if number >= 1e3 else f"{number:.0f} B"


def _scaled(number: float, units: Sequence[tuple[str, float]]) -> str:
    for unit, size in units:
        if number >= size:
            return f"{_short(number / size)}{' ' if len(unit) > 1 else ''}{unit}"
    return _short(number)


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 100 or number == int(number) else f"{number:.3g}"


def _seconds(number: float) -> str:
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if number >= 2 * size:
            return f"{_short(number / size)} {unit}"
    return f"{_short(number)} s"
