"""Arrays of integers as MindRecord packs them, unpacked: about 100 Mtok/s. Pure.

As found in its files: the number of integers (4 bytes, big-endian); two bits for each, four to a byte from the highest
down, that say how many bytes it takes (1, 2, 4 or 8); then those, little-endian with a sign.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.runs import runs

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]

SPARE = 8
"""Bytes after the last array that may be looked at."""
_COUNT = 4
_A_BYTE = 4
"""Integers that a byte of tags tells of."""
_TAGS = np.arange(256)[:, None] >> np.array([6, 4, 2, 0]) & 3
_WIDTHS = (1 << _TAGS).astype(np.uint8).view(np.uint32).reshape(-1)
"""By a byte of tags, the bytes of its four integers."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """Arrays one after the other: the i-th is ``values[first[i] : first[i] + count[i]]``; anything lies between."""

    values: npt.NDArray[Any]
    first: I64
    count: I64


def unpack(data: U8, begin: I64, end: I64, dtype: npt.DTypeLike) -> Ragged:
    """Unpack the arrays that stand in ``data`` from ``begin[i]`` to before ``end[i]``.

    Args:
        data: with SPARE bytes after the last array; 0 <= begin <= end.
        begin: rising or not.
        end: of each.
        dtype: int32 or int64.

    Raises:
        ValueError: what stands there is no packed array of that dtype.
    """
    kind = np.dtype(dtype).newbyteorder("<")
    if (end - begin < _COUNT).any():
        raise ValueError("an array without a length")
    count = big_endian(data, begin, _COUNT)
    tagged = -(-count // _A_BYTE)
    body = begin + _COUNT + tagged
    if (body > end).any():
        raise ValueError("an array longer than its row")
    last = np.cumsum(tagged) * _A_BYTE
    first = last - tagged * _A_BYTE
    width = _WIDTHS[data[runs(begin + _COUNT, tagged)]].view(np.uint8)
    width[runs(first + count, last - first - count)] = 0  # the places of the last byte of tags that tell of nothing
    at = _places(width, body, end, first, last)
    if width.size and int(width.max()) > kind.itemsize:
        raise ValueError("an integer too long for its column")
    wide: npt.NDArray[Any] = np.ndarray(data.size - kind.itemsize + 1, kind, data, strides=(1,))  # from each byte on
    unused = np.uint8(8 * kind.itemsize) - np.uint8(8) * width
    values = wide[at]
    values <<= unused
    values >>= unused
    return Ragged(values, first, count)


def _places(width: U8, body: I64, end: I64, first: I64, last: I64) -> I64:
    """Return where each integer begins: one after the other in each array, and exactly up to its end."""
    some = last > first
    if (body != end)[~some].any():
        raise ValueError("an array with something after it")
    body, end = body[some], end[some]
    ends = width.astype(np.int64)
    ends[first[some]] += body - np.concatenate([[0], end])[:-1]
    np.cumsum(ends, out=ends)
    if (ends[last[some] - 1] != end).any():
        raise ValueError("an array that does not end where its row does")
    ends -= width
    return ends


def big_endian(data: U8, at: I64, size: int) -> I64:
    """Return the unsigned numbers of ``size`` bytes, 4 or 8, that stand at ``at``; from 2**63 on negative."""
    found: I64 = data[at[:, None] + np.arange(size)].view(f">u{size}").reshape(-1).astype(np.int64)
    return found
