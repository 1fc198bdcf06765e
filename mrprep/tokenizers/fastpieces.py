"""Ids of byte-level BPE (tokenizer.json, tiktoken), and of Metaspace BPE, by gigatoken where they are known to be the
same as those of the file's own package.

In such files the rank of each merge is given, so that there is one order of merges. What is left to differ, each with
its gate:

- The cut into words before the merges, and what rewrites the text before that: gigatoken has code of its own for the
  patterns it knows, and refuses others. The patterns ask of a character no more than its class in Unicode: on all 1.1
  million code points between letters, digits, spaces, points and line ends, the two differ only on such as Unicode 14
  had not assigned (``tests/test_tokenizers_unicode.py``). Texts that hold one of those are left to the package, and the
  first and last character of each stretch of one class are compared when a file is opened.
- Added tokens that match in texts: texts that hold the text of one are left to the package.
- An error in either: texts of every kind, and pieces of the vocabulary as words, are encoded by both when a file is
  opened.
"""

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.tokenizers.fastbpe import PROBES
from mrprep.tokenizers.gigatoken import GROWTH, Gigatoken

GROWTH_SHARE = 16
"""The process may grow by so many times the size of the file before it is opened anew: opening takes time by size."""
PROBE_PIECES = 4000
"""Pieces of the vocabulary that are compared when a file is opened."""


class FastPieces:
    """One file in gigatoken, with what it takes to know which texts to give it."""

    def __init__(self, opened: Callable[[], Any], size: int, literals: Iterable[str] = ()) -> None:
        """Open a file.

        Args:
            opened: returns a new ``gigatoken.Tokenizer``.
            size: bytes of the file.
            literals: added tokens that match in texts.
        """
        self._backend = Gigatoken(opened, GROWTH + GROWTH_SHARE * size)
        self._literals = re.compile("|".join(map(re.escape, literals))) if literals else None

    def encode(self, texts: Sequence[str]) -> tuple[list[npt.NDArray[np.uint32]], list[int]]:
        """Return the ids of each text, and the places of those that the file's own package has to encode."""
        flagged = [i for i, text in enumerate(texts) if self._unsure(text)]
        return self._backend.encode(texts), flagged

    def _unsure(self, text: str) -> bool:
        return has_unassigned(text) or bool(self._literals and self._literals.search(text))


def agrees(fast: FastPieces, exact: Callable[[str], Iterable[int]], pieces: Sequence[bytes]) -> bool:
    """Tell whether gigatoken and the file's own package give the same ids for all probes.

    Args:
        fast: the file in gigatoken.
        exact: the ids of a text by the package.
        pieces: of the vocabulary.
    """
    probes = [*PROBES, *_classes(), *_words(pieces)]
    found, flagged = fast.encode(probes)
    doubted = set(flagged)
    return all(i in doubted or np.array_equal(found[i], list(exact(text))) for i, text in enumerate(probes))


def has_unassigned(text: str) -> bool:
    """Tell whether a text holds a code point that Unicode 14, that of Python 3.11, had not assigned."""
    if text.isascii():
        return False
    return bool(_unassigned()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)].any())


@cache
def _unassigned() -> npt.NDArray[np.bool_]:
    """bool[0x110000]."""
    return np.array([unicodedata.category(chr(point)) == "Cn" for point in range(sys.maxunicode + 1)])


def in_contexts(characters: Iterable[str]) -> str:
    """Return characters between others of each kind that a pattern may ask for."""
    return "".join(f"a{c}1{c} {c}{c}.{c}\n{c}" for c in characters)


def _classes() -> Iterator[str]:
    """Yield the first and last character of each stretch of code points of one class, in contexts."""
    points = range(sys.maxunicode + 1)
    classes = np.array([unicodedata.category(chr(point)) for point in points])
    starts = np.flatnonzero(classes[1:] != classes[:-1]) + 1
    edges = np.union1d(starts, starts - 1)
    edges = edges[~np.isin(classes[edges], ["Cn", "Cs"])].tolist()
    for first in range(0, len(edges), 64):
        yield in_contexts(map(chr, edges[first : first + 64]))


def _words(pieces: Sequence[bytes]) -> Iterator[str]:
    """Yield pieces from all over the vocabulary, each with the next, as words of their own."""
    chosen = pieces[:: max(1, len(pieces) // PROBE_PIECES)]
    texts = [piece.decode("utf-8", "ignore") for piece in chosen]
    for first in range(0, len(texts), 64):
        yield " ".join(texts[first : first + 64])
        yield "".join(texts[first : first + 64])
