"""Mixed precision by MindSpore's levels O0 to O3, with a dynamic loss scale (Micikevicius et al. 2018) for float16.

| | matrix products | the rest | norms and softmax | loss |
|---|---|---|---|---|
| O0 | float32 | float32 | float32 | float32 |
| O1 | half | float32 | float32 | float32 |
| O2 | half | half | float32 | float32 |
| O3 | half | half | half, the norms' sums float32 | float32 |

Half is bfloat16 where the device has it, else float16. Weights, gradients and optimizer state are float32 at every
level; weights are made half where they are used.
"""

from dataclasses import dataclass
from typing import Any

import mindspore as ms
from mindspore import amp

from mrprep.training import device

LEVELS = ("auto", "O0", "O1", "O2", "O3")
"""What can be asked for; auto is O2 where the device has bfloat16, else O0."""


@dataclass(frozen=True, slots=True)
class Precision:
    """Types of a model's parts."""

    level: str = "O0"
    """Name of the level."""
    half: Any = ms.float32
    """The half type; float32 at O0."""

    @property
    def products(self) -> Any:
        """Type that matrices are multiplied in."""
        return self.half

    @property
    def stream(self) -> Any:
        """Type of what lies between."""
        return self.half if self.level in ("O2", "O3") else ms.float32

    @property
    def norms(self) -> Any:
        """Type of norms and softmax."""
        return self.half if self.level == "O3" else ms.float32

    @property
    def scaled(self) -> bool:
        """Whether gradients are too small or large for the half type, so that the loss is scaled."""
        return bool(self.half == ms.float16)


FULL = Precision()
"""float32 throughout."""


def choose(level: str) -> tuple[Precision, str]:
    """Return the precision that a level means on this device, and a sentence that says so."""
    if level == "O0":
        return FULL, "precision: float32 (O0)"
    bfloat16 = device.has_bfloat16()
    if level == "auto" and not bfloat16:
        return FULL, "precision: float32 (O0), as the device has no bfloat16"
    level = "O2" if level == "auto" else level
    if bfloat16:
        return Precision(level, ms.bfloat16), f"precision: bfloat16 ({level}), weights float32"
    return (
        Precision(level, ms.float16),
        f"precision: float16 ({level}) with a dynamic loss scale, weights float32; the device has no bfloat16",
    )


def loss_scale(precision: Precision, first: float, window: int) -> amp.DynamicLossScaler | None:
    """Return what scales the loss, doubled after ``window`` good steps and halved at an overflow; None if none does."""
    return amp.DynamicLossScaler(first, 2, window) if precision.scaled else None
