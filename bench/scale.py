"""Memory, time and duplicates found as a corpus grows: python bench/scale.py --gigabytes 1,3,10 --memory 4GB.

For each size a corpus is made (`made_corpus`), built, checked and deleted again, and a line of figures is added to
FOLDER/figures.jsonl; sizes that stand there are not built again, and a build that was killed goes on. Printed: peak
resident set of the process tree, largest work directory, seconds by phase, the slope of time over size in log-log,
recall of the known pairs, and for one cluster in a hundred, compared pair by pair, whether pairs at or above the
threshold connect all of its documents.
"""

import argparse
import json
import math
import shutil
import subprocess
import tempfile
import time
import unicodedata
from itertools import combinations
from pathlib import Path
from typing import Any

import history
import made_corpus
import numpy as np
import psutil
import pyarrow.parquet as pq
from made_corpus import _UNIT, Pairs
from tree import SHARED, command

MODEL = SHARED / "corpora/tokenizers/llama2_32k.model"
THRESHOLD, NGRAM = 0.8, 5
_LARGEST_CLUSTER = 200
"""Documents of one that is compared pair by pair."""


def watched(arguments: list[str], phases: Path) -> dict[str, Any]:
    """Run a build; return its seconds, and of each phase the largest tree and process in MiB; and the largest work."""
    started = time.perf_counter()
    build = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    root, peaks, work, looked = psutil.Process(build.pid), {}, 0, 0.0
    while build.poll() is None:
        made = [path for path in phases.iterdir() if path.is_dir()] if phases.is_dir() else []
        try:
            phase = max(made, key=lambda path: path.stat().st_ctime).name if made else "start"
            sizes = [process.memory_info().rss >> 20 for process in [root, *root.children(recursive=True)]]
            tree, largest = peaks.get(phase, (0, 0))
            peaks[phase] = (max(tree, sum(sizes)), max(largest, *sizes))
            if time.monotonic() - looked > 5:
                looked, work = time.monotonic(), max(work, disk(phases.parent))
        except (psutil.NoSuchProcess, FileNotFoundError):
            pass
        time.sleep(0.1)
    if build.returncode:
        raise SystemExit(f"the build failed with {build.returncode}")
    return {"seconds": time.perf_counter() - started, "peaks": peaks, "work": work}


def disk(folder: Path) -> int:
    """Return the bytes that a directory takes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def clusters_of(build: Path) -> tuple[Pairs, Pairs]:
    """Return the line (from 0) of each kept row, and for each row the row that stands for it."""
    lines = [pq.read_table(path, columns=["line"])["line"].to_numpy() for path in texts_of(build)]
    verdict = np.load(build / "dedup/verdict.npy")
    rows = np.arange(verdict.size)
    return np.concatenate(lines) - 1, np.where(verdict >= 0, verdict, rows)


def texts_of(build: Path) -> list[Path]:
    """Return the files of the texts."""
    return sorted((build / "text").glob("*.parquet"))


def recall(pairs: Pairs, lines: Pairs, survivor: Pairs) -> float:
    """Return the share of known pairs, both of which were read and kept by the filter, that ended in one cluster."""
    row = np.full(int(lines.max()) + 2, -1)
    row[lines] = np.arange(lines.size)
    pairs = row[np.minimum(pairs, row.size - 1)]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    return float((survivor[pairs[:, 0]] == survivor[pairs[:, 1]]).mean())


def checked(build: Path, survivor: Pairs, share: float = 0.01) -> dict[str, int]:
    """Compare a share of the clusters pair by pair; ``wrong``: those that pairs over the threshold do not connect."""
    heads, sizes = np.unique(survivor, return_counts=True)
    heads = heads[(sizes > 1) & (sizes <= _LARGEST_CLUSTER)]
    heads = np.random.default_rng(0).choice(heads, max(1, int(share * heads.size)), replace=False)
    rows = np.flatnonzero(np.isin(survivor, heads))
    texts, begin = {}, 0
    for path in texts_of(build):
        table = pq.read_table(path, columns=["text"])
        for at in rows[(rows >= begin) & (rows < begin + len(table))].tolist():
            texts[at] = shingles(table["text"][at - begin].as_py())
        begin += len(table)
    clusters: dict[int, list[int]] = {}
    for at in rows.tolist():
        clusters.setdefault(int(survivor[at]), []).append(at)
    wrong = sum(not connected([texts[at] for at in members]) for members in clusters.values())
    return {"clusters": len(clusters), "documents": len(texts), "wrong": wrong}


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Return the shingles of a text, after docs/dedupe.md and not by the code of mrprep."""
    units = _UNIT.findall(unicodedata.normalize("NFKC", text).casefold())
    return frozenset(tuple(units[at : at + NGRAM]) for at in range(max(1, len(units) - NGRAM + 1)))


def connected(sets: list[frozenset[Any]]) -> bool:
    """Tell whether pairs at or above the threshold connect all of them."""
    group = list(range(len(sets)))
    for a, b in combinations(range(len(sets)), 2):
        if group[a] != group[b] and len(sets[a] & sets[b]) >= THRESHOLD * len(sets[a] | sets[b]):
            group = [group[a] if mine == group[b] else mine for mine in group]
    return len(set(group)) == 1


def measure(gigabytes: float, documents: int, folder: Path, options: list[str]) -> dict[str, Any]:
    """Make a corpus, build it, check it, delete both; return the figures."""
    corpus, out = folder / f"{gigabytes:g}GB", folder / f"{gigabytes:g}GB.build"
    made_corpus.write(corpus, gigabytes, documents)
    arguments = command("build", corpus / "text.jsonl", "--out", out, "--tokenizer", MODEL, "--no-audit", *options)
    figures = watched(arguments, out.with_name(out.name + ".work") / "phases")
    lines, survivor = clusters_of(out)
    phases = json.loads((out / "run.json").read_text())["phases"]
    size = (corpus / "text.jsonl").stat().st_size
    figures |= {
        "gigabytes": size / 1e9,
        "documents": documents,
        "options": options,
        "rows": lines.size,
        "phases": {phase["phase"]: round(phase["seconds"], 1) for phase in phases},
        "recall": recall(np.load(corpus / "pairs.npy"), lines, survivor),
        "checked": checked(out, survivor),
        "build": disk(out),
    }
    shutil.rmtree(out)
    shutil.rmtree(corpus)
    return figures


def peak(peaks: dict[str, Any]) -> tuple[int, int]:
    """Return the MiB of the largest tree and process of all phases."""
    tree, process = (max(each[which] for each in peaks.values()) for which in (0, 1))
    return tree, process


def remember(figures: dict[str, Any]) -> None:
    """Add one size to the history."""
    tree, process = peak(figures["peaks"])
    kept = ("documents", "options", "work", "build", "recall", "checked")
    rounded = {name: round(figures[name], 2) for name in ("gigabytes", "seconds")}
    told = rounded | {name: figures[name] for name in kept}
    history.append("scale", told | {"tree MiB": tree, "process MiB": process})


def show(figures: dict[str, Any]) -> None:
    """Print one size."""
    peaks = figures["peaks"]
    tree, process = peak(peaks)
    print(
        f"{figures['gigabytes']:.2f} GB, {figures['documents']:,} documents: {figures['seconds']:.0f} s, "
        f"{1000 * figures['gigabytes'] / figures['seconds']:.1f} MB/s; MiB: tree {tree:,}, process {process:,}; "
        f"work {figures['work'] / 1e9:.2f} GB, build {figures['build'] / 1e9:.2f} GB; recall {figures['recall']:.4f}; "
        f"checked {figures['checked']}"
    )
    print("  seconds: " + ", ".join(f"{name} {took}" for name, took in figures["phases"].items()))
    print("  MiB of tree and process: " + ", ".join(f"{name} {a}/{b}" for name, (a, b) in peaks.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", default="1,3,10")
    parser.add_argument("--documents-a-gigabyte", type=int, default=500_000)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--jobs", default=None)
    parser.add_argument("--history", action="store_true", help="add the figures to bench/history.jsonl")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "mrprep-scale"))
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    given = {"--memory": asked.memory, "--jobs": asked.jobs}
    options = [f"{name}={value}" for name, value in given.items() if value]
    book = asked.folder / "figures.jsonl"
    done = [json.loads(line) for line in book.read_text().splitlines()] if book.exists() else []
    points = []
    for gigabytes in map(float, asked.gigabytes.split(",")):
        documents = int(gigabytes * asked.documents_a_gigabyte)
        key = (documents, options)
        figures = next((old for old in done if (old["documents"], old["options"]) == key), None)
        if figures is None:
            figures = measure(gigabytes, documents, asked.folder, options)
            with book.open("a") as stream:
                stream.write(json.dumps(figures) + "\n")
            if asked.history:
                remember(figures)
        show(figures)
        points.append((math.log(figures["gigabytes"]), math.log(figures["seconds"])))
    if len(points) > 1:
        print(f"log-log slope of seconds over size: {np.polyfit(*zip(*points, strict=True), 1)[0]:.3f}")


if __name__ == "__main__":
    main()
