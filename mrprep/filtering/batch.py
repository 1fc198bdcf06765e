"""What the filter knows of many texts at once, as columns with an entry a text: kinds of characters, lines, density.

Texts are judged by a sample of at most 64 Ki characters, taken in four stretches spread over a longer text, so a
book costs no more than a chapter. Some 4 ns a byte of the samples, half of it for LZ4, and 2 microseconds a text;
judging a batch costs a millisecond however small it is, so it should have texts by the hundred.
"""

import functools
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from mrprep.filtering.classes import Codes, Kind, code_points, count_classes
from mrprep.filtering.tally import Column, Mask

if TYPE_CHECKING:
    from pyarrow import Codec

Seen = TypeVar("Seen")

_SAMPLE = 1 << 16
_STRETCHES = 4
_LINE_END = 10


class Memo:
    """Something that is looked at by several rules, each look taken once."""

    def __init__(self) -> None:
        self._seen: dict[Callable[..., Any], Any] = {}

    def once(self, look: Callable[[Self], Seen]) -> Seen:
        """Return ``look(self)``, from memory the second time."""
        if look not in self._seen:
            self._seen[look] = look(self)
        seen: Seen = self._seen[look]
        return seen


class Batch(Memo):
    """Texts under the filter.

    Args:
        texts: whole texts.
        partial: which are one piece of a longer document, bool[len(texts)].
    """

    def __init__(self, texts: Sequence[str], partial: Sequence[bool]) -> None:
        super().__init__()
        self.texts = texts
        self.partial = np.array(partial, bool)
        self.samples = [text if len(text) <= _SAMPLE else _sample(text) for text in texts]
        """The texts, or stretches of them in their order, a line between them."""
        self.sizes = np.fromiter(map(len, self.samples), np.int64, len(texts))
        """Characters of the samples."""
        self.encoded = [sample.encode("utf-8", "surrogatepass") for sample in self.samples]
        """The samples in UTF-8."""
        self._joined = "\n".join([*self.samples, ""])
        self._codes = code_points(self._joined)
        self.kinds = count_classes(self._codes, self.sizes + 1)
        self.kinds[Kind.SPACE] -= 1  # the line end that parts it from the next
        """Characters of each `Kind`, then of each watched one: int64[classes, texts]."""
        self.inked = self.sizes - self.kinds[Kind.SPACE] - self.kinds[Kind.NOTHING]
        """Characters that are neither white space nor nothing."""
        self.wide = self.of(Kind.STACKED, Kind.HAN, Kind.RARE_HAN, Kind.KANA)
        """Characters that are units by themselves."""
        self.latin = self.of(Kind.LATIN, Kind.ACCENTED)
        """Letters of the Latin script."""
        self.densities = _densities(self.encoded)
        """Compressed bytes a byte, by LZ4: about 0.6 for prose, near 0 for repetition."""
        ends = np.flatnonzero(self._codes == _LINE_END)
        starts = np.concatenate([[0], ends[:-1] + 1])
        filled = ends > starts
        self._starts, self._ends = starts[filled], ends[filled]
        self.lines = np.diff(np.searchsorted(self._starts, np.cumsum(self.sizes + 1)), prepend=0)
        """Lines that are not empty."""
        self.line_owners = np.repeat(np.arange(len(texts)), self.lines)
        """Which text each line that is not empty is of."""
        self.line_sizes = self._ends - self._starts
        """Characters of each of these lines."""

    def of(self, *rows: int) -> Column:
        """Return how many characters of some kinds, or of some watched ones, each text has."""
        return self.kinds.take(rows, axis=0).sum(axis=0)

    def containing(self, words: str) -> Mask:
        """Mark the texts whose samples contain these words."""
        if words not in self._joined:
            return np.zeros(len(self.texts), bool)
        return np.array([words in sample for sample in self.samples], bool)

    def lines_at(self, those: Column) -> Column:
        """Return how many of some lines, given by their indices, each text has."""
        return np.bincount(self.line_owners[those], minlength=len(self.texts))

    def from_line_ends(self, back: int) -> Codes:
        """Return the code point that stands ``back`` places before each line's end; 1 is its last character."""
        return self._codes[np.maximum(self._ends - back, 0)]

    @cached_property
    def repeated(self) -> Column:
        """Characters in lines that stood before in the same text, or more: lines are told apart by hashes."""
        if not self._starts.size:
            return np.zeros(len(self.texts), np.int64)
        squares = np.square(self._codes, dtype=np.uint32)
        hashes = np.add.reduceat(squares, self._starts, dtype=np.uint32)  # blind to order
        between = np.append(self._starts[1:], self._codes.size) - self._ends
        hashes -= (between * _LINE_END**2).astype(np.uint32)
        keys = self.line_owners.astype(np.uint64) << np.uint64(44)
        keys |= (hashes.astype(np.uint64) & np.uint64(0xFFFFFFF)) << np.uint64(16)
        keys |= np.minimum(self.line_sizes, 0xFFFF).astype(np.uint64)
        keys.sort()
        again = keys[1:][keys[1:] == keys[:-1]]
        sums = np.bincount((again >> np.uint64(44)).astype(np.int64), again & np.uint64(0xFFFF), len(self.texts))
        return sums.astype(np.int64)


def _densities(texts: Sequence[bytes]) -> npt.NDArray[np.float64]:
    compress = functools.partial(_codec().compress, asbytes=True)
    compressed = np.fromiter(map(len, map(compress, texts)), np.int64, len(texts))
    return compressed / np.maximum(1, np.fromiter(map(len, texts), np.int64, len(texts)))


@cache
def _codec() -> "Codec":
    import pyarrow as pa

    return pa.Codec("lz4_raw")


def _sample(text: str) -> str:
    width = _SAMPLE // _STRETCHES
    step = (len(text) - width) // (_STRETCHES - 1)
    return "\n".join(text[at * step : at * step + width] for at in range(_STRETCHES))
