"""A JSON record with long strings: they stay where they stand in its bytes and are read a block at a time; the rest of
it is parsed with a mark in the place of each.
"""

import re
from collections.abc import Iterator, Mapping

LONG = 4 << 20
"""Bytes of a string from which on it is left out of what is parsed."""
_BLOCK = 1 << 16
_ESCAPE = 12
"""Bytes of the longest escape, that of a character of two surrogates."""

_HIGH = re.compile(rb"\\u[dD][89abAB]")
"""A surrogate that may open a pair."""


def shortened(raw: bytes) -> tuple[bytes, Mapping[str, memoryview]]:
    """Return a record with a mark for each long string, and mark -> what stands between the quotes of that string."""
    name = "long"
    while name.encode() in raw:
        name += "-"
    whole, strings = memoryview(raw), dict[str, memoryview]()
    parts: list[bytes | memoryview] = []
    copied = at = 0
    while (begin := raw.find(b'"', at)) >= 0 and (end := _closing(raw, begin + 1)) >= 0:
        if end - begin > LONG:
            mark = f"{name}<{len(strings)}>"
            strings[mark] = whole[begin + 1 : end]
            parts += [whole[copied : begin + 1], mark.encode()]
            copied = end
        at = end + 1
    return b"".join([*parts, whole[copied:]]), strings


def stretches(text: str, strings: Mapping[str, memoryview]) -> Iterator[str | memoryview]:
    """Yield a text out of a shortened record: what stands between its marks, and the strings that these stand for."""
    for part in re.split("(" + "|".join(map(re.escape, strings)) + ")", text):
        yield strings.get(part, part)


def blocks(string: memoryview) -> Iterator[bytes]:
    """Yield a string as JSON strings that follow each other; no character and no escape is cut."""
    at = 0
    while at < len(string):
        block = bytes(string[at : at + _BLOCK])
        if at + len(block) < len(string):
            block = block[: _cut(block, string[at + len(block)])]
        yield b'"%b"' % block
        at += len(block)


def _closing(raw: bytes, at: int) -> int:
    """Return the quote that ends a string which begins at ``at``; −1 if none does."""
    while (end := raw.find(b'"', at)) >= 0:
        before = end
        while raw[before - 1] == ord("\\"):
            before -= 1
        if (end - before) % 2 == 0:
            return end
        at = end + 1
    return -1


def _cut(block: bytes, following: int) -> int:
    """Return where a block that begins with a whole character is to end, at the latest before ``following``."""
    last = block.rfind(b"\\", len(block) - _ESCAPE)
    if last >= 0 and _opens(block, last):
        pair = last - _ESCAPE // 2
        return pair if _HIGH.match(block, pair) and _opens(block, pair) else last
    end = len(block)
    while following & 0xC0 == 0x80 and end > len(block) - 4:
        end -= 1
        following = block[end]
    return end


def _opens(block: bytes, at: int) -> bool:
    """Tell whether the backslash at a place begins an escape, as one after an even number of others does."""
    return (at - len(block[:at].rstrip(b"\\"))) % 2 == 0
