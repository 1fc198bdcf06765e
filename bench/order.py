"""Memory and time to start at any step, at 1 and 10 million rows.

    python bench/order.py [--rows 1000000 10000000]

A shard of 100,000 rows of 8 tokens is written once and linked under as many directories as the rows need, so that
MindData opens an index of that many rows. Each line is a process of its own: seconds and growth of resident memory from
before the mixture is read to the first batch, beginning at the first step and in the middle of the seventh epoch, and
rows a second after that; then the order of a whole epoch alone, in stretches.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHARD, TOKENS = 100_000, 8


def peak():
    """Return the largest resident memory so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def write(folder):
    """Write the shard."""
    import numpy as np
    from mindspore.mindrecord import FileWriter

    writer = FileWriter(str(folder / "train-00000.mindrecord"), shard_num=1)
    writer.set_header_size(1 << 20)
    writer.add_schema({"input_ids": {"type": "int32", "shape": [TOKENS + 1]}}, "rows")
    ids = np.random.default_rng(0).integers(0, 1000, (SHARD, TOKENS + 1)).astype(np.int32)
    for start in range(0, SHARD, 1000):
        writer.write_raw_data([{"input_ids": row} for row in ids[start : start + 1000]])
    writer.commit()


def mixture(folder, rows):
    """Return a mixture of one build of that many rows, its files linked to the one shard."""
    from mrprep.training.mixture import whole
    from mrprep.training.shards import TrainingShards

    files = []
    for number in range(rows // SHARD):
        home = folder / f"{number:05d}"
        home.mkdir(exist_ok=True)
        for ending in ("", ".db"):
            link = home / f"train-00000.mindrecord{ending}"
            if not link.exists():
                os.link(folder / link.name, link)
        files.append(home / "train-00000.mindrecord")
    return whole(
        TrainingShards(
            build=folder,
            split="train",
            files=tuple(files),
            rows=rows,
            seq=TOKENS,
            layout="flat",
            vocab_size=1000,
            tokenizer_sha256=None,
            bos_id=1,
            eod_id=2,
            pad_id=0,
            manifest_sha256="",
            bytes_per_token=None,
        )
    )


def start(folder, rows, step):
    """Read the first batch of a step, and 2,000 more."""
    import mindspore as ms

    from mrprep.training import data

    ms.set_device("CPU")
    ms.Tensor(1.0)
    made = mixture(folder, rows)
    share = data.Share(seed=0, micro_batch=8, accumulate=1, rank=0, ranks=1)
    held, began = peak(), time.perf_counter()
    steps = data.steps(made, share, step, step + 2001)
    next(steps)
    first, cpu = time.perf_counter() - began, time.process_time()
    count = 8 * sum(1 for _ in steps)
    cpu = time.process_time() - cpu
    print(f"first batch {first:.2f} s, +{peak() - held:.0f} MB, then {count / cpu:,.0f} rows a CPU second")


def order_alone(rows):
    """Go through the order of an epoch in stretches, as the trainer asks for it."""
    from mrprep import order

    held, began = peak(), time.process_time()
    for at in range(0, rows // 8, 1 << 14):
        order.rows(0, 7, rows, 8, 0, 1, at, at + (1 << 14))
    print(f"order of an epoch: {time.process_time() - began:.2f} CPU s, +{peak() - held:.0f} MB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        kind, folder = options.one
        (rows,) = options.rows
        if kind == "write":
            write(Path(folder))
        elif kind == "order":
            order_alone(rows)
        else:
            start(Path(folder), rows, int(kind))
        return
    with tempfile.TemporaryDirectory() as folder:
        one = [sys.executable, __file__]
        subprocess.run([*one, "--one", "write", folder, "--rows", "0"], check=True, capture_output=True)
        for rows in options.rows:
            for kind in (0, rows // 8 * 13 // 2, "order"):
                print(f"{rows:>12,} rows, {'step ' if kind != 'order' else ''}{kind}: ", end="", flush=True)
                subprocess.run([*one, "--one", str(kind), folder, "--rows", str(rows)], check=True)


if __name__ == "__main__":
    main()
