"""What one device holds while a model trains on it, by what it is for.

Weights and their states: AdamW in fp32 has a weight, a gradient and two moments of 4 bytes a parameter, 16 in all
(Rajbhandari et al. 2020, "ZeRO", section 3.1); amp adds a working copy of weights and gradients in 2 bytes each.
ZeRO-1 splits the moments over the data-parallel devices. Activations are what the backward pass of each operation of
our decoder reads again, after Korthikanti et al. 2023, "Reducing activation recomputation", section 4, restated for
RMSNorm, SwiGLU and grouped heads, without dropout. With recompute only the input of each layer stays, and one layer
at a time is computed anew.
"""

from dataclasses import dataclass, replace

from mrprep.training.config import ModelConfig

_FP32, _HALF = 4, 2


@dataclass(frozen=True, slots=True)
class Device:
    """How a device keeps what the formulas count."""

    program: float
    """Bytes that MindSpore takes before the model."""
    graph: float
    """Bytes that a compiled layer takes."""
    activations: float
    """Bytes kept for a byte that the backward pass needs: what is not reused in time."""
    logits: float
    """Copies of the logits: themselves, their softmax, their gradient, and what is not reused in time."""
    frugal: bool
    """Whether recompute and mixed precision save memory here: on a CPU both were measured to take more."""


DEVICES = {"CPU": Device(654e6, 36e6, 5.45, 5.7, frugal=False), "Ascend": Device(0.0, 0.0, 1.0, 3.0, frugal=True)}
"""CPU: fitted to the peak RSS of our trainer (bench/README.md). Ascend: by the formulas alone, not measured."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a model is trained."""

    seq: int
    """Tokens a row."""
    micro: int
    """Rows a forward pass of one device."""
    accumulate: int = 1
    """Forward passes a step."""
    dp: int = 1
    """Copies of the model."""
    tp: int = 1
    """Devices a layer is split over."""
    pp: int = 1
    """Stages that the layers are split into."""
    amp: str = "O0"
    """Level of mixed precision, as ``mrprep train`` takes it; from O1 up with working copies in 2 bytes."""
    recompute: bool = False
    """Compute activations anew in the backward pass."""
    zero: int = 0
    """1: optimizer states are split over the copies of the model."""
    fused_attention: bool = False
    """Attention keeps no scores (Dao et al. 2022); only on Ascend."""
    device: str = "Ascend"
    """A key of ``DEVICES``."""

    @property
    def devices(self) -> int:
        """How many there are."""
        return self.dp * self.tp * self.pp


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on the device that holds most."""

    weights: float
    """What is multiplied, and with amp the fp32 masters."""
    gradients: float
    optimizer: float
    activations: float
    """Of all layers on the device."""
    logits: float
    program: float
    """MindSpore itself."""

    @property
    def total(self) -> float:
        """All of it."""
        return self.program + self.weights + self.gradients + self.optimizer + self.activations + self.logits


def memory(model: ModelConfig, layout: Layout) -> Memory:
    """Return what the fullest device holds: with pipeline stages the first, which has most rows in flight."""
    parameters = _parameters(model, layout)
    half = _HALF if layout.amp != "O0" else 0
    accumulated = _FP32 if layout.accumulate > 1 else 0
    split = layout.dp if layout.zero else 1
    tokens, device = layout.micro * layout.seq, DEVICES[layout.device]
    wide = _HALF if layout.amp in ("O2", "O3") and device.frugal else _FP32
    return Memory(
        weights=parameters * (_FP32 + half),
        gradients=parameters * (_FP32 + half + accumulated),
        optimizer=parameters * 2 * _FP32 / split,
        activations=_activations(model, layout) * wide * device.activations,
        logits=tokens * model.vocab_size / layout.tp * device.logits * _FP32,
        program=device.program + device.graph * model.num_hidden_layers,
    )


def layer_activations(model: ModelConfig, layout: Layout) -> float:
    """Return the numbers that one layer keeps for its backward pass."""
    width, inner = model.hidden_size, model.intermediate_size
    heads, kv = model.num_attention_heads, 2 * model.num_key_value_heads * model.head_dim
    norms = 2 * 3 * width
    attention = (width + 2 * heads * model.head_dim + kv) / layout.tp
    scores = 0 if layout.fused_attention else 2 * heads * layout.seq / layout.tp
    feed_forward = 4 * inner / layout.tp
    return layout.micro * layout.seq * (norms + attention + scores + feed_forward)


def _activations(model: ModelConfig, layout: Layout) -> float:
    """Return the numbers kept by all layers of a device, for all rows in flight."""
    layers = -(-model.num_hidden_layers // layout.pp)
    in_flight = min(layout.pp, layout.accumulate)
    layer = layer_activations(model, layout)
    if not (layout.recompute and DEVICES[layout.device].frugal):
        return layers * in_flight * layer
    return layers * in_flight * layout.micro * layout.seq * model.hidden_size + layer


def _parameters(model: ModelConfig, layout: Layout) -> float:
    """Return the parameters on one device; embeddings are split by tensor parallelism and stand on the end stages."""
    embeddings = model.vocab_size * model.hidden_size
    tables = embeddings * (1 if model.tie_word_embeddings else 2)
    blocks = model.parameter_count - tables
    stages = blocks / layout.pp
    return (stages + (tables if layout.pp == 1 else embeddings)) / layout.tp


@dataclass(frozen=True, slots=True)
class Saving:
    """What changing one thing would save."""

    what: str
    bytes: float
    price: str


def savings(model: ModelConfig, layout: Layout) -> list[Saving]:
    """Return what each way to need less would save on a device, in the order in which to try them."""
    before = memory(model, layout).total
    ways = [
        ("--recompute", replace(layout, recompute=True), "about a third more computing"),
        ("half the micro batch, twice the accumulation", _halved(layout), "smaller products, some speed"),
        ("--zero 1", replace(layout, zero=1), "one more exchange of weights a step"),
        ("--amp O2", replace(layout, amp="O2"), "a loss scale to watch in float16"),
        ("2-way tensor parallel", _tensor(layout), "two exchanges a layer; only within a node"),
        ("half the row length", replace(layout, seq=max(1, layout.seq // 2)), "a shorter context"),
    ]
    found = [Saving(what, before - memory(model, other).total, price) for what, other, price in ways if other != layout]
    return [saving for saving in found if saving.bytes > 0]


def _halved(layout: Layout) -> Layout:
    if layout.micro == 1:
        return layout
    return replace(layout, micro=layout.micro // 2, accumulate=layout.accumulate * 2)


def _tensor(layout: Layout) -> Layout:
    splits = layout.dp % 2 == 0 and DEVICES[layout.device].frugal
    return replace(layout, tp=layout.tp * 2, dp=layout.dp // 2) if splits else layout
