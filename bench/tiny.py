"""The same text as 100,000 tiny files and as one large one: python bench/tiny.py [--files 100000] [--bytes 1000].

Real sentences dealt into documents by a seed (made_corpus.py), one a file, as .txt and as .jsonl of one line; the large
file has the same documents as lines. Prints wall and CPU seconds of a build of each (both after a sync), and how many
times as long the tiny files take, which is by the megabyte too, since the documents are the same.
"""

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import history
import orjson
from build import MODEL
from made_corpus import Maker
from tree import command


def write(folder: Path, files: int, mean: float) -> dict[str, Path]:
    """Write the corpora that are not there yet; return kind -> input."""
    large, txt, jsonl = folder / "large" / "text.jsonl", folder / "txt", folder / "jsonl"
    if not large.exists():
        for kind in (large.parent, txt, jsonl):
            kind.mkdir(parents=True)
        lines = b"".join(Maker(mean).lines(files)).splitlines(keepends=True)
        for number, line in enumerate(lines):
            place = Path(f"{number // 1000:03d}", f"{number:06d}")
            if number % 1000 == 0:
                (txt / place.parent).mkdir()
                (jsonl / place.parent).mkdir()
            (jsonl / place).with_suffix(".jsonl").write_bytes(line)
            (txt / place).with_suffix(".txt").write_text(orjson.loads(line)["text"])
        large.write_bytes(b"".join(lines))
    return {"large": large, "txt": txt, "jsonl": jsonl}


def measured(source: Path, out: Path) -> tuple[float, float]:
    """Build and return wall and CPU seconds of the processes."""
    shutil.rmtree(out, ignore_errors=True)
    os.sync()
    arguments = command("build", source, "--out", out, "--tokenizer", MODEL)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(arguments, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--bytes", type=float, default=1000)
    parser.add_argument("--folder", type=Path, help="where the corpora and the builds stay")
    parser.add_argument("--history", action="store_true", help="add the figures to bench/history.jsonl")
    asked = parser.parse_args()
    figures: dict[str, float] = {"files": asked.files}
    with tempfile.TemporaryDirectory(prefix="mrprep-tiny-") as temporary:
        folder = asked.folder or Path(temporary)
        for kind, source in write(folder, asked.files, asked.bytes).items():
            wall, cpu = measured(source, folder / f"{kind}.build")
            figures |= {f"{kind} wall": round(wall, 1), f"{kind} CPU": round(cpu, 1)}
        figures["MB"] = round((folder / "large" / "text.jsonl").stat().st_size / 1e6, 1)
    for kind in ("txt", "jsonl"):
        for what in ("wall", "CPU"):
            figures[f"{kind} ÷ large, {what}"] = round(figures[f"{kind} {what}"] / figures[f"large {what}"], 2)
    print("; ".join(f"{what} {value}" for what, value in figures.items()))
    if asked.history:
        history.append("tiny", figures)


if __name__ == "__main__":
    main()
