"""Shingles: against sums in Python integers, one text at a time."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.minhash import units
from mrprep.minhash.documents import Documents
from mrprep.minhash.sets import shingle_sets
from mrprep.minhash.shingles import shingle_hashes
from mrprep.order import mix

MASK = 2**64 - 1


def slow_mix(z: int) -> int:
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def slow_shingles(own: list[int], n: int) -> list[int]:
    windows = [own[at : at + n] for at in range(len(own) - n + 1)] or ([own] if own else [])
    factors = [slow_mix(place + 1) | 1 for place in range(n)]
    return [slow_mix(sum(u * f for u, f in zip(window, factors, strict=False)) & MASK) for window in windows]


@given(st.lists(st.lists(st.integers(0, MASK), max_size=12), max_size=8), st.integers(1, 7))
@settings(max_examples=300, deadline=None)
def test_shingles_of_every_text(texts: list[list[int]], n: int) -> None:
    flat = np.array([unit for text in texts for unit in text], np.uint64)
    hashes, made = shingle_hashes(flat, np.array([len(text) for text in texts], np.int64), n)
    wanted = [slow_shingles(text, n) for text in texts]
    assert made.tolist() == [len(one) for one in wanted]
    assert hashes.tolist() == [shingle for one in wanted for shingle in one]


def test_hashes_are_pinned() -> None:
    hashes, _ = shingle_hashes(np.arange(1, 8, dtype=np.uint64), np.array([6, 1]), 5)
    assert hashes.tolist() == [2137557653080087752, 169459440611595410, 459765628899652597]
    assert mix(np.array([1], np.uint64))[0] == slow_mix(1)


@given(st.lists(st.text("ab中文 ", max_size=60), min_size=1, max_size=5), st.data())
@settings(max_examples=100, deadline=None)
def test_windows_of_a_long_document_give_its_set(texts: list[str], data: st.DataObject) -> None:
    raw = [text.encode() for text in texts]
    document = Documents(b"".join(raw), np.cumsum([0, *map(len, raw)]), np.zeros(1, np.int64))
    whole, counts, units_in = document.shingles(5)
    assert counts.tolist() == [whole.size]
    windows = list(document.windows(5))
    original = units.BLOCK
    try:
        units.BLOCK = data.draw(st.integers(8, 40))
        windows += list(document.windows(5))
    finally:
        units.BLOCK = original
    assert sorted(shingle for window, _ in windows for shingle in window.tolist()) == sorted([*whole.tolist()] * 2)
    assert sum(step for _, step in windows) == 2 * units_in[0]


def test_batches_hold_every_document_once() -> None:
    texts = [b"one two three four five six seven", b"", b"x " * 200_000, b"a", b"b c d e f g", b"tail"]
    documents = Documents(b"".join(texts), np.cumsum([0, *map(len, texts)]), np.array([0, 1, 3, 4]))
    sets = [part for hashes, sizes in shingle_sets(documents, 5) for part in np.split(hashes, np.cumsum(sizes)[:-1])]
    assert [one.size for one in sets] == [3, 1, 1, 3]
    assert all((np.diff(one) > 0).all() for one in sets)
