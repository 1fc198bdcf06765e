"""How fast cleaning and filtering are, and what they take out of each corpus.

    python -P bench/clean.py [CORPORA]

For each corpus: MB of UTF-8 a CPU second (best of three) for the first cleaning, for cleaning what is clean, and for
the filter; microseconds a document of the last two together; documents changed, and documents dropped by reason.
"""

import gzip
import io
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import zstandard

from mrprep.document import Document, Dropped, MapItem, Place
from mrprep.stages import clean
from mrprep.stages import filter as filter_stage

CORPORA = (
    *("en_gutenberg", "en_python_doc", "en_reuters", "zh_laws", "zh_classics", "zh_poetry", "neardup_licences"),
    *("mixfolder/docs", "mixfolder/wiki", "mixfolder/poems"),
)
PLACE = Place("bench", b"a", 0, 1)
Stage = Callable[[list[Document]], Iterable[MapItem]]


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2] / "shared" / "corpora")
    print(f"{'corpus':18}{'MB':>6}{'clean':>7}{'again':>7}{'filter':>7}{'us/doc':>8}  changed, dropped")
    for name in CORPORA:
        print(f"{name:18}{report([Document(PLACE, text) for text in texts(root / name)])}")


def report(documents: list[Document]) -> str:
    """Return the figures of one corpus as a line."""
    size = sum(len(document.text.encode()) for document in documents) / 1e6
    first, items = timed(lambda given: clean.clean(given, clean.Options()), documents)
    cleaned = [Document(PLACE, item.text) for item in items if isinstance(item, Document)]
    again, _ = timed(lambda given: clean.clean(given, clean.Options()), cleaned)
    judging, judged = timed(lambda given: filter_stage.filter_documents(given, filter_stage.Options()), cleaned)
    reasons = Counter(item.reason for item in judged if isinstance(item, Dropped))
    changed = sum(isinstance(item, Document) and bool(item.edits) for item in items)
    rates = "".join(f"{size / seconds:7.0f}" for seconds in (first, again, judging))
    each = (again + judging) / len(documents) * 1e6
    share = reasons.total() / len(documents)
    return f"{size:6.1f}{rates}{each:8.1f}  {changed}/{len(documents)}, {share:.2%} {dict(reasons)}"


def timed(stage: Stage, documents: list[Document]) -> tuple[float, list[MapItem]]:
    """Return the CPU seconds of the best of three runs, and what the last gave."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        items = list(stage(documents))
        best = min(best, time.process_time() - start)
    return best, items


def texts(path: Path) -> Iterator[str]:
    """Yield the texts of a corpus of any of the forms that the shared ones have."""
    for file in sorted(path.rglob("*")):
        if file.suffix == ".md":
            yield file.read_bytes().decode()
        elif file.suffix == ".parquet":
            yield from pq.read_table(file)["text"].to_pylist()
        elif ".jsonl" in file.name:
            yield from (orjson.loads(line)["text"] for line in opened(file))


def opened(file: Path) -> Iterable[bytes]:
    """Return the lines of a plain or compressed file."""
    if file.suffix == ".gz":
        return gzip.open(file)
    if file.suffix == ".zst":
        return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file.open("rb")))
    return file.open("rb")


if __name__ == "__main__":
    main()
