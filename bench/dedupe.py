"""Duplicates on real text: quality against all pairs by exact Jaccard, speed, and inputs that hurt other tools.

    python -m bench.dedupe quality     # minutes: the truth is by brute force
    python -m bench.dedupe speed       # the sketch (units, shingles, signatures) and the barrier, on one core
    python -m bench.dedupe extremes    # at n and 2n, each in a process of its own, with its memory
    python -m bench.dedupe share       # of the CPU time of a whole build, default pipeline, one worker
    DATATROVE=/path/to/its/python python -m bench.dedupe datatrove    # beside ours; see bench/datatrove_dedupe.py
    python -m bench.dedupe memory      # largest process of mrprep dedupe on documents of 30 MB to 1 GB

Seconds are CPU seconds. Corpora are read where they lie, in ../shared (SHARED names another place).
"""

import gzip
import json
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from dedupe_helpers import InProcess, edited, quality, shingle_sets, sketch, write_parts  # noqa: E402

from mrprep.stages import dedupe  # noqa: E402

CORPORA = Path(os.environ.get("SHARED", ROOT.parent / "shared")) / "corpora"


def jsonl(name: str) -> list[str]:
    path = CORPORA / name
    if path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().stream_reader(path.open("rb")).read()
    else:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line)["text"] for line in data.split(b"\n") if line.strip()]


def parquet(name: str) -> list[str]:
    return pq.read_table(CORPORA / name, columns=["text"]).column("text").to_pylist()


def licences() -> list[str]:
    return jsonl("neardup_licences/spdx_licences.jsonl")


def reuters() -> list[str]:
    return jsonl("en_reuters/reuters.jsonl.gz")


def books() -> list[str]:
    return [path.read_text() for path in sorted((CORPORA / "en_gutenberg").rglob("*.md"))]


def laws() -> list[str]:
    return jsonl("zh_laws/laws.jsonl.gz")


def classics() -> list[str]:
    return parquet("zh_classics/zh_classics_chapters.parquet")


def poetry() -> list[str]:
    names = ("poems-000.jsonl.zst", "poems-001.jsonl.zst", "yuding_tang.jsonl.gz")
    return [text for name in names for text in jsonl(f"zh_poetry/{name}")]


def chapters_with_copies() -> list[str]:
    rng = random.Random(5)
    chapters = [text for text in classics() if len(text) > 200][:2000]
    copies = [edited(text, share, rng) for share in (0.02, 0.05, 0.1) for text in chapters[int(share * 100) :: 3]]
    return chapters + copies


def english() -> list[str]:
    return books() + reuters() + licences() + parquet("en_python_doc/python311_doc.parquet")


def measure(texts: list[str], root: Path, options: dedupe.Options) -> tuple[Path, float, float, float]:
    """Return the verdict's directory, MB of text, and the CPU seconds of the sketch and of the barrier."""
    column, ids = pa.array(texts, pa.string()), np.arange(len(texts), dtype=np.uint64)
    sketch(column[:100], ids[:100], options)
    started = time.process_time()
    sketch(column, ids, options)
    sketched = time.process_time() - started
    parts = write_parts(root, texts, options, parts=2)
    started = time.process_time()
    out = dedupe.run(InProcess(root), parts, options)
    return out, column.nbytes / 1e6, sketched, time.process_time() - started


def show_quality() -> None:
    print("| | documents | pairs | recall | outside | one survivor | removed | direct | chain | none left |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for make in (licences, reuters, laws, chapters_with_copies, poetry):
        texts = make()
        sets = shingle_sets(texts)
        for cluster in ("connected", "star"):
            with tempfile.TemporaryDirectory() as root:
                out = measure(texts, Path(root), dedupe.Options(cluster=cluster))[0]
                q = quality(texts, sets, out)
                chain = json.loads((out / "counts.json").read_text())["chain"]
            print(
                f"| {make.__name__}, {cluster} | {q['documents']} | {q['pairs']} | {q['joined']:.4f} "
                f"| {q['outside']} | {q['one survivor']:.4f} | {q['removed']} | {q['direct']:.3f} | {chain} "
                f"| {q['none left']} |",
                flush=True,
            )


def show_speed() -> None:
    print("| | documents | MB | sketch s | MB/s | barrier s | counts |\n|---|---|---|---|---|---|---|")
    for make in (licences, reuters, books, english, laws, classics, poetry):
        texts = make()
        with tempfile.TemporaryDirectory() as root:
            out, size, sketched, barrier = measure(texts, Path(root), dedupe.Options())
            counts = (out / "counts.json").read_text()
        print(
            f"| {make.__name__} | {len(texts)} | {size:.1f} | {sketched:.2f} | {size / sketched:.0f} "
            f"| {barrier:.2f} | {counts} |",
            flush=True,
        )


def copies(n: int) -> list[str]:
    return [reuters()[100]] * n


def near_copies(n: int) -> list[str]:
    rng = random.Random(1)
    text = reuters()[100]
    return [f"{text} ref {rng.randrange(10**9)} {rng.randrange(10**9)}" for _ in range(n)]


def one_template(n: int) -> list[str]:
    """Return documents of which any two have Jaccard 0.52, two in a hundred one at 0.9."""
    rng = random.Random(1)
    words = [f"w{number}" for number in range(20_000)]
    head = rng.choices(words, k=100)
    own = [rng.choices(words, k=40) for _ in range(n - n // 50)]
    own += [[*tail[:20], "changed", *tail[21:]] for tail in own[: n // 50]]
    return [" ".join(head + tail) for tail in own]


def one_line(n: int) -> list[str]:
    rng = random.Random(1)
    words = [f"w{number}" for number in range(3000)]
    return [" ".join(rng.choices(words, k=12)) for _ in range(n)]


def one_document(n: int) -> list[str]:
    points = np.random.default_rng(1).integers(0x4E00, 0x5A00, n, dtype=np.uint32)
    return [points.tobytes().decode("utf-32-le")]


def _peak() -> int:
    """Return the most memory that this process has had, MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) >> 10


def _extreme(make: Callable[[int], list[str]], n: int) -> None:
    texts = make(n)
    before = _peak()
    with tempfile.TemporaryDirectory() as root:
        out, size, sketched, barrier = measure(texts, Path(root), dedupe.Options())
        counts = (out / "counts.json").read_text()
    print(
        f"| {make.__name__} | {n} | {size:.1f} | {sketched:.2f} | {barrier:.2f} | {before} | {_peak()} | {counts} |",
        flush=True,
    )


def _write_han(path: Path, characters: int, seed: int = 1, changed: int = 0) -> None:
    """Write random Han, a line of 50, a million at a time, every ``changed``-th character replaced."""
    rng = np.random.default_rng(seed)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(0, characters, 1_000_000):
            points = rng.integers(0x4E00, 0x5A00, 1_000_000, dtype=np.uint32)
            if changed:
                points[::changed] = 0x5B00
            points[::50] = 10
            file.write(points.tobytes().decode("utf-32-le"))


def peak_of(what: str) -> int:
    """Return the resident memory of the largest process, MB, of mrprep dedupe on long documents."""
    with tempfile.TemporaryDirectory() as root:
        source = Path(root, "in")
        source.mkdir()
        if what == "two_documents":
            for number in range(2):
                _write_han(source / f"{number}.txt", 10_000_000, changed=200 * number)
        else:
            _write_han(source / "long.txt", {"pieces": 70_000_000, "gigabyte": 330_000_000}[what])
        arguments = ["dedupe", str(source), "--out", str(Path(root, "out")), "--jobs", "1"]
        subprocess.run([sys.executable, "-m", "mrprep", *arguments], check=True, stdout=subprocess.DEVNULL)
        removed = pq.read_table(Path(root, "out/dedup/clusters.parquet")).num_rows
    assert removed == (what == "two_documents")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10


def show_memory() -> None:
    print("| | largest process, MB |\n|---|---|")
    for what in ("two_documents", "pieces", "gigabyte"):
        code = f"from bench.dedupe import peak_of; print(peak_of({what!r}))"
        peak = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT).stdout
        print(f"| {what} | {peak.strip()} |", flush=True)


def as_jsonl(texts: list[str], root: Path) -> Path:
    source = root / "in"
    source.mkdir()
    with (source / "texts.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(texts))
    return source


def children_spent(command: list[str]) -> float:
    """Run a command and return the CPU seconds of all its processes."""
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    subprocess.run(command, check=True, capture_output=True)
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before


def by_us(texts: list[str], root: Path) -> tuple[np.ndarray, float]:
    """Return the verdict of ``mrprep dedupe``, and the CPU seconds of all its processes, from jsonl to jsonl."""
    arguments = ["dedupe", str(as_jsonl(texts, root)), "--out", str(root / "out"), "--jobs", "1"]
    spent = children_spent([sys.executable, "-m", "mrprep", *arguments])
    return np.load(root / "out/dedup/verdict.npy"), spent


def by_datatrove(texts: list[str], language: str, root: Path) -> tuple[np.ndarray, float]:
    """Return datatrove's verdict on texts, and its CPU seconds, from jsonl to jsonl, imports not counted."""
    script = str(ROOT / "bench/datatrove_dedupe.py")
    command = [os.environ["DATATROVE"], "-P", script, str(as_jsonl(texts, root)), language, str(root)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    verdict = np.full(len(texts), -1, np.int64)
    for first, *others in found["clusters"]:
        verdict[[int(other) for other in others]] = int(first)
    assert (verdict >= 0).sum() == found["removed"]
    return verdict, found["seconds"]


def show_datatrove() -> None:
    print("| | CPU s | recall | outside | one survivor | removed | direct | none left |")
    print("|---|---|---|---|---|---|---|---|")
    sets_of = {licences: ["eng"], reuters: ["eng"], laws: ["eng", "cmn"], chapters_with_copies: ["eng", "cmn"]}
    for make, languages in sets_of.items():
        texts = make()
        sets = shingle_sets(texts)
        for who in ["ours", *languages]:
            with tempfile.TemporaryDirectory() as name:
                root = Path(name)
                verdict, seconds = by_us(texts, root) if who == "ours" else by_datatrove(texts, who, root)
                np.save(root / "verdict.npy", verdict)
                q = quality(texts, sets, root)
            print(
                f"| {make.__name__}, {who} | {seconds:.1f} | {q['joined']:.4f} | {q['outside']} "
                f"| {q['one survivor']:.4f} | {q['removed']} | {q['direct']:.3f} | {q['none left']} |",
                flush=True,
            )


def show_share() -> None:
    print("| | build, CPU s | sketch | barrier | share |\n|---|---|---|---|---|")
    model = CORPORA / "tokenizers/llama2_32k.model"
    for make in (reuters, classics, poetry, laws):
        texts = make()
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            _, _, sketched, barrier = measure(texts, root, dedupe.Options())
            command = ["build", str(as_jsonl(texts, root)), "--out", str(root / "out"), "--tokenizer", str(model)]
            spent = children_spent([sys.executable, "-m", "mrprep", *command, "--seq", "2048", "--jobs", "1"])
        share = (sketched + barrier) / spent
        print(f"| {make.__name__} | {spent:.1f} | {sketched:.2f} | {barrier:.2f} | {share:.0%} |", flush=True)


def show_extremes() -> None:
    print("| | n | MB | sketch s | barrier s | memory before, MB | after | counts |")
    print("|---|---|---|---|---|---|---|---|")
    spawn = multiprocessing.get_context("spawn")
    sizes = {copies: 10_000, near_copies: 10_000, one_template: 2_500, one_line: 300_000, one_document: 10_000_000}
    for make, size in sizes.items():
        for n in (size, 2 * size):
            child = spawn.Process(target=_extreme, args=(make, n))
            child.start()
            child.join()


if __name__ == "__main__":
    shows = {
        "quality": show_quality,
        "speed": show_speed,
        "extremes": show_extremes,
        "share": show_share,
        "memory": show_memory,
        "datatrove": show_datatrove,
    }
    for name in sys.argv[1:] or [name for name in shows if name != "datatrove"]:
        shows[name]()
