"""MindRecord's packed integers, against a slow packer written by what its files show."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrprep.mindrecord.integers import SPARE, unpack
from mrprep.runs import runs

BITS = {np.int32: 31, np.int64: 63}


def packed(numbers: list[int]) -> bytes:
    """Two bits say 1, 2, 4 or 8 bytes; the smallest that holds the number."""
    tags = [next(tag for tag in range(4) if -(1 << (8 << tag) - 1) <= n < 1 << (8 << tag) - 1) for n in numbers]
    filled = tags + [0] * (-len(tags) % 4)
    told = bytes(a << 6 | b << 4 | c << 2 | d for a, b, c, d in zip(*(filled[i::4] for i in range(4)), strict=True))
    body = b"".join(n.to_bytes(1 << tag, "little", signed=True) for n, tag in zip(numbers, tags, strict=True))
    return len(numbers).to_bytes(4, "big") + told + body


def laid_out(arrays: list[bytes], between: bytes = b"") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    lengths = np.array([len(array) for array in arrays], np.int64)
    begin = np.cumsum(lengths + len(between)) - lengths
    data = b"".join(between + array for array in arrays) + bytes(SPARE)
    return np.frombuffer(data, np.uint8), begin, begin + lengths


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@given(data=st.data(), between=st.binary(max_size=9))
def test_what_was_packed_comes_out(dtype: type, data: st.DataObject, between: bytes) -> None:
    most = 1 << BITS[dtype]
    near = st.sampled_from([edge + step for edge in (1 << 7, 1 << 15, 1 << 31, most) for step in (-1, 0, 1)])
    number = st.one_of(near, near.map(int.__neg__), st.integers(-most, most - 1))
    numbers = st.lists(number.filter(lambda n: -most <= n < most), max_size=30)
    arrays = data.draw(st.lists(numbers, min_size=1, max_size=8))
    found = unpack(*laid_out([packed(array) for array in arrays], between), dtype)
    assert found.values.dtype == dtype
    pairs = zip(found.first.tolist(), found.count.tolist(), strict=True)
    assert [found.values[first : first + count].tolist() for first, count in pairs] == arrays


@given(st.lists(st.lists(st.integers(-300, 300), max_size=9), min_size=1, max_size=5), st.data())
def test_damage_is_an_error_or_other_numbers(arrays: list[list[int]], draw: st.DataObject) -> None:
    data, begin, end = laid_out([packed(array) for array in arrays])
    hurt = data.copy()
    place = draw.draw(st.integers(0, int(end[-1]) - 1))
    hurt[place] ^= draw.draw(st.integers(1, 255))
    try:
        found = unpack(hurt, begin, end, np.int32)
    except ValueError:
        return
    assert found.count.tolist() != [] and found.values.dtype == np.int32


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (b"\0\0\1", "without a length"),
        (b"\0\0\0\x09\0\0", "longer than its row"),
        (b"\xff\xff\xff\xff\0\0", "longer than its row"),
        (b"\0\0\0\0\0", "something after it"),
        (packed([1, 2]) + b"\0", "does not end where"),
        (packed([1, 2])[:-1], "does not end where"),
        (packed([1 << 40]), "too long for its column"),
    ],
)
def test_each_damage_by_its_name(array: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        unpack(*laid_out([packed([5]), array, packed([7, 8, 9])]), np.int32)


@given(st.lists(st.tuples(st.integers(-99, 99), st.integers(0, 9))))
def test_runs(pairs: list[tuple[int, int]]) -> None:
    starts, lengths = np.array(pairs, np.int64).reshape(-1, 2).T
    assert runs(starts, lengths).tolist() == [n for start, length in pairs for n in range(start, start + length)]
