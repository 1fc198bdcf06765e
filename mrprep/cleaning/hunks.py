"""Where two texts differ, when one was made from the other by many small changes; in linear time.

From each difference on, the nearest place is sought at which both texts go on alike. A difference too large for
that reaches to the end.
"""

from collections.abc import Iterator
from dataclasses import dataclass

_BLOCK = 4096
_NEAR, _FAR = (3, 8, 8), (12, 1 << 16, 64)
"""How nearby places are sought, and then far ones: characters that must agree there; most characters that the change
takes out, and puts in."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """``before[start:stop]`` became ``after[new_start:new_stop]``."""

    start: int
    stop: int
    new_start: int
    new_stop: int


def hunks(before: str, after: str) -> Iterator[Hunk]:
    """Yield the differences of two texts, in order."""
    tail = _common_suffix(before, after)
    ends = len(before) - tail, len(after) - tail
    at, new = 0, 0
    while True:
        same = min(_common_prefix(before, at, after, new), ends[0] - at, ends[1] - new)
        at, new = at + same, new + same
        if (at, new) == ends:
            return
        stop, new_stop = ends
        if at < ends[0] and new < ends[1]:
            met = _meet(before, at, after, new, *_NEAR) or _meet(before, at, after, new, *_FAR) or ends
            if met[0] <= ends[0] and met[1] <= ends[1]:
                stop, new_stop = met
        yield Hunk(at, stop, new, new_stop)
        at, new = stop, new_stop


def _meet(
    before: str, at: int, after: str, new: int, alike: int, most_out: int, most_in: int
) -> tuple[int, int] | None:
    """Return the nearest places after two at which both texts go on alike."""
    best, nearest = None, most_out + most_in
    for put_in in range(most_in):
        probe = after[new + put_in : new + put_in + alike]
        reach = at + min(most_out, nearest - put_in) + alike
        found = before.find(probe, at, reach) if len(probe) == alike else -1
        if found >= 0 and found - at + put_in < nearest:
            best, nearest = (found, new + put_in), found - at + put_in
    return best


def _common_prefix(a: str, i: int, b: str, j: int) -> int:
    size = 0
    while (block := a[i + size : i + size + _BLOCK]) and block == b[j + size : j + size + _BLOCK]:
        size += len(block)
    pairs = zip(a[i + size : i + size + _BLOCK], b[j + size : j + size + _BLOCK], strict=False)
    return size + next(
        (at for at, (x, y) in enumerate(pairs) if x != y), min(_BLOCK, len(a) - i - size, len(b) - j - size)
    )


def _common_suffix(a: str, b: str) -> int:
    size = 0
    while (block := a[max(0, len(a) - size - _BLOCK) : len(a) - size]) and b.endswith(block, 0, len(b) - size):
        size += len(block)
    pairs = zip(reversed(a[: len(a) - size][-_BLOCK:]), reversed(b[: len(b) - size][-_BLOCK:]), strict=False)
    return size + next((at for at, (x, y) in enumerate(pairs) if x != y), min(_BLOCK, len(a) - size, len(b) - size))
