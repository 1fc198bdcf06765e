"""Memory on an input and on ten times as much of it: python bench/growth.py [--megabytes 30].

The input is made of real sentences, English and Chinese, dealt anew into documents by a seed; one document in ten is
an edited copy of an earlier one. Prints the largest resident set of a process in each phase.
"""

import argparse
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import psutil
import pyarrow.parquet as pq
from tree import SHARED, command

CORPORA = SHARED / "corpora"
MODEL = CORPORA / "tokenizers/llama2_32k.model"


def sentences() -> list[str]:
    """Return sentences of two corpora."""
    texts = [path.read_text() for path in sorted((CORPORA / "en_gutenberg").rglob("*.md"))[:12]]
    for path in sorted((CORPORA / "zh_classics").glob("*.parquet"))[:1]:
        texts += pq.read_table(path, columns=["text"])["text"].to_pylist()[:300]
    return [part for text in texts for part in re.split(r"(?<=[.。！？!?])\s*", text) if 10 < len(part) < 400]


def documents(pool: list[str], size: int) -> Iterator[str]:
    """Yield documents of together ``size`` bytes."""
    chance, made, recent = random.Random(0), 0, [""]
    while made < size:
        if chance.random() < 0.1 and recent[-1]:
            text = recent[chance.randrange(len(recent))].replace(" ", "  ", 1) + chance.choice(pool)[:9]
        else:
            text = "\n".join(chance.choices(pool, k=chance.randint(5, 60)))
            recent = [*recent[-99:], text]
        made += len(text.encode())
        yield text


def peaks(source: Path, out: Path) -> dict[str, int]:
    """Build and return phase -> MiB of the largest process seen in it."""
    build = subprocess.Popen(command("build", source, "--out", out, "--tokenizer", MODEL), stdout=subprocess.DEVNULL)
    root, found, phases = psutil.Process(build.pid), {}, out.with_name(out.name + ".work") / "phases"
    while build.poll() is None:
        made = [path for path in phases.iterdir() if path.is_dir()] if phases.is_dir() else []
        try:
            phase = max(made, key=lambda path: path.stat().st_ctime).name if made else "start"
            for process in [root, *root.children(recursive=True)]:
                found[phase] = max(found.get(phase, 0), process.memory_info().rss >> 20)
        except (psutil.NoSuchProcess, FileNotFoundError):
            pass
        time.sleep(0.02)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=30)
    megabytes = parser.parse_args().megabytes
    pool = sentences()
    for size in (megabytes, 10 * megabytes):
        with tempfile.TemporaryDirectory(prefix="mrprep-growth-") as folder:
            source = Path(folder) / "text.jsonl"
            with source.open("wb") as stream:
                for text in documents(pool, size * 1_000_000):
                    stream.write(orjson.dumps({"text": text}) + b"\n")
            started = time.perf_counter()
            print(
                f"{size} MB:",
                peaks(source, Path(folder) / "build"),
                f"{time.perf_counter() - started:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
