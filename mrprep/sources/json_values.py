"""Splits a JSON array into its elements as it streams by, each with its offset and line.

Only the structure is looked at: strings, brackets, commas. Elements are parsed by whoever takes them, so a
bad one costs itself alone unless it breaks the brackets. Vectorised by block. Memory: a few arrays of a
block's size, and the longest element.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO

import numpy as np

from mrprep.sources.files import UnreadableError
from mrprep.sources.lines import MAX_RECORD, TooLong

_WHITE = b" \t\r\n"
_QUOTE, _COMMA, _OPEN, _CLOSE = 1, 2, 3, 4
_KINDS = np.zeros(256, np.uint8)
_KINDS[list(b'"')] = _QUOTE
_KINDS[list(b",")] = _COMMA
_KINDS[list(b"[{")] = _OPEN
_KINDS[list(b"]}")] = _CLOSE


@dataclass(frozen=True, slots=True)
class Element:
    """One element of the array."""

    offset: int
    line: int
    raw: bytes


def elements(blocks: Iterable[bytes], limit: int = MAX_RECORD) -> Iterator[Element | TooLong]:
    """Yield the elements of the array that a stream of JSON consists of.

    Raises:
        UnreadableError: after the last whole element: the stream ends before the array, or goes on after it.
    """
    array = _Array(limit)
    for block in blocks:
        yield from array.feed(block)
        if array.ended and array.goes_on:
            raise UnreadableError("has text after its JSON array, which is not read")
    if not array.ended:
        raise UnreadableError("ends in the middle of its JSON array")


class _Array:
    """Where in the array the stream is, and the element that has begun."""

    def __init__(self, limit: int) -> None:
        self.ended = self.goes_on = False
        self._limit = limit
        self._depth = 0
        self._in_string = 0
        self._tail = b""
        self._held = BytesIO()
        self._size = self._lines = 0
        self._offset, self._line = 0, 1

    def feed(self, block: bytes) -> Iterator[Element | TooLong]:
        block = self._tail + block
        odd = (len(block) - len(block.rstrip(b"\\"))) % 2  # an escape that the next block completes
        block, self._tail = block[: len(block) - odd], block[len(block) - odd :]
        at = 0
        if not self.ended:
            for position, kind in self._cuts(block):
                self._hold(block[at:position])
                at = position + 1
                yield from self._close(is_element=kind != _OPEN)
                self.ended = kind == _CLOSE
                if self.ended:
                    break
        if self.ended:
            self.goes_on |= bool(block[at:].strip(_WHITE))
        else:
            self._hold(block[at:])

    def _cuts(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield position and kind of what opens the array, parts its elements, and closes it."""
        plain = block.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        kinds = _KINDS[np.frombuffer(plain, np.uint8)]
        at = np.flatnonzero(kinds)
        kinds = kinds[at]
        quotes = self._in_string + np.cumsum(kinds == _QUOTE)
        self._in_string = int(quotes[-1]) & 1 if quotes.size else self._in_string
        outside = (quotes & 1 == 0) & (kinds != _QUOTE)
        at, kinds = at[outside], kinds[outside]
        depth = self._depth + np.cumsum((kinds == _OPEN).astype(np.int64) - (kinds == _CLOSE))
        self._depth = int(depth[-1]) if depth.size else self._depth
        ends = (depth == 1) & (kinds != _CLOSE) | (depth == 0) & (kinds == _CLOSE)
        return zip(at[ends].tolist(), kinds[ends].tolist(), strict=True)

    def _hold(self, part: bytes) -> None:
        """Add to the element that has begun; white space before it is passed over."""
        if not self._size:
            inside = part.lstrip(_WHITE)
            before = part[: len(part) - len(inside)]
            self._offset += len(before)
            self._line += before.count(b"\n")
            part = inside
        self._size += len(part)
        self._lines += part.count(b"\n")
        if self._size <= self._limit:
            self._held.write(part)
        else:
            self._held = BytesIO()

    def _close(self, is_element: bool) -> Iterator[Element | TooLong]:
        if is_element and self._size > self._limit:
            yield TooLong(self._offset, self._line, self._size)
        elif is_element and self._size:
            yield Element(self._offset, self._line, self._held.getvalue().rstrip(_WHITE))
        self._offset += self._size + 1
        self._line += self._lines
        self._held, self._size, self._lines = BytesIO(), 0, 0
