"""Who comes where: documents into shards, rows into training steps. Pure functions of seeds and sizes.

The one owner of both orders: the shard stage, the trainer, the audit and the exports all ask here.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import xxhash

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ROUNDS = 6
_BLEND = 0xD1B54A32D192ED03  # parts the circle of each set from the others and from the epochs' seeds


def document_id(source: str, path: bytes, offset: int) -> int:
    """Return the 64-bit identity of a document: XXH3 of source, path relative to its root, and offset.

    The pieces of one long document share it. Moving the folder changes nothing.
    """
    return xxhash.xxh3_64_intdigest(b"%s\0%s\0%d" % (source.encode(), path, offset))


def mix(values: U64) -> U64:
    """Return the SplitMix64 finaliser of ``values`` (Steele, Lea, Flood 2014): a bijection of uint64."""
    z = values + _GOLDEN
    for shift, factor in ((30, _MIX1), (27, _MIX2)):
        z ^= z >> np.uint64(shift)
        z *= factor
    z ^= z >> np.uint64(31)
    return z


def shuffle_keys(seed: int, ids: U64, copy: int = 0) -> U64:
    """Return the key by which documents are sorted into shards: hash(seed, id, copy), uint64[n]."""
    salt = mix(np.array([seed & 0xFFFFFFFFFFFFFFFF], np.uint64) + _GOLDEN * np.array([copy], np.uint64))
    return mix(ids ^ salt)


def permute(seed: int, n: int, positions: I64) -> I64:
    """Return where a seeded permutation of ``range(n)`` sends ``positions``, int64, same shape.

    A balanced Feistel network over the next even power of two, walked until the value falls below
    ``n`` (Black and Rogaway 2002), so any stretch of the order is had without the rest of it.

    Raises:
        ValueError: a position lies outside ``range(n)``.
    """
    if positions.size and (positions.min() < 0 or positions.max() >= n):
        raise ValueError(f"positions must lie in 0..{n - 1}")
    half = np.uint64(max(1, ((n - 1).bit_length() + 1) // 2))
    keys = mix(np.arange(_ROUNDS, dtype=np.uint64) + mix(np.array([seed & 0xFFFFFFFFFFFFFFFF], np.uint64)))
    out = _feistel(positions.astype(np.uint64), half, keys)
    while (outside := np.flatnonzero(out >= n)).size:
        out[outside] = _feistel(out[outside], half, keys)
    return out.astype(np.int64)


def _feistel(values: U64, half: np.uint64, keys: U64) -> U64:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = values >> half, values & mask
    for key in keys:
        left, right = right, left ^ (mix(right ^ key) & mask)
    return (left << half) | right


def steps_per_epoch(n_rows: int, global_batch: int) -> int:
    """Return how many whole steps an epoch has; ``n_rows % global_batch`` rows sit each epoch out."""
    return n_rows // global_batch


def rows(
    seed: int,
    epoch: int,
    n_rows: int,
    global_batch: int,
    rank: int,
    ranks: int,
    start: int,
    stop: int | None = None,
) -> I64:
    """Return the row indices that one rank trains on in an epoch, in order, int64.

    Step ``k`` of an epoch takes places ``k * global_batch`` and on of that epoch's permutation; rank
    ``r`` takes every ``ranks``-th of them from ``r``. So the rows of a step are the same at any number
    of ranks, every rank has as many, and no row comes twice in an epoch.

    Args:
        seed: of the run.
        epoch: counted from 0; each has a permutation of its own.
        n_rows: rows in all shards.
        global_batch: rows a step over all ranks.
        rank: this rank.
        ranks: how many there are; divides ``global_batch``.
        start: first step wanted, within the epoch.
        stop: step to end before; the epoch's end if None.

    Raises:
        ValueError: ``ranks`` does not divide ``global_batch``, or no step fits into the rows.
    """
    if global_batch % ranks:
        raise ValueError(f"global batch {global_batch} is not a multiple of {ranks} ranks")
    steps = steps_per_epoch(n_rows, global_batch)
    if not steps:
        raise ValueError(f"{n_rows} rows do not fill one global batch of {global_batch}")
    end = steps if stop is None else min(stop, steps)
    mine = np.arange(start, end)[:, None] * global_batch + np.arange(rank, global_batch, ranks)
    return permute(seed + epoch * 0x9E3779B9, n_rows, mine.ravel())


def shares(n_rows: Sequence[int], weights: Sequence[float]) -> list[int]:
    """Return how many rows of each of several sets make up an epoch in which sets stand as their weights do.

    As many as there can be without a row coming twice: the set that its weight uses up first is in it whole.

    Args:
        n_rows: rows of each set.
        weights: of each, above 0; only their proportion counts.
    """
    scale = min(rows / weight for rows, weight in zip(n_rows, weights, strict=True))
    return [min(rows, max(1, round(weight * scale))) for rows, weight in zip(n_rows, weights, strict=True)]


def blend(seed: int, epoch: int, n_rows: Sequence[int], taken: Sequence[int], places: I64) -> I64:
    """Return which rows of several sets, numbered through, an epoch holds at ``places`` of its list, int64.

    The list is ``taken[k]`` rows of set k after those of set k - 1; ``rows`` over ``sum(taken)`` shuffles it. Of a set
    that is not taken whole, each epoch takes the next ``taken[k]`` of one shuffled circle, so all its rows come before
    one comes again.

    Args:
        seed: of the run.
        epoch: counted from 0.
        n_rows: rows of each set.
        taken: rows of each set an epoch, see ``shares``.
        places: in ``range(sum(taken))``.
    """
    ends = np.cumsum(taken)
    of = np.searchsorted(ends, places, side="right")
    found = places.copy()
    base = 0
    for k, (size, count) in enumerate(zip(n_rows, taken, strict=True)):
        mine = of == k
        within = places[mine] - (ends[k] - count)
        if count < size:
            within = permute(seed + (k + 1) * _BLEND, size, (within + epoch * count) % size)
        found[mine] = base + within
        base += size
    return found
