"""Signatures: unbiased, the same everywhere, and unions by minima, with both kernels."""

import numpy as np
import pytest

from mrprep.minhash.bands import Banding, band_keys, choose, probability
from mrprep.minhash.signatures import Kernel, signatures

KERNELS: list[Kernel] = ["rensa", "datasketch"]


def pairs_of_sets(similarity: float, size: int, pairs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random sets, 2 a pair, whose Jaccard is as near to ``similarity`` as their size allows."""
    union = round(size * 2 / (1 + similarity))
    common = round(union * similarity)
    own = (union - common) // 2
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, 2**64, (pairs, common + 2 * own), dtype=np.uint64)
    one, other = drawn[:, : common + own], np.concatenate([drawn[:, :common], drawn[:, common + own :]], axis=1)
    return np.stack([one, other], axis=1).reshape(-1), np.full(2 * pairs, common + own)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [20, 300])
def test_equal_slots_estimate_jaccard(kernel: Kernel, size: int) -> None:
    for similarity in (0.3, 0.8):
        hashes, counts = pairs_of_sets(similarity, size, 400, 3)
        signs = signatures(hashes, counts, 128, 1, kernel)
        sets = [set(part.tolist()) for part in np.split(hashes, np.cumsum(counts)[:-1])]
        exact = len(sets[0] & sets[1]) / len(sets[0] | sets[1])
        estimate = (signs[::2] == signs[1::2]).mean()
        assert abs(estimate - exact) < 5 * np.sqrt(exact * (1 - exact) / (400 * 128))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("permutations", [64, 128])
@pytest.mark.parametrize("size", [10, 60, 1000])
def test_pairs_at_the_threshold_become_candidates_as_often_as_promised(
    kernel: Kernel, permutations: int, size: int
) -> None:
    banding = choose(0.8, 0.998, permutations)
    pairs = 500 if kernel == "datasketch" else 4000
    hashes, counts = pairs_of_sets(0.8, size, pairs, 5)
    keys = band_keys(signatures(hashes, counts, banding.bands * banding.rows, 1, kernel), banding)
    found = (keys[:, ::2] == keys[:, 1::2]).any(axis=0).mean()
    union = counts[0] * 2 - round(round(counts[0] * 2 / 1.8) * 0.8)
    similarity = (2 * counts[0] - union) / union
    wanted = float(probability(np.array(similarity), banding))
    assert found >= wanted - 4 * np.sqrt((1 - wanted) / pairs)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_minimum_of_signatures_is_that_of_the_union_and_repeats_do_no_harm(kernel: Kernel) -> None:
    hashes = np.random.default_rng(1).integers(0, 2**64, 90, dtype=np.uint64)
    parts = signatures(np.concatenate([hashes, hashes[:20]]), np.array([40, 70]), 64, 1, kernel)
    assert (parts.min(axis=0) == signatures(hashes, np.array([90]), 64, 1, kernel)[0]).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_do_not_depend_on_their_neighbours(kernel: Kernel) -> None:
    hashes = np.random.default_rng(2).integers(0, 2**64, 5000, dtype=np.uint64)
    counts = np.array([0, 1, 0, 4990, 9])
    together = signatures(hashes, counts, 16, 1, kernel)
    ends = np.cumsum(counts)
    for row, (count, end) in enumerate(zip(counts, ends, strict=True)):
        alone = signatures(hashes[end - count : end], np.array([count]), 16, 1, kernel)
        assert (together[row] == alone[0]).all()
    assert signatures(hashes[:0], np.array([], np.int64), 16, 1, kernel).shape == (0, 16)


def test_datasketch_is_the_library_itself() -> None:
    from datasketch import MinHash

    sketch = MinHash(8, 7, hashfunc=int, scheme="affine64")
    sketch.update_batch([1, 2, 3])
    assert (signatures(np.array([1, 2, 3], np.uint64), np.array([3]), 8, 7, "datasketch")[0] == sketch.hashvalues).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_signatures_are_pinned(kernel: Kernel) -> None:
    hashes = np.array([1, 2, 3, 10, 20, 30, 999], np.uint64)
    assert signatures(hashes, np.array([7]), 4, 42, kernel)[0].tolist() == GOLDEN[kernel]
    keys = band_keys(signatures(hashes, np.array([7]), 4, 42, kernel), Banding(2, 2))
    assert keys[:, 0].tolist() == GOLDEN_KEYS[kernel]


GOLDEN: dict[str, list[int]] = {
    "rensa": [1183440944, 314585516, 765328680, 652565914],
    "datasketch": [683846920706008938, 7700370316341461180, 1588484216652538076, 968191767851709065],
}
GOLDEN_KEYS: dict[str, list[int]] = {
    "rensa": [12366950640533508221, 4124295062135934240],
    "datasketch": [17252942796825380852, 8025735528841251812],
}
