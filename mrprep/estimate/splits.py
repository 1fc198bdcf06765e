"""Ways to lay a model over devices: data x tensor x pipeline parallel x accumulation, those that fit, best first."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mrprep.estimate.memory import Layout, Memory, memory
from mrprep.training.config import ModelConfig

_NODE = 8
"""Devices that share a fast link; tensor parallelism stays within."""
_TENSOR_LOSS = 0.05
"""Share of time that each doubling of tensor parallelism takes for its exchanges."""
_RECOMPUTE_LOSS = 0.25
"""A third more computing is a quarter of the time."""


@dataclass(frozen=True, slots=True)
class Split:
    """One way, and what speaks for and against it."""

    layout: Layout
    memory: Memory
    efficiency: float
    """Share of the time that is not lost to exchanges, waiting and computing anew, by rules of thumb."""
    reasons: tuple[str, ...]


def splits(model: ModelConfig, base: Layout, devices: int, global_batch: int, room: float) -> list[Split]:
    """Return the ways that fit, best first.

    Args:
        model: its shape.
        base: row length, micro batch, amp and ZeRO of them all.
        devices: how many there are.
        global_batch: rows a step.
        room: bytes of memory a device.
    """
    found = []
    for layout in _layouts(model, base, devices, global_batch):
        needed = memory(model, layout)
        if needed.total <= room:
            found.append(Split(layout, needed, _efficiency(layout), tuple(_reasons(layout, needed, room))))
    return sorted(found, key=lambda split: (-split.efficiency, split.layout.pp, split.layout.tp, -split.layout.micro))


def _layouts(model: ModelConfig, base: Layout, devices: int, global_batch: int) -> Iterator[Layout]:
    alone = base.device == "CPU"  # MindSpore splits models on Ascend only
    for tp in _powers(1 if alone else min(_NODE, devices)):
        if model.num_attention_heads % tp or model.num_key_value_heads % tp:
            continue
        for pp in range(1, (1 if alone else min(devices // tp, model.num_hidden_layers)) + 1):
            dp = devices // (tp * pp)
            if dp * tp * pp != devices or model.num_hidden_layers % pp or global_batch % dp:
                continue
            rows = global_batch // dp
            for micro in (m for m in _powers(base.micro) if rows % m == 0):
                for recompute in {base.recompute, not alone}:
                    yield replace(base, dp=dp, tp=tp, pp=pp, micro=micro, accumulate=rows // micro, recompute=recompute)


def _powers(most: int) -> list[int]:
    return [1 << k for k in range(most.bit_length()) if 1 << k <= most]


def _efficiency(layout: Layout) -> float:
    bubble = _bubble(layout)
    tensor = 1 - _TENSOR_LOSS * (layout.tp.bit_length() - 1)
    small = 0.9 if layout.micro == 1 else 1.0
    return (1 - bubble) * tensor * small * ((1 - _RECOMPUTE_LOSS) if layout.recompute else 1.0)


def _bubble(layout: Layout) -> float:
    """Return the share of a step in which a pipeline stage waits (Narayanan et al. 2021, section 2.2)."""
    return (layout.pp - 1) / (layout.accumulate + layout.pp - 1)


def _reasons(layout: Layout, needed: Memory, room: float) -> Iterator[str]:
    yield f"{needed.total / room:.0%} of the memory"
    if layout.pp > 1:
        yield f"stages wait {_bubble(layout):.0%}"
    if layout.tp > 1:
        yield f"each layer exchanges among {layout.tp}"
    if layout.recompute:
        yield "activations computed twice"
    if layout.pp == layout.tp == 1:
        yield "data parallel alone: the simplest"
