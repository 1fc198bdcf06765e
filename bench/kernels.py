"""What MinHash and cleaning cost over the kernels that they cannot do without: python bench/kernels.py [--history].

CPU seconds of one process, best of ``--runs``, on the texts as the read phase has them in memory:

- kernels: the units and shingles of the texts hashed by NumPy (minhash.units, minhash.shingles) and rensa's signatures
  of them, its matrix and the lists as which alone it hands out the numbers, batch by batch out of one flat buffer;
  nothing is kept.
- sketch: what a build does of it while it writes texts: the same, with exact hashes, band keys and counts a document.
- minhash: sketch, and all phases of dedupe, with the files that they write.
- no-op: a stage that yields every document as it is, after a scan of its text in C: a match of one regular expression,
  a class with every character in it, the least that tells whether one stands there that does not belong.
- clean: the stage with its default options, on texts as they are; again: on what it left.

``made`` is 40 MB of bench/made_corpus.py, a fifth near duplicates. ``--history`` appends the ratios to history.jsonl.
"""

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import history
import numpy as np
import pyarrow as pa
from clean import PLACE, texts
from made_corpus import write
from rensa import RMinHash
from tree import SHARED

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from dedupe_helpers import InProcess  # noqa: E402

from mrprep.builddir.tables import TextPart, numbered  # noqa: E402
from mrprep.builddir.textpart import BATCH_CHARACTERS, TextPartWriter  # noqa: E402
from mrprep.document import Document, MapItem, Place  # noqa: E402
from mrprep.duplicates.texts import flat  # noqa: E402
from mrprep.minhash.documents import Documents  # noqa: E402
from mrprep.stages import clean, dedupe  # noqa: E402

CORPORA = ("en_reuters", "en_gutenberg", "zh_classics", "zh_poetry", "zh_laws")
_EVERY = re.compile("[\x00-\U0010ffff]*+")
_ROWS = 128
"""Texts a call of rensa; from 256 on it starts threads."""


def best(runs: int, function: Callable[[], Any]) -> float:
    """Return the CPU seconds of the fastest of so many runs."""
    least = float("inf")
    for _ in range(runs):
        started = time.process_time()
        function()
        least = min(least, time.process_time() - started)
    return least


def batches(documents: list[str]) -> list[pa.Array]:
    """Return the texts in the batches in which a build writes and sketches them."""
    found, held, size = [], [], 0
    for text in documents:
        if size >= BATCH_CHARACTERS:
            found.append(pa.array(held, pa.string()))
            held, size = [], 0
        held.append(text)
        size += len(text)
    return [*found, pa.array(held, pa.string())]


def kernels(columns: list[pa.Array], method: dedupe.Method) -> None:
    """Hash the units and shingles of all texts and sign them."""
    numbers = method.banding.bands * method.banding.rows
    for column in columns:
        data, offsets = flat(column)
        for _, batch in Documents(data, offsets, np.arange(len(column))).batches():
            if batch.long:
                for window, _ in batch.windows(method.ngram):
                    if window.size:
                        sign(window, np.array([0, window.size], np.uint64), numbers, method.seed)
            else:
                hashes, counts, _ = batch.shingles(method.ngram)
                sign(hashes, np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64), numbers, method.seed)


def sign(hashes: Any, bounds: Any, numbers: int, seed: int) -> None:
    """Have rensa sign the shingles of texts that begin and end there."""
    for row in range(0, bounds.size - 1, _ROWS):
        own = bounds[row : row + _ROWS + 1]
        flat_hashes = hashes[int(own[0]) : int(own[-1])]
        RMinHash.digest_matrix_from_flat_token_hashes(flat_hashes, own - own[0], numbers, seed).to_rows()


def sketched(columns: list[pa.Array], options: dedupe.Options) -> None:
    """Sketch all texts as a part of a build does."""
    sketches, first = dedupe.sketches(options), 0
    for column in columns:
        sketches.add(column, np.arange(first, first + len(column), dtype=np.uint64))
        first += len(column)
    sketches.arrays()


def parts_of(documents: list[str], options: dedupe.Options, root: Path) -> list[TextPart]:
    """Write the texts as a build does, in two parts."""
    paths = [root / "read" / str(number) for number in range(2)]
    for path, own in zip(paths, (documents[: len(documents) // 2], documents[len(documents) // 2 :]), strict=True):
        path.mkdir(parents=True)
        sketches = dedupe.sketches(options)
        writer = TextPartWriter(path, sketches.add)
        for number, text in enumerate(own):
            writer.keep(Document(Place("bench", path.name.encode(), number, 1), text))
        writer.close()
        sketches.save(path)
    return numbered(paths)


def barrier(documents: list[str], options: dedupe.Options, runs: int) -> float:
    """Return the CPU seconds of all phases of dedupe."""
    with tempfile.TemporaryDirectory(prefix="mrprep-kernels-") as name:
        parts = parts_of(documents, options, Path(name))
        return best(runs, lambda: dedupe.run(InProcess(Path(name)), parts, options))


def unchanged(documents: Iterable[Document]) -> Iterator[MapItem]:
    """Yield every document after one scan of its text."""
    for document in documents:
        if _EVERY.fullmatch(document.text):
            yield document


def cleaned(documents: Iterable[Document]) -> Iterator[MapItem]:
    """Clean documents by default."""
    return clean.clean(documents, clean.Options())


def drained(stage: Callable[[Iterable[Document]], Iterator[MapItem]], documents: list[Document]) -> Callable[[], None]:
    """Return what runs a stage over documents and keeps nothing."""

    def run() -> None:
        for _ in stage(documents):
            pass

    return run


def figures(given: list[str], runs: int) -> dict[str, float]:
    """Return MB, CPU seconds and ratios of one corpus."""
    options = dedupe.Options()
    raw = [Document(PLACE, text) for text in given]
    left = [item for item in cleaned(raw) if isinstance(item, Document)]
    again = [Document(PLACE, item.text) for item in left]
    columns = batches([item.text for item in left])
    found = {
        "MB": sum(column.nbytes for column in columns) / 1e6,
        "kernels": best(runs, lambda: kernels(columns, options.method())),
        "sketch": best(runs, lambda: sketched(columns, options)),
        "barrier": barrier([item.text for item in left], options, runs),
        "no-op": best(runs, drained(unchanged, raw)),
        "clean": best(runs, drained(cleaned, raw)),
        "again": best(runs, drained(cleaned, again)),
    }
    minhash = found["sketch"] + found["barrier"]
    return found | {
        "sketch ratio": found["sketch"] / found["kernels"],
        "minhash ratio": minhash / found["kernels"],
        "clean ratio": found["clean"] / found["no-op"],
        "again ratio": found["again"] / found["no-op"],
    }


def corpora(names: list[str], folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the names and texts of corpora."""
    for name in names:
        if name == "made":
            write(folder / name, 0.04, 20_000)
            yield name, list(texts(folder / name))
        else:
            yield name, list(texts(SHARED / "corpora" / name))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="*", default=[*CORPORA, "made"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--history", action="store_true")
    asked = parser.parse_args()
    ratios = {}
    with tempfile.TemporaryDirectory(prefix="mrprep-kernels-") as folder:
        for name, given in corpora(asked.corpora, Path(folder)):
            found = figures(given, asked.runs)
            if not ratios:
                print(f"{'corpus':14}" + "".join(f"{key:>14}" for key in found))
            ratios[name] = {key.removesuffix(" ratio"): round(found[key], 2) for key in found if "ratio" in key}
            print(f"{name:14}" + "".join(f"{value:14.3f}" for value in found.values()), flush=True)
    if asked.history:
        history.append("kernels", ratios)


if __name__ == "__main__":
    main()
