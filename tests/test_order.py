"""Who comes where: bijections, the same order at any number of ranks, resume, and values that must never change."""

import tracemalloc

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep import order


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(-(2**70), 2**70), n=st.integers(1, 3000))
def test_permute_is_a_bijection(seed, n):
    assert sorted(order.permute(seed, n, np.arange(n))) == list(range(n))


def test_permute_of_a_stretch_is_that_stretch_of_the_whole():
    whole = order.permute(7, 100_003, np.arange(100_003))
    assert (order.permute(7, 100_003, np.arange(51_000, 51_100)) == whole[51_000:51_100]).all()


def test_permute_refuses_what_lies_outside():
    for bad in (-1, 10):
        with pytest.raises(ValueError, match=r"0\.\.9"):
            order.permute(0, 10, np.array([3, bad]))


def test_permute_spreads():
    """Neighbours part: the mean distance of a random order is n / 3, and few places stay."""
    n = 30_000
    image = order.permute(1, n, np.arange(n))
    assert abs(np.abs(np.diff(image)).mean() / (n / 3) - 1) < 0.02
    assert (image == np.arange(n)).sum() < 10
    assert abs(np.corrcoef(image, np.arange(n))[0, 1]) < 0.02


def _steps(ranks, *, n=207, batch=8, epoch=0, start=0, stop=None, seed=5):
    """Rows of each step, over all ranks, in the order of the global batch."""
    each = [order.rows(seed, epoch, n, batch, r, ranks, start, stop).reshape(-1, batch // ranks) for r in range(ranks)]
    return np.stack(each, axis=2).reshape(-1, batch)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_the_global_order_is_the_same_at_any_number_of_ranks(ranks):
    assert (_steps(ranks) == order.permute(5, 207, np.arange(200)).reshape(25, 8)).all()


@settings(deadline=None, max_examples=40)
@given(n=st.integers(1, 500), ranks=st.sampled_from([1, 2, 4]), each=st.integers(1, 5), epoch=st.integers(0, 3))
def test_no_row_comes_twice_in_an_epoch_and_ranks_have_as_many(n, ranks, each, epoch):
    batch = ranks * each
    if n < batch:
        return
    parts = [order.rows(0, epoch, n, batch, r, ranks, 0) for r in range(ranks)]
    assert {len(p) for p in parts} == {n // batch * each}
    together = np.concatenate(parts)
    assert len(np.unique(together)) == len(together) == n // batch * batch
    assert together.min() >= 0
    assert together.max() < n


def test_resume_at_any_step_goes_on_with_the_same_rows():
    whole = _steps(2)
    for start in range(26):
        assert (_steps(2, start=start) == whole[start:]).all()
    assert (_steps(2, start=3, stop=5) == whole[3:5]).all()
    assert len(_steps(2, start=3, stop=99)) == 22


def test_another_number_of_ranks_goes_on_where_the_first_stopped():
    assert (np.concatenate([_steps(1, stop=9), _steps(4, start=9)]) == _steps(2)).all()


def test_epochs_and_seeds_differ():
    orders = [tuple(_steps(1, epoch=e, seed=s).ravel()) for e in range(3) for s in range(3)]
    assert len(set(orders)) == 9


def test_rows_that_make_no_step_or_ranks_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="not a multiple"):
        order.rows(0, 0, 100, 9, 0, 2, 0)
    with pytest.raises(ValueError, match="do not fill"):
        order.rows(0, 0, 7, 8, 0, 1, 0)


def test_shares_are_in_proportion_and_the_set_that_runs_out_is_in_whole():
    assert order.shares([100, 1000], [0.5, 0.5]) == [100, 100]
    assert order.shares([100, 1000], [1, 3]) == [100, 300]
    assert order.shares([100, 60], [7, 3]) == [100, 43]
    assert order.shares([3, 1000], [0.999, 0.001]) == [3, 1]
    assert order.shares([10, 20, 30], [10, 20, 30]) == [10, 20, 30]


def _blended(ranks, epoch=0, seed=5, n_rows=(90, 40, 7), taken=(30, 40, 5), batch=8):
    """Rows of an epoch of a mixture, over all ranks, in the order of the steps."""
    parts = [order.rows(seed, epoch, sum(taken), batch, r, ranks, 0) for r in range(ranks)]
    each = [order.blend(seed, epoch, n_rows, taken, part).reshape(-1, batch // ranks) for part in parts]
    return np.stack(each, axis=2).ravel()


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_blend_is_the_same_at_any_number_of_ranks(ranks):
    for epoch in range(4):
        assert (_blended(ranks, epoch) == _blended(1, epoch)).all()


def test_a_blend_takes_each_set_s_share_and_no_row_twice_before_all_have_come():
    epochs = [order.blend(5, epoch, (90, 40, 7), (30, 40, 5), np.arange(75)) for epoch in range(7)]
    for found in epochs:
        assert len(set(found)) == 75
        assert np.histogram(found, [0, 90, 130, 137])[0].tolist() == [30, 40, 5]
    first = [found[found < 90] for found in epochs]
    assert set(np.concatenate(first[:3])) == set(range(90))
    assert set(first[3]) == set(first[0])
    assert np.bincount(np.concatenate([found[found >= 130] - 130 for found in epochs])).tolist() == [5] * 7


def test_one_set_whole_is_no_blend():
    places = order.rows(3, 2, 1000, 4, 1, 2, 5, 7)
    assert order.blend(3, 2, [1000], [1000], places).tolist() == places.tolist()


def test_mix_is_splitmix64():
    """The first outputs of SplitMix64 seeded with 1234567, from Vigna's reference in C."""
    golden = 0x9E3779B97F4A7C15
    states = np.array([1234567, 1234567 + golden, (1234567 + 2 * golden) % 2**64], np.uint64)
    assert order.mix(states).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_golden_values():
    """Never to change: builds and runs of earlier versions are read with them."""
    assert order.document_id("s", b"a/b.txt", 10) == xxhash.xxh3_64_intdigest(b"s\0a/b.txt\x0010")
    assert order.document_id("mixfolder", b"a.txt", 0) == 8775322252877581101
    assert order.shuffle_keys(0, np.array([1, 2], np.uint64)).tolist() == [627405149472732430, 15549969042648332857]
    assert order.shuffle_keys(0, np.array([1, 2], np.uint64), copy=1).tolist() == [
        6728581669027343264,
        9848753966768412663,
    ]
    assert order.permute(0, 10, np.arange(10)).tolist() == [2, 9, 6, 1, 8, 7, 4, 3, 0, 5]
    assert order.rows(3, 2, 1_000_000, 4, 1, 2, 5, 7).tolist() == [343959, 350977, 729176, 491497]
    assert order.blend(3, 2, [1000, 50], [75, 50], np.arange(0, 125, 25)).tolist() == [557, 272, 932, 1000, 1025]


def test_one_of_many_ranks_holds_its_own_places_alone():
    """At 1,000 ranks the places of all of them are 33 MB for 4,096 steps, its own 33 kB."""
    tracemalloc.start()
    rows = order.rows(0, 0, 4_096_000, 1000, 999, 1000, 0, 4096)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.size == 4096 and peak < 4 << 20
    assert rows[17] == order.permute(0, 4_096_000, np.array([17 * 1000 + 999]))[0]
