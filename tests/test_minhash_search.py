"""Buckets, comparison and clusters: against dictionaries, all pairs and a plain union-find."""

import gzip
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from dedupe_helpers import all_pairs, shingle_sets
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.minhash import buckets as buckets_module
from mrprep.minhash import jaccard as jaccard_module
from mrprep.minhash import stars as stars_module
from mrprep.minhash import verify as verify_module
from mrprep.minhash.buckets import Buckets, merged, same_key
from mrprep.minhash.clusters import best, components
from mrprep.minhash.jaccard import jaccard, jaccard_of_pairs
from mrprep.minhash.search import near_duplicates
from mrprep.minhash.stars import stars
from mrprep.minhash.verify import overflow, verify, within_reach

SETS = st.lists(st.sets(st.integers(0, 9), min_size=1), min_size=1, max_size=14)
EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20)


def as_lists(buckets: Buckets) -> list[list[int]]:
    return [part.tolist() for part in np.split(buckets.members, buckets.starts[1:])] if buckets.starts.size else []


def as_buckets(lists: list[list[int]]) -> Buckets:
    sizes = np.array([len(one) for one in lists], np.int64)
    return Buckets(np.array([m for one in lists for m in one], np.int64), np.cumsum(sizes) - sizes)


def slow_components(size: int, edges: list[tuple[int, int]]) -> list[int]:
    label = list(range(size))
    for _ in range(size):
        for a, b in edges:
            label[a] = label[b] = min(label[a], label[b])
    return label


@given(st.lists(st.integers(0, 6), max_size=30))
@settings(max_examples=200, deadline=None)
def test_same_key_finds_all_that_share_one(keys: list[int]) -> None:
    groups: dict[int, list[int]] = {}
    for position, key in enumerate(keys):
        groups.setdefault(key, []).append(position)
    assert as_lists(same_key(np.array(keys, np.uint64))) == [
        groups[key] for key in sorted(groups) if len(groups[key]) > 1
    ]


@given(st.lists(st.lists(st.sets(st.integers(0, 5), min_size=2).map(sorted), max_size=5), max_size=4))
@settings(max_examples=200, deadline=None)
def test_merged_keeps_each_set_once(several: list[list[list[int]]]) -> None:
    found = as_lists(merged([as_buckets(lists) for lists in several]))
    assert sorted(found) == sorted({tuple(one): one for lists in several for one in lists}.values())


@given(EDGES)
@settings(max_examples=300, deadline=None)
def test_components(edges: list[tuple[int, int]]) -> None:
    found = components(12, np.array(edges, np.int64).reshape(-1, 2))
    assert found.tolist() == slow_components(12, edges)


def test_components_of_a_long_chain_take_few_rounds() -> None:
    order = np.random.default_rng(0).permutation(200_000)
    found = components(200_000, np.column_stack([order[:-1], order[1:]]))
    assert not found.any()


@given(st.sets(st.integers(0, 20)), st.sets(st.integers(0, 20)))
@settings(max_examples=200, deadline=None)
def test_jaccard(one: set[int], other: set[int]) -> None:
    wanted = len(one & other) / len(one | other) if one | other else 0.0
    assert jaccard(np.array(sorted(one), np.uint64), np.array(sorted(other), np.uint64)) == wanted


@given(SETS, st.sampled_from([0.3, 0.5, 0.8]), st.integers(1, 64), st.integers(1, 9), st.data())
@settings(max_examples=300, deadline=None)
def test_verify_and_stars_find_what_all_pairs_of_the_buckets_give(
    sets: list[set[int]], threshold: float, reach: int, at_once: int, data: st.DataObject
) -> None:
    size = len(sets)
    member = st.sets(st.integers(0, size - 1), min_size=2).map(sorted)
    lists = data.draw(st.lists(member, max_size=5)) if size > 1 else []
    told = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    worth = np.array(data.draw(st.permutations(range(size)))) + size * told
    arrays = [np.array(sorted(one), np.uint64) for one in sets]
    sizes = np.array([len(one) for one in sets])
    buckets = as_buckets(lists)

    def similarity(pairs: np.ndarray) -> np.ndarray:
        return jaccard_of_pairs(pairs, lambda which: np.concatenate([arrays[i] for i in which]), sizes, threshold)

    with pytest.MonkeyPatch.context() as patch:
        for module in (verify_module, stars_module):
            patch.setattr(module, "REACH", reach)
        patch.setattr(verify_module, "REMEMBERED", 4)
        patch.setattr(buckets_module, "AT_ONCE", at_once)
        patch.setattr(jaccard_module, "AT_ONCE", at_once)
        found = verify(size, buckets, similarity, threshold, told)
        survivors = stars(worth, found.labels, buckets, similarity, threshold, told)
        near = within_reach(size, buckets)
        missed = overflow(buckets, np.arange(buckets.starts.size), found.labels)
    candidates = {
        (one[i], one[j]) for one in lists for j in range(len(one)) for i in range(j) if i == 0 or j - i <= reach
    }
    truth = {
        (a, b): len(sets[a] & sets[b]) / len(sets[a] | sets[b])
        for a, b in candidates
        if len(sets[a] & sets[b]) >= threshold * len(sets[a] | sets[b])
    }
    assert near.tolist() == sorted(map(list, candidates))
    assert found.labels.tolist() == slow_components(size, list(truth))
    assert found.overflow == missed == slow_overflow(lists, found.labels.tolist(), reach)
    got = dict(zip(map(tuple, found.pairs.tolist()), found.jaccard.tolist(), strict=True))
    assert len(got) == len(found.pairs) and got.items() <= truth.items()
    assert all(told[a] != told[b] for a, b in got)
    joined = [pair for pair in truth if told[pair[0]] == told[pair[1]] or pair in got]
    assert found.labels.tolist() == slow_components(size, joined)
    assert survivors.tolist() == slow_stars(worth.tolist(), [p for p in truth if not told[list(p)].all()])


def slow_overflow(lists: list[list[int]], labels: list[int], reach: int) -> int:
    return len({m for one in lists for m in one[reach + 1 :] if labels[m] != labels[one[0]]})


def slow_stars(worth: list[int], edges: list[tuple[int, int]]) -> list[int]:
    kept = list(range(len(worth)))
    free = set(kept)
    for text in sorted(kept, key=lambda t: -worth[t]):
        if text in free:
            near = {a + b - text for a, b in edges if text in (a, b)}
            taken = {t for t in near & free if worth[t] < worth[text]}
            kept = [text if t in taken else k for t, k in enumerate(kept)]
            free -= taken
    return kept


def test_of_near_copies_few_are_compared_also_for_stars() -> None:
    """20,000 copies in 12 buckets of all: a comparison or two a text, where all pairs within reach are 1.3 million."""
    size, asked = 20_000, 0
    buckets = as_buckets([list(range(size))] * 12)

    def similarity(pairs: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += len(pairs)
        return np.ones(len(pairs))

    none = np.zeros(size, bool)
    found = verify(size, buckets, similarity, 0.8, none)
    assert not found.labels.any() and found.pairs.shape == (0, 2)
    worth = np.random.default_rng(3).permutation(size)
    kept = stars(worth, found.labels, buckets, similarity, 0.8, none)
    assert 1 < np.unique(kept).size < size // 50 and asked < 4 * size


def test_a_pair_at_reach_is_still_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_module, "REACH", 3)
    for pair, found in (([1, 4], 1), ([1, 5], 0)):
        told = np.arange(6) == pair[0]
        wanted = verify(
            6, as_buckets([list(range(6))]), lambda pairs, p=pair: (pairs == p).all(axis=1) * 1.0, 0.8, told
        )
        assert wanted.pairs.tolist() == [pair] * found


def test_texts_of_a_large_bucket_beyond_reach_are_counted() -> None:
    size = 200
    told = np.arange(size) == 0
    found = verify(size, as_buckets([list(range(size))]), lambda pairs: np.zeros(len(pairs)), 0.8, told)
    assert found.overflow == size - 1 - verify_module.REACH
    found = verify(size, as_buckets([list(range(size))]), lambda pairs: np.ones(len(pairs)), 0.8, told)
    assert found.overflow == 0 and len(found.pairs) == size - 1


@given(st.lists(st.integers(1, 3), min_size=12, max_size=12), EDGES)
@settings(max_examples=200, deadline=None)
def test_who_stays(lengths: list[int], edges: list[tuple[int, int]]) -> None:
    edges = [(min(e), max(e)) for e in edges if e[0] != e[1]]
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    labels = components(12, pairs)
    kept = best(labels, np.array(lengths))
    for text in range(12):
        members = np.flatnonzero(labels == labels[text])
        assert kept[text] == min(members, key=lambda m: (-lengths[m], m))


def test_comparing_a_family_holds_no_list_of_its_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 texts in 12 buckets of half of them each, none alike: over a million pairs, 9 MB of numbers alone."""
    chance, size, asked = np.random.default_rng(1), 5000, 0
    buckets = as_buckets([np.flatnonzero(chance.random(size) < 0.5).tolist() for _ in range(12)])

    def similarity(pairs: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += len(pairs)
        return np.zeros(len(pairs))

    monkeypatch.setattr(verify_module, "REMEMBERED", 1 << 16)
    tracemalloc.start()
    verify(size, buckets, similarity, 0.8, np.zeros(size, bool))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert asked > 1_100_000 and peak < 8_000_000


def test_near_duplicates_of_real_text_are_those_of_all_pairs(shared: Path) -> None:
    with gzip.open(shared / "corpora/en_reuters/reuters.jsonl.gz") as lines:
        texts = [json.loads(line)["text"] for line, _ in zip(lines, range(3000), strict=False)]
    truth = all_pairs(shingle_sets(texts), 0.7)
    found = near_duplicates(texts, 0.7)
    pairs = dict(zip(map(tuple, found.pairs.tolist()), found.jaccard.tolist(), strict=True))
    assert len(truth) > 20 and pairs == truth


def test_near_duplicates_of_nothing_and_of_nothing_alike() -> None:
    for texts in ([], ["", "a", "a"], ["one two three four five six", "six five four three two one"]):
        found = near_duplicates(texts)
        assert found.pairs.shape == (0, 2) and found.jaccard.size == found.overflow == 0


def test_lone_surrogates_separate_words_as_u_fffd_does() -> None:
    texts = [f"one two three{mark}four five six seven {end}" for mark in ("\ud800", "\ufffd", " ") for end in "ab"]
    found = near_duplicates(texts, 0.4)
    assert len(found.pairs) == 15
    jaccard = dict(zip(map(tuple, found.pairs.tolist()), found.jaccard.tolist(), strict=True))
    assert all(jaccard[a, b] == (1.0 if (b - a) % 2 == 0 else 3 / 5) for a, b in jaccard)


def test_what_is_no_sequence_of_texts_is_refused_in_a_sentence() -> None:
    for texts, said in (("abc", "is one text"), (b"abc", "is one text"), (["a", None], "text 1 is NoneType, not str")):
        with pytest.raises(TypeError, match=said):
            near_duplicates(texts)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threshold is a similarity"):
        near_duplicates(["a b c"], float("nan"))
    with pytest.raises(ValueError, match="ngram is 1"):
        near_duplicates(["a b c"], ngram=0)
