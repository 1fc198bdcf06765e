"""What the filter knows of many texts at once, as columns with an entry a text: kinds of characters, lines, density.

Texts are judged by a sample of at most 64 Ki characters, taken in four stretches spread over a longer text, so a
book costs no more than a chapter. Some 12 ns a character of the samples and 1.5 microseconds a text; a batch of
one text costs 100 microseconds, so texts should come by the hundred.
"""

import functools
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from mrprep.filtering.classes import Kind, count_classes

if TYPE_CHECKING:
    from pyarrow import Codec

Column = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
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
        self._joined = "\n".join([*self.samples, ""])
        self._codes = np.frombuffer(self._joined.encode("utf-32-le", "surrogatepass"), np.uint32)
        self._owners = np.repeat(np.arange(len(texts), dtype=np.int32), self.sizes + 1)
        self.kinds = count_classes(self._codes, self._owners, len(texts))
        self.kinds[Kind.SPACE] -= 1  # the line end that parts it from the next
        """Characters of each `Kind`, then of each watched one: int64[classes, texts]."""
        self.inked = self.sizes - self.kinds[Kind.SPACE] - self.kinds[Kind.NOTHING]
        """Characters that are neither white space nor nothing."""
        self.wide = self.of(Kind.STACKED, Kind.HAN, Kind.RARE_HAN, Kind.KANA)
        """Characters that are units by themselves."""
        self.latin = self.of(Kind.LATIN, Kind.ACCENTED)
        """Letters of the Latin script."""
        self.densities = np.fromiter(map(_density, self.samples), np.float64, len(texts))
        """Compressed bytes a byte, by LZ4: about 0.6 for prose, near 0 for repetition."""
        ends = np.flatnonzero(self._codes == _LINE_END)
        starts = np.concatenate([[0], ends[:-1] + 1])
        filled = ends > starts
        self._starts, self._ends = starts[filled], ends[filled]
        self.line_owners = self._owners[self._starts]
        """Which text each line that is not empty is of."""
        self.line_sizes = self._ends - self._starts
        """Characters of each of these lines."""
        self.lines = np.bincount(self.line_owners, minlength=len(texts))
        """Lines that are not empty."""

    def of(self, *rows: int) -> Column:
        """Return how many characters of some kinds, or of some watched ones, each text has."""
        return functools.reduce(np.add, (self.kinds[row] for row in rows))

    def containing(self, words: str) -> Mask:
        """Mark the texts whose samples contain these words."""
        if words not in self._joined:
            return np.zeros(len(self.texts), bool)
        return np.array([words in sample for sample in self.samples], bool)

    def lines_at(self, those: Column) -> Column:
        """Return how many of some lines, given by their indices, each text has."""
        return np.bincount(self.line_owners[those], minlength=len(self.texts))

    def from_line_ends(self, back: int) -> npt.NDArray[np.uint32]:
        """Return the code point that stands ``back`` places before each line's end; 1 is its last character."""
        return self._codes[np.maximum(self._ends - back, 0)]

    @cached_property
    def repeated(self) -> Column:
        """Characters in lines that stood before in the same text, or more: lines are told apart by hashes."""
        if not self._starts.size:
            return np.zeros(len(self.texts), np.int64)
        bounds = np.stack([self._starts, self._ends], axis=1).ravel()
        hashes = np.add.reduceat(np.square(self._codes), bounds, dtype=np.uint32)[::2]  # blind to order
        keys = self.line_owners.astype(np.uint64) << np.uint64(44)
        keys |= (hashes.astype(np.uint64) & np.uint64(0xFFFFFFF)) << np.uint64(16)
        keys |= np.minimum(self.line_sizes, 0xFFFF).astype(np.uint64)
        keys.sort()
        again = keys[1:][keys[1:] == keys[:-1]]
        sums = np.bincount((again >> np.uint64(44)).astype(np.int64), again & np.uint64(0xFFFF), len(self.texts))
        return sums.astype(np.int64)


def _density(text: str) -> float:
    data = text.encode("utf-8", "surrogatepass")
    return len(_codec().compress(data, asbytes=True)) / max(1, len(data))


@cache
def _codec() -> "Codec":
    import pyarrow as pa

    return pa.Codec("lz4_raw")


def _sample(text: str) -> str:
    width = _SAMPLE // _STRETCHES
    step = (len(text) - width) // (_STRETCHES - 1)
    return "\n".join(text[at * step : at * step + width] for at in range(_STRETCHES))
