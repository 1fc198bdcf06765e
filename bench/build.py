"""The whole build against the floor of plain libraries, on all English and all Chinese corpora.

python bench/build.py [--runs 3] : wall seconds (median), MB/s of text, and floor ÷ build. The floor, measured in
the same run: orjson parse + sentencepiece encode of the surviving text + FileWriter of the rows, each alone on one
core, ÷ 2. Also the largest resident set of one process, and of all together.

python bench/build.py --megabytes 500 : as much English and Chinese dealt anew from real sentences by a seed
(made_corpus.py), so that what a start costs does not count; with one job too, and the share of the wall time in which
fewer than two workers are busy, start and audit included. The floor is measured on parts of 50 MB drawn by a seed, and
scaled up: sentencepiece alone would take minutes.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import history
import made_corpus
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
from chart import drawn, serial, stretches
from memory import Watch
from tree import SHARED, command, run

CORPORA = SHARED / "corpora"
MODEL = CORPORA / "tokenizers/llama2_32k.model"
SETS = {
    "English": ["en_gutenberg", "en_reuters", "en_python_doc", "neardup_licences", "neardup_labelled_articles"],
    "Chinese": ["zh_classics", "zh_laws", "zh_poetry"],
}
SEQ = 2048
FLOOR_BYTES = 50_000_000
"""Of surviving text, on which the floor is measured at the most, about."""


def start(inputs: list[Path], out: Path, jobs: int | None = None) -> subprocess.Popen[bytes]:
    """Start a build."""
    arguments = command("build", *inputs, "--out", out, "--tokenizer", MODEL, "--seq", SEQ)
    return subprocess.Popen(arguments + (["--jobs", str(jobs)] if jobs else []), stdout=subprocess.DEVNULL)


def timed(inputs: list[Path], out: Path, jobs: int | None = None) -> float:
    """Build and return wall seconds; what an earlier run left is deleted first, and written out."""
    shutil.rmtree(out, ignore_errors=True)
    os.sync()
    started = time.perf_counter()
    if start(inputs, out, jobs).wait():
        raise SystemExit("the build failed")
    return time.perf_counter() - started


def watched(inputs: list[Path], out: Path) -> dict[str, int]:
    """Build and return peak resident sets; apart from the timed runs, since looking costs time."""
    shutil.rmtree(out, ignore_errors=True)
    build = start(inputs, out)
    watch = Watch(build.pid)
    watch.start()
    if build.wait():
        raise SystemExit("the build failed")
    return watch.stop()


def seconds(function: Callable[[], object]) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def survivors(build: Path, limit: int) -> list[str]:
    """Return texts that were tokenized, of parts drawn by a seed, until they are that many bytes."""
    verdict = np.load(build / "dedup/verdict.npy", mmap_mode="r")
    manifest = json.loads((build / "manifest.json").read_text())
    parts, texts, size = manifest["text"]["parts"], list[str](), 0
    for number in np.random.default_rng(0).permutation(len(parts)).tolist():
        part = parts[number]
        kept = verdict[part["base"] : part["base"] + part["rows"]] == -1
        texts += pq.read_table(build / part["file"], columns=["text"])["text"].filter(pa.array(kept)).to_pylist()
        size = sum(len(text.encode()) for text in texts)
        if size >= limit:
            break
    return texts


def floor(build: Path, folder: Path, limit: int) -> tuple[dict[str, float], int]:
    """Return the seconds of each part of the floor, and the bytes of the surviving text; measured on ``limit``."""
    import sentencepiece

    texts = survivors(build, limit)
    lines = [orjson.dumps({"text": text}) for text in texts]
    processor = sentencepiece.SentencePieceProcessor(model_file=str(MODEL))
    manifest = json.loads((build / "manifest.json").read_text())
    size = int(manifest["counts"]["tokens"]["bytes"])
    scale = size / sum(len(text.encode()) for text in texts)
    rows = sum(split["rows"] for split in manifest["splits"].values())
    parts = {
        "parse": scale * seconds(lambda: [orjson.loads(line) for line in lines]),
        "encode": scale * seconds(lambda: [processor.encode(text) for text in texts]),
        "write": scale * write_seconds(int(rows / scale), folder),
    }
    return parts, size


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


def corpora(megabytes: int | None, folder: Path) -> Iterator[tuple[str, list[Path]]]:
    """Yield name and inputs of each corpus: the real ones, or as much text dealt anew from them."""
    for name, names in SETS.items():
        if megabytes is None:
            yield name, [CORPORA / corpus for corpus in names]
            continue
        made = folder / f"{name}-{megabytes}"
        made_corpus.write(made, megabytes / 1000, megabytes * 500, chinese=float(name == "Chinese"))
        yield f"{name}, {megabytes} MB made", [made / "text.jsonl"]


def measure(inputs: list[Path], folder: Path, runs: int, *, alone: bool) -> dict[str, Any]:
    """Build and measure; ``alone``: with one job too."""
    out = folder / "build"
    one = statistics.median(timed(inputs, out, 1) for _ in range(runs)) if alone else None
    walls = [timed(inputs, out) for _ in range(runs)]
    wall, last = statistics.median(walls), walls[-1]
    run_facts = json.loads((out / "run.json").read_text())
    alone_for = serial(stretches(run_facts, max(last, run_facts["seconds"])))
    name, longest = max(alone_for.items(), key=lambda item: item[1])
    parts, size = floor(out, folder, FLOOR_BYTES)
    bottom = sum(parts.values()) / 2
    figures = {
        "MB": round(size / 1e6, 1),
        "seconds": round(wall, 2),
        "MB/s": round(size / 1e6 / wall, 1),
        "floor": round(bottom, 2),
        "floor ÷ build": round(bottom / wall, 2),
        "serial": round(sum(alone_for.values()) / last, 3),
        "longest serial": f"{name} {longest / last:.3f}",
        "phases": {phase["phase"]: round(phase["seconds"], 2) for phase in run_facts["phases"]},
    }
    chart = folder / "chart.html"
    chart.write_text(drawn(run_facts, max(last, run_facts["seconds"])))
    return figures | ({"jobs 1 ÷ jobs 2": round(one / wall, 2)} if one else {})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--megabytes", type=int, help="of each language, dealt anew; --jobs 1 is timed then too")
    parser.add_argument("--only", choices=list(SETS))
    parser.add_argument("--folder", type=Path, help="where the corpora, the build and chart.html stay")
    parser.add_argument("--history", action="store_true", help="add the figures to bench/history.jsonl")
    asked = parser.parse_args()
    print(run("--version").strip())
    with tempfile.TemporaryDirectory(prefix="mrprep-bench-") as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, inputs in corpora(asked.megabytes, folder):
            if asked.only and not name.startswith(asked.only):
                continue
            figures = measure(inputs, folder, asked.runs, alone=asked.megabytes is not None)
            if asked.megabytes is None:
                figures["MiB"] = watched(inputs, folder / "watched")
            print(f"{name}: " + "; ".join(f"{what} {value}" for what, value in figures.items()), flush=True)
            if asked.history:
                history.append("build", {"corpus": name, **figures})


if __name__ == "__main__":
    main()
