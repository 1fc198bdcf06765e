"""What 1,000 ranks would read, simulated on the real index of a build.

    python bench/loader.py BUILD [--ranks 1000] [--micro 1] [--repeat 0] [--epochs 2]

No rank is started: rows are dealt by `mrprep.order`, as the trainer asks it, one rank after the other. With --repeat N
the row counts of the build's shards (of its manifest and its .db) are taken N times, as if it had so many shards more.
Checked, not assumed: every rank has as many rows; no row comes twice in an epoch; the rows of a step are the same at 1,
10 and 1,000 ranks; another seed or epoch gives another order, the same ones the same; a resumed rank goes on as if it
had never stopped, at any step. Told: seconds and memory for one rank to find its start at the first step, in the middle
and at the end of the run, for its longest stretch, and for the whole order of an epoch of all ranks.
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np

from mrprep import order
from mrprep.builddir.manifest import open_build
from mrprep.mindrecord.read import count_rows

STRETCH = 1 << 17
"""Rows of a rank for which `training.data` holds indices at a time."""
WINDOW = 64
"""Steps that are looked at wherever a rank starts."""


def peak():
    """Return the largest resident memory so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def shard_rows(build, repeat):
    """Return the rows of each shard as its index counts them, which must be as the manifest says."""
    opened = open_build(build)
    shards = sorted(opened.manifest["splits"]["train"]["shards"], key=lambda shard: shard["file"])
    rows = np.array([count_rows(opened.file(shard["file"])) for shard in shards], np.int64)
    assert rows.tolist() == [shard["rows"] for shard in shards], "an index does not count what the manifest says"
    return np.tile(rows, repeat)


def whole_epoch(n_rows, batch, ranks, seed, epoch):
    """Deal an epoch to all ranks; return rows a rank, and check that all have as many and no row comes twice."""
    seen = np.zeros(n_rows, np.uint8)
    steps = order.steps_per_epoch(n_rows, batch)
    sizes = set()
    for rank in range(ranks):
        rows = order.rows(seed, epoch, n_rows, batch, rank, ranks, 0)
        assert seen[rows].max(initial=0) == 0, "a row comes twice"
        seen[rows] = 1
        sizes.add(len(rows))
    assert len(sizes) == 1, "ranks have different numbers of rows"
    assert int(seen.sum()) == steps * batch
    return sizes.pop(), n_rows - int(seen.sum())


def same_at_any_number_of_ranks(n_rows, batch, ranks, seed):
    """Check that the rows of a step do not depend on how many ranks there are."""
    steps = order.steps_per_epoch(n_rows, batch)
    for start in (0, steps // 2, steps - 1):
        want = np.sort(order.rows(seed, 0, n_rows, batch, 0, 1, start, start + 1))
        for count in {1, 10, ranks}:
            parts = [order.rows(seed, 0, n_rows, batch, rank, count, start, start + 1) for rank in range(count)]
            assert np.array_equal(np.sort(np.concatenate(parts)), want)


def function_of_seed_and_epoch(n_rows, batch, ranks, seed):
    """Check that the order is decided by seed and epoch, and by both."""
    first = order.rows(seed, 0, n_rows, batch, 7, ranks, 0, WINDOW)
    assert np.array_equal(first, order.rows(seed, 0, n_rows, batch, 7, ranks, 0, WINDOW))
    assert not np.array_equal(first, order.rows(seed + 1, 0, n_rows, batch, 7, ranks, 0, WINDOW))
    assert not np.array_equal(first, order.rows(seed, 1, n_rows, batch, 7, ranks, 0, WINDOW))


def resumes(n_rows, batch, ranks, seed, draws):
    """Check, at random steps of random ranks, that what is dealt from there on is what would have come anyway."""
    steps = order.steps_per_epoch(n_rows, batch)
    random = np.random.default_rng(seed)
    for rank in random.integers(0, ranks, draws).tolist():
        undisturbed = order.rows(seed, 3, n_rows, batch, rank, ranks, 0)
        for start in random.integers(0, steps, 4).tolist():
            a_step = batch // ranks
            assert np.array_equal(order.rows(seed, 3, n_rows, batch, rank, ranks, start), undisturbed[start * a_step :])


def starts(rows_of, batch, ranks, seed, epochs):
    """Time what one rank does before it can ask for its first row: its next rows, and which shards they are in."""
    n_rows = int(rows_of.sum())
    steps, ends = order.steps_per_epoch(n_rows, batch), np.cumsum(rows_of)
    for name, step in (("first", 0), ("middle", steps * epochs // 2), ("last", steps * epochs - 1)):
        epoch, within = divmod(step, steps)
        held, began = peak(), time.perf_counter()
        rows = order.rows(seed, epoch, n_rows, batch, ranks - 1, ranks, within, within + WINDOW)
        shards = np.searchsorted(ends, rows, side="right")
        took = time.perf_counter() - began
        print(
            f"{name} step ({step:,}): {took * 1000:.2f} ms, +{peak() - held:.1f} MB; {len(rows):,} rows of "
            f"{np.unique(shards).size:,} shards"
        )


def longest_stretch(ranks, seed):
    """Deal the longest stretch for which the trainer holds indices, of a build that has one for every rank."""
    n_rows = STRETCH * ranks
    held, began = peak(), time.perf_counter()
    rows = order.rows(seed, 0, n_rows, ranks, ranks - 1, ranks, 0, STRETCH)
    took = time.perf_counter() - began
    print(f"of {n_rows:,} rows, {len(rows):,} for one rank at once: {took * 1000:.0f} ms, +{peak() - held:.0f} MB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--ranks", type=int, default=1000)
    parser.add_argument("--micro", type=int, default=1, help="rows of a rank a step")
    parser.add_argument("--repeat", type=int, default=0, help="0: as often as makes a million rows")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    once = int(shard_rows(options.build, 1).sum())
    repeat = options.repeat or -(-1_000_000 // once)
    rows_of = shard_rows(options.build, repeat)
    n_rows, batch, ranks, seed = int(rows_of.sum()), options.ranks * options.micro, options.ranks, options.seed
    print(f"index: {n_rows:,} rows ({once:,} real, {repeat:,} times) in {rows_of.size:,} shards, read in", end=" ")
    print(f"{time.perf_counter() - began:.2f} s")
    starts(rows_of, batch, ranks, seed, options.epochs)
    longest_stretch(ranks, seed)
    held, began = peak(), time.process_time()
    for epoch in range(options.epochs):
        each, left = whole_epoch(n_rows, batch, ranks, seed, epoch)
    took = (time.process_time() - began) / options.epochs
    print(f"epoch: {each:,} rows a rank at {ranks:,} ranks, {left:,} rows sit it out; no row twice")
    print(
        f"       dealt to all ranks in {took:.2f} CPU s ({took / ranks * 1000:.2f} ms a rank), +{peak() - held:.0f} MB"
    )
    same_at_any_number_of_ranks(n_rows, batch, ranks, seed)
    function_of_seed_and_epoch(n_rows, batch, ranks, seed)
    resumes(n_rows, batch, ranks, seed, 20)
    print(f"steps have the same rows at 1, 10 and {ranks:,} ranks; 80 resumes of 20 ranks go on as if never stopped")
    print(f"peak memory {peak():.0f} MB")


if __name__ == "__main__":
    main()
