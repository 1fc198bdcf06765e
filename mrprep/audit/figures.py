"""What the page draws, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Heat:
    """A square of numbers."""

    names: Sequence[str]
    """Of rows and columns; safe to print."""
    values: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts between edges."""

    edges: Sequence[float]
    """Rising, one more than counts."""
    counts: Sequence[float]


@dataclass(frozen=True, slots=True)
class Group:
    """What one source or shard is like."""

    tokens: int
    top: float
    """Share of its most frequent token."""
    entropy: float
    """Bits a token."""
    zipf: float


@dataclass(frozen=True, slots=True)
class Figures:
    """All of them; what a check does not give is empty."""

    ranks: Sequence[int] = ()
    """Ranks of tokens by frequency, spread evenly over their logarithms, from 1."""
    shares: Sequence[float] = ()
    """Of the text, of the token at each of these ranks."""
    top: Sequence[tuple[str, float]] = ()
    """The most frequent pieces, and their shares."""
    groups: Mapping[str, Group] = field(default_factory=dict)
    """By source."""
    bytes_per_token: Mapping[str, float] = field(default_factory=dict)
    """By source."""
    scripts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Source -> script -> share of its letters."""
    all_scripts: Mapping[str, float] = field(default_factory=dict)
    """Script -> share of the letters of all sources, the largest first."""
    languages: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Source -> language -> share of its rows."""
    document_bytes: Histogram | None = None
    row_documents: Histogram | None = None
    """Documents a row."""
    shard_heat: Heat | None = None
    split_heat: Heat | None = None
