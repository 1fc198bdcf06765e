"""How rows of a matrix, or numbers of a bias, are ordered in other programs' files. Arrays in, arrays out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Raw = npt.NDArray[Any]


class Arrangement(Protocol):
    """One array of theirs against one or several of ours."""

    @property
    def said(self) -> str:
        """What the key map says of it."""

    def split(self, theirs: Raw) -> tuple[Raw, ...]:
        """Return our arrays."""

    def join(self, ours: Sequence[Raw]) -> Raw:
        """Return their array."""


@dataclass(frozen=True, slots=True)
class Same:
    """As it is."""

    said: str = ""
    """Nothing."""

    def split(self, theirs: Raw) -> tuple[Raw, ...]:
        """Return it."""
        return (theirs,)

    def join(self, ours: Sequence[Raw]) -> Raw:
        """Return it."""
        return ours[0]


@dataclass(frozen=True, slots=True)
class Interleaved:
    """Meta's order of queries and keys: dimensions (2i, 2i + 1) of a head are turned together, ours are (i, i + w/2).

    The permutation is that of ``convert_llama_weights_to_hf.py`` of ``transformers``.
    """

    heads: int
    """Heads that the rows are of."""
    said: str = "pairs apart"
    """In the key map."""

    def split(self, theirs: Raw) -> tuple[Raw, ...]:
        """[heads * (w/2 * 2), ...] -> [heads * (2 * w/2), ...]."""
        pairs = theirs.reshape(self.heads, -1, 2, *theirs.shape[1:])
        return (pairs.swapaxes(1, 2).reshape(theirs.shape),)

    def join(self, ours: Sequence[Raw]) -> Raw:
        """Return the other way."""
        halves = ours[0].reshape(self.heads, 2, -1, *ours[0].shape[1:])
        return halves.swapaxes(1, 2).reshape(ours[0].shape)


@dataclass(frozen=True, slots=True)
class Packed:
    """InternLM2's ``wqkv``: for each key-value head its queries, then its key, then its value.

    As ``modeling_internlm2.py`` unpacks it: ``b q (h gs d) -> b q h gs d``, gs = queries a key-value head + 2.
    """

    kv_heads: int
    """Key-value heads."""
    group: int
    """Queries a key-value head."""
    said: str = "split"
    """In the key map."""

    def split(self, theirs: Raw) -> tuple[Raw, ...]:
        """[kv_heads * (group + 2) * w, ...] -> queries [kv_heads * group * w, ...], keys and values of kv_heads * w."""
        rest = theirs.shape[1:]
        heads = theirs.reshape(self.kv_heads, self.group + 2, -1, *rest)
        parts = heads[:, : self.group], heads[:, self.group], heads[:, self.group + 1]
        return tuple(part.reshape(-1, *rest) for part in parts)

    def join(self, ours: Sequence[Raw]) -> Raw:
        """Return the other way."""
        rest = ours[0].shape[1:]
        queries = ours[0].reshape(self.kv_heads, self.group, -1, *rest)
        keys, values = (each.reshape(self.kv_heads, 1, -1, *rest) for each in ours[1:])
        packed: Raw = np.concatenate([queries, keys, values], 1)
        return packed.reshape(-1, *rest)
