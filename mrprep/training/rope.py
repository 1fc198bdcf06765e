"""Rotary positions (Su et al. 2021), and the ways to stretch them over longer rows, as ``transformers`` has them."""

import math
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from mrprep.options import Options

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


class Scaling(Options):
    """What all ways have."""

    factor: float = Field(ge=1)
    """Rows are this many times as long as before."""

    def scaled(self, rates: F64, theta: float) -> F64:  # noqa: ARG002
        """Return radians a position of each pair, fp64[width / 2], from those without scaling."""
        return rates

    @property
    def magnitude(self) -> float:
        """What cosine and sine are multiplied by."""
        return 1.0


class DynamicRope(Scaling):
    """Dynamic NTK: nothing up to ``max_position_embeddings``, and no row here is longer."""

    rope_type: Literal["dynamic"]
    """The name in ``rope_scaling``."""


class LinearRope(Scaling):
    """Position interpolation (Chen et al. 2023): all angles divided by the factor."""

    rope_type: Literal["linear"]
    """The name in ``rope_scaling``."""

    def scaled(self, rates: F64, theta: float) -> F64:  # noqa: ARG002
        """Return radians a position of each pair."""
        return rates / self.factor


class Llama3Rope(Scaling):
    """Llama 3.1: waves longer than the old rows are stretched, short ones kept, those between blended."""

    rope_type: Literal["llama3"]
    """The name in ``rope_scaling``."""
    low_freq_factor: float = Field(gt=0)
    """Old rows over the longest wave that is blended."""
    high_freq_factor: float
    """Old rows over the shortest wave that is blended."""
    original_max_position_embeddings: int = Field(ge=1)
    """Longest row before."""

    @model_validator(mode="after")
    def _between(self) -> "Llama3Rope":
        if self.high_freq_factor <= self.low_freq_factor:
            raise ValueError(f"high_freq_factor {self.high_freq_factor} is not above {self.low_freq_factor}")
        return self

    def scaled(self, rates: F64, theta: float) -> F64:  # noqa: ARG002
        """Return radians a position of each pair."""
        turns = self.original_max_position_embeddings * rates / (2 * math.pi)
        kept = (turns - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor)
        return _blend(rates, self.factor, np.clip(kept, 0, 1))


class YarnRope(Scaling):
    """YaRN (Peng et al. 2023): as Llama 3.1 by the pair's number, and attention sharpened."""

    rope_type: Literal["yarn"]
    """The name in ``rope_scaling``."""
    original_max_position_embeddings: int = Field(ge=1)
    """Longest row before."""
    attention_factor: float | None = None
    """What cosine and sine are multiplied by; by the paper's rule if None."""
    beta_fast: float = 32
    """Turns in an old row from which on a pair is kept."""
    beta_slow: float = 1
    """Turns in an old row up to which a pair is stretched."""
    mscale: float | None = None
    """DeepSeek's weight in the rule's numerator; counts if both are given."""
    mscale_all_dim: float | None = None
    """DeepSeek's weight in the rule's denominator."""
    truncate: bool = True
    """Whether the borders are rounded to whole pairs."""

    def scaled(self, rates: F64, theta: float) -> F64:
        """Return radians a position of each pair."""
        pairs = len(rates)
        low, high = (self._pair(turns, pairs, theta) for turns in (self.beta_fast, self.beta_slow))
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, 2 * pairs - 1)
        stretched: F64 = (np.arange(pairs) - low) / (high - low if high != low else 0.001)
        kept: F64 = 1.0 - np.clip(stretched, 0.0, 1.0)
        return _blend(rates, self.factor, kept)

    def _pair(self, turns: float, pairs: int, theta: float) -> float:
        """Return the number of the pair that turns so often in an old row."""
        return pairs * math.log(self.original_max_position_embeddings / (turns * 2 * math.pi)) / math.log(theta)

    @property
    def magnitude(self) -> float:
        """What cosine and sine are multiplied by."""
        if self.attention_factor is not None:
            return self.attention_factor
        if self.mscale and self.mscale_all_dim:
            return self._sharpened(self.mscale) / self._sharpened(self.mscale_all_dim)
        return self._sharpened(1)

    def _sharpened(self, weight: float) -> float:
        return 0.1 * weight * math.log(self.factor) + 1


RopeScaling = Annotated[LinearRope | DynamicRope | Llama3Rope | YarnRope, Field(discriminator="rope_type")]
"""``rope_scaling`` of a ``config.json``."""


def tables(theta: float, width: int, positions: npt.NDArray[np.int64], scaling: Scaling | None) -> tuple[F32, F32]:
    """Return cosine and sine of the angles at some positions, fp32[positions, width / 2].

    Args:
        theta: base of the angles.
        width: of a head; its halves are turned against each other.
        positions: in the row, from 0.
        scaling: how they are stretched, if they are.
    """
    rates = theta ** (-np.arange(0, width, 2) / width)
    magnitude = 1.0
    if scaling:
        rates, magnitude = scaling.scaled(rates, theta), scaling.magnitude
    angles = np.outer(positions, rates)
    return (np.cos(angles) * magnitude).astype(np.float32), (np.sin(angles) * magnitude).astype(np.float32)


def _blend(rates: F64, factor: float, kept: F64) -> F64:
    blended: F64 = rates * (kept + (1 - kept) / factor)
    return blended
