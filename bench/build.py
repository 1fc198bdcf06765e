"""The whole build against the floor of plain libraries, on all English and all Chinese corpora.

python bench/build.py [--runs 3] : wall seconds (median), MB/s of text, and floor ÷ build. The floor, measured in
the same run: orjson parse + sentencepiece encode of the surviving text + FileWriter of the rows, each alone on one
core, ÷ 2. Also the largest resident set of one process, and of all together.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import pyarrow.parquet as pq
from memory import Watch
from tree import SHARED, command, run

CORPORA = SHARED / "corpora"
MODEL = CORPORA / "tokenizers/llama2_32k.model"
SETS = {
    "English": ["en_gutenberg", "en_reuters", "en_python_doc", "neardup_licences", "neardup_labelled_articles"],
    "Chinese": ["zh_classics", "zh_laws", "zh_poetry"],
}
SEQ = 2048


def start(inputs: list[Path], out: Path) -> subprocess.Popen[bytes]:
    """Start a build."""
    arguments = command("build", *inputs, "--out", out, "--tokenizer", MODEL, "--seq", SEQ)
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL)


def timed(inputs: list[Path], out: Path) -> float:
    """Build and return wall seconds; what an earlier run left is deleted first, and written out."""
    shutil.rmtree(out, ignore_errors=True)
    os.sync()
    started = time.perf_counter()
    if start(inputs, out).wait():
        raise SystemExit("the build failed")
    return time.perf_counter() - started


def watched(inputs: list[Path], out: Path) -> dict[str, int]:
    """Build and return peak resident sets; apart from the timed runs, since looking costs time."""
    build = start(inputs, out)
    watch = Watch(build.pid)
    watch.start()
    build.wait()
    return watch.stop()


def seconds(function: Callable[[], object]) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def survivors(build: Path) -> list[str]:
    """Return the texts that were tokenized."""
    verdict = np.load(build / "dedup/verdict.npy")
    parts = sorted((build / "text").glob("*.parquet"))
    texts = [text for part in parts for text in pq.read_table(part, columns=["text"])["text"].to_pylist()]
    return [text for text, twin in zip(texts, verdict, strict=True) if twin < 0]


def floor(build: Path, folder: Path) -> tuple[dict[str, float], int]:
    """Return the seconds of each part of the floor, and the bytes of the surviving text."""
    import sentencepiece

    texts = survivors(build)
    lines = [orjson.dumps({"text": text}) for text in texts]
    processor = sentencepiece.SentencePieceProcessor(model_file=str(MODEL))
    manifest = json.loads((build / "manifest.json").read_text())
    rows = sum(split["rows"] for split in manifest["splits"].values())
    parts = {
        "parse": seconds(lambda: [orjson.loads(line) for line in lines]),
        "encode": seconds(lambda: [processor.encode(text) for text in texts]),
        "write": write_seconds(rows, folder),
    }
    return parts, sum(len(text.encode()) for text in texts)


def write_seconds(rows: int, folder: Path) -> float:
    """Return what FileWriter takes for so many rows of random ids, 1,000 a call."""
    from mindspore.mindrecord import FileWriter

    ids = np.random.default_rng(0).integers(0, 32_000, (rows, SEQ + 1), dtype=np.int32)

    def write() -> None:
        writer = FileWriter(str(folder / "floor.mindrecord"), 1, overwrite=True)
        writer.add_schema({"input_ids": {"type": "int32", "shape": [-1]}})
        for first in range(0, rows, 1000):
            writer.write_raw_data([{"input_ids": row} for row in ids[first : first + 1000]])
        writer.commit()

    return seconds(write)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    print(run("--version").strip())
    for name, corpora in SETS.items():
        with tempfile.TemporaryDirectory(prefix="mrprep-bench-") as folder:
            inputs = [CORPORA / corpus for corpus in corpora]
            out = Path(folder) / "watched"
            peaks = watched(inputs, out)
            wall = statistics.median(timed(inputs, out) for _ in range(runs))
            phases = json.loads((out / "run.json").read_text())["phases"]
            parts, size = floor(out, Path(folder))
            bottom = sum(parts.values()) / 2
            print(
                f"{name}: {size / 1e6:.1f} MB of surviving text; build {wall:.2f} s, {size / 1e6 / wall:.1f} MB/s; "
                f"floor {bottom:.2f} s ({', '.join(f'{k} {v:.2f}' for k, v in parts.items())}); "
                f"floor ÷ build {bottom / wall:.2f}; MiB: {peaks}"
            )
            print("   " + ", ".join(f"{p['phase']} {p['seconds']:.2f}" for p in phases))


if __name__ == "__main__":
    main()
