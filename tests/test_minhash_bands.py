"""Bands and rows: the choice against trying all, keys against tuples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.minhash.bands import Banding, band_keys, choose, probability


def test_the_default_is_that_of_the_literature_at_recall_998() -> None:
    assert choose(0.8, 0.998, 128) == Banding(21, 6)
    assert pytest.approx(0.99831, abs=1e-5) == 1 - (1 - 0.8**6) ** 21
    assert float(probability(np.array(0.8), Banding(21, 6))) == pytest.approx(1 - (1 - 0.8**6) ** 21)


@given(st.floats(0.3, 0.99), st.floats(0.5, 0.9999), st.integers(16, 160))
@settings(max_examples=60, deadline=None)
def test_no_other_banding_has_the_recall_and_fewer_false_candidates(threshold: float, recall: float, most: int) -> None:
    grid = np.linspace(0, threshold, 513)
    fitting = {
        Banding(bands, rows): probability(grid, Banding(bands, rows)).mean()
        for rows in range(1, most + 1)
        for bands in range(1, most // rows + 1)
        if probability(np.array(threshold), Banding(bands, rows)) >= recall
    }
    if not fitting:
        with pytest.raises(ValueError, match="permutations"):
            choose(threshold, recall, most)
        return
    assert fitting[choose(threshold, recall, most)] == min(fitting.values())


def test_too_few_permutations_are_named() -> None:
    with pytest.raises(ValueError, match=r"recall 0\.998 at 0\.5 needs 9 permutations or more, not 8"):
        choose(0.5, 0.998, 8)


@pytest.mark.parametrize("threshold", [0.01, 0.001, 1e-200, 5e-324])
def test_a_tiny_threshold_needs_too_many(threshold: float) -> None:
    with pytest.raises(ValueError, match=r"needs \d+ permutations or more, not 64"):
        choose(threshold, 0.998, 64)


@pytest.mark.parametrize(("threshold", "recall"), [(0, 0.9), (-1, 0.9), (1.1, 0.9), (float("nan"), 0.9), (0.8, 1.0)])
def test_numbers_out_of_range_are_named(threshold: float, recall: float) -> None:
    with pytest.raises(ValueError, match="threshold is" if recall == 0.9 else "recall is"):
        choose(threshold, recall, 64)


def test_a_threshold_of_one_needs_one_band() -> None:
    assert choose(1.0, 0.998, 128) == Banding(1, 128)


def test_keys_are_equal_where_all_rows_are() -> None:
    signs = np.random.default_rng(0).integers(0, 3, (300, 14), dtype=np.uint64)
    keys = band_keys(signs, Banding(4, 3))
    assert keys.shape == (4, 300) and keys.dtype == np.uint64
    for band in range(4):
        rows = [tuple(row) for row in signs[:, band * 3 : band * 3 + 3].tolist()]
        assert len(set(zip(rows, keys[band].tolist(), strict=True))) == len(set(rows)) == len(set(keys[band].tolist()))
