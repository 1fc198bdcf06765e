r"""One look at many texts: which character rules have something to do in which of them, and where white space has.

Every character of the texts gets a class by one table: plain, ``\n``, other white space, or one of the classes of
characters that trigger rules. What is not plain is rare and found by NumPy, so that clean text costs about 1 ns a
character, however short the texts.
"""

import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mrprep.cleaning.rule import Rule
from mrprep.cleaning.whitespace import BLANK

TRAILING = 1 << 30
"""White space at the end of a line or of the text."""
BLANK_LINES = 1 << 29
"""A blank line at either end, or a run of them."""
UNSURE = 1 << 31
"""Characters beyond the basic plane, which the table does not tell apart."""

_PLAIN, _NEWLINE, _BLANK = range(3)
"""Classes; those after them trigger something."""
_LAST = 0xFFFF
"""Stands for all characters beyond the basic plane, too."""
_WINDOW = 1 << 17
_RUN = 4
"""Line ends in a row that `whitespace.blank_lines` shortens."""

_AT_THE_END = np.array([0, BLANK_LINES, TRAILING, 0])
"""What the class of a text's last character says of it."""

_Classes = npt.NDArray[np.uint8]
_Places = npt.NDArray[np.int64]


class Look:
    """Tells for texts which of some rules are called for.

    Args:
        rules: at most 29; one without a trigger and a mark is called for by every text.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        masks = _masks(rules)
        self._bits, own = np.unique(masks, return_inverse=True)
        self._classes = (own + _BLANK).astype(np.uint8)
        """Of each character; of a rare one its place in ``_bits``, after the other classes."""
        self._classes[masks == 0] = _PLAIN
        blank = _points(BLANK)
        self._classes[blank[masks[blank] == 0]] = _BLANK
        self._classes[ord("\n")] = _NEWLINE
        self._classes = np.pad(self._classes, (0, sys.maxunicode - _LAST), "edge")
        self._ascii = self._classes[:256].tobytes()
        self._marks = [(rule.mark, 1 << at) for at, rule in enumerate(rules) if rule.mark]
        self._always = sum(1 << at for at, rule in enumerate(rules) if not rule.trigger and not rule.mark)

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """Return for each text the bits of the rules, `TRAILING`, `BLANK_LINES` and `UNSURE`; 0 of a clean one."""
        joined = "".join(texts)
        bounds = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=bounds[1:])
        found = np.full(len(texts), self._always, np.int64)
        for start in range(0, len(joined), _WINDOW):
            begin = max(0, start - _RUN + 1)
            self._look(self._classes_of(joined[begin : start + _WINDOW]), bounds - begin, found)
        for mark, bit in self._marks:
            if mark[0] in joined:  # one character is sought ten times as fast as several
                found[[at for at, text in enumerate(texts) if mark[0] in text and mark in text]] |= bit
        calls: list[int] = found.tolist()
        return calls

    def _classes_of(self, part: str) -> _Classes:
        if part.isascii():
            return np.frombuffer(part.encode("ascii").translate(self._ascii), np.uint8)
        return self._classes.take(_points(part), mode="wrap")  # the fastest mode; no point is beyond the table

    def _look(self, classes: _Classes, bounds: _Places, found: npt.NDArray[np.int64]) -> None:
        """Mark the texts in which something is to be done; they begin and the last one ends at those places."""
        starts, ends = bounds[:-1], bounds[1:]
        newlines = np.flatnonzero(classes == _NEWLINE)
        after_blank = newlines[classes[newlines - 1] == _BLANK]
        found[np.searchsorted(ends, after_blank, "right")] |= TRAILING
        runs = newlines[_RUN - 1 :][newlines[_RUN - 1 :] - newlines[: 1 - _RUN] == _RUN - 1]
        found[np.searchsorted(ends, runs, "right")] |= BLANK_LINES
        rare = np.flatnonzero(classes > _BLANK)
        if rare.size:
            np.bitwise_or.at(found, np.searchsorted(ends, rare, "right"), self._bits[classes[rare] - _BLANK])
        first = slice(*np.searchsorted(starts, (0, classes.size)))
        found[first] |= BLANK_LINES * (classes[starts[first]] == _NEWLINE)
        last = slice(*np.searchsorted(ends, (1, classes.size + 1)))
        found[last] |= _AT_THE_END[np.minimum(classes[ends[last] - 1], _BLANK + 1)]


def _masks(rules: Sequence[Rule]) -> npt.NDArray[np.int64]:
    """Return for each character of the basic plane the bits of the rules that it triggers."""
    every = np.arange(_LAST + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    masks = np.zeros(_LAST + 1, np.int64)
    for at, rule in enumerate(rules):
        if rule.trigger:
            masks[_points("".join(rule.trigger.findall(every)))] |= 1 << at
    masks[_LAST] |= UNSURE
    return masks


def _points(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
