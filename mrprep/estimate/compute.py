"""How much computing a training is, and how long it takes.

A token costs 6 operations a number of the matrices (2 forward, 4 backward: Kaplan et al. 2020, section 2.1) and
12 x layers x width x row length for attention (Chowdhery et al. 2022, "PaLM", appendix B, which also defines MFU).
"""

from dataclasses import dataclass

from mrprep.training.config import ModelConfig


@dataclass(frozen=True, slots=True)
class Compute:
    """Of one training."""

    flops_a_token: float
    """Operations, forward and backward."""
    tokens: float
    """Trained on, over all epochs."""
    global_batch: int
    """Rows a step."""
    steps: int
    seconds: float
    """At the given devices and share of their peak."""

    @property
    def flops(self) -> float:
        """Operations in all."""
        return self.flops_a_token * self.tokens


def compute(
    model: ModelConfig, seq: int, tokens: float, global_batch: int, *, devices: int, peak: float, mfu: float
) -> Compute:
    """Return what training on ``tokens`` tokens takes.

    Args:
        model: its shape.
        seq: tokens a row.
        tokens: trained on, all epochs counted.
        global_batch: rows a step.
        devices: how many work at it.
        peak: operations a second that a device can do.
        mfu: share of them that the model gets (model FLOPs utilisation).
    """
    each = model.flops_per_token(seq)
    return Compute(
        each, tokens, global_batch, int(tokens // (seq * global_batch)), each * tokens / (devices * peak * mfu)
    )
