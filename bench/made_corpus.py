"""A corpus of any size with known near duplicates: python bench/made_corpus.py FOLDER --gigabytes 1 [--documents N].

Documents are real sentences, English or Chinese, dealt anew by a seed, one a line of FOLDER/text.jsonl. One in five is
a copy of an earlier one with made-up words put between its sentences: of ``n`` units at most ``n / 50`` words, each of
which takes away 4 shingles of 5 and brings 5, so the Jaccard similarity of the two is 0.82 or more. FOLDER/pairs.npy,
int64[p, 2], has the lines (from 0) of originals and their copies. One core writes 60 MB/s and more.
"""

import argparse
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow.parquet as pq
from tree import SHARED

CORPORA = SHARED / "corpora"
COPIES = 0.2
_BATCH = 20_000
_HELD, _FOR_GOOD = 20_000, 1_000
"""Originals that copies are made of, and how many of them are never replaced: their copies stand far away."""
_SENTENCES = 80_000
"""Of each language, at most."""
_SHORT = 60
"""Units under which a copy has its one word at the end: in the middle it would be another text."""
_LEAST = 8
"""Units of which a word more at the end leaves 4 of 5 shingles."""
_UNIT = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+")

Pairs = npt.NDArray[np.int64]


def sentences() -> list[list[str]]:
    """Return the English and the Chinese sentences of two corpora, of 40 to 240 bytes."""
    books = [path.read_text() for path in sorted((CORPORA / "en_gutenberg").rglob("*.md"))[:40]]
    tables = sorted((CORPORA / "zh_classics").glob("*.parquet"))[:2]
    chapters = [text for path in tables for text in pq.read_table(path, columns=["text"])["text"].to_pylist()]
    english = {" ".join(part.split()) for book in books for part in re.split(r"(?<=[.!?])\s+", book)}
    chinese = {"".join(part.split()) for chapter in chapters for part in re.split(r"(?<=[。！？])", chapter)}
    every = [sorted(s for s in found if 40 <= len(s.encode()) <= 240) for found in (english, chinese)]
    return [found[:: 1 + len(found) // _SENTENCES] for found in every]


class Maker:
    """Deals sentences into documents."""

    def __init__(self, mean: float, seed: int = 1, chinese: float = 0.3) -> None:
        """``mean``: bytes of a line, about; ``chinese``: share of the documents that are Chinese, not English."""
        self._chance = np.random.default_rng(seed)
        languages = sentences()
        self._pool = [orjson.dumps(text)[1:-1] for texts in languages for text in texts]
        self._units = np.array([len(_UNIT.findall(text)) for texts in languages for text in texts])
        self._ranges = [(0, len(languages[0])), (len(languages[0]), len(self._pool))]
        self._a_document = max(1.0, (mean - 12) / (1 + np.mean([len(text) for text in self._pool])))
        self._held: list[tuple[int, list[int]]] = []
        self.pairs: list[tuple[int, int]] = []
        self._made, self._chinese = 0, chinese

    def lines(self, documents: int) -> Iterator[bytes]:
        """Yield that many lines, a batch of them at a time."""
        while self._made < documents:
            yield b"".join(self._batch(min(_BATCH, documents - self._made)))

    def _batch(self, size: int) -> Iterator[bytes]:
        chance, pool = self._chance, self._pool
        counts = 1 + chance.poisson(self._a_document - 1, size)
        copied = (chance.random(size) < COPIES).tolist()
        held = chance.integers(0, _HELD, size).tolist()
        enters = (chance.random(size) < COPIES).tolist()
        which = [chance.integers(low, high, counts.sum()).tolist() for low, high in self._ranges]
        language = (chance.random(size) < self._chinese).astype(int).tolist()
        at = 0
        for i, count in enumerate(counts.tolist()):
            if copied[i] and held[i] < len(self._held):
                number, dealt = self._held[held[i]]
                parts, known = self._edited(dealt)
                if known:
                    self.pairs.append((number, self._made))
            else:
                dealt = which[language[i]][at : at + count]
                parts = [pool[k] for k in dealt]
                if len(self._held) < _HELD:
                    self._held.append((self._made, dealt))
                elif enters[i] and held[i] >= _FOR_GOOD:
                    self._held[held[i]] = (self._made, dealt)
            at += count
            self._made += 1
            yield b'{"text":"' + b" ".join(parts) + b'"}\n'

    def _edited(self, dealt: list[int]) -> tuple[list[bytes], bool]:
        """Return the sentences with made-up words between them, and whether the two are alike enough."""
        parts = [self._pool[k] for k in dealt]
        units = int(self._units[dealt].sum())
        if units < _SHORT:
            return [*parts, b"v%d" % self._made], units >= _LEAST
        for word in range(int(self._chance.integers(1, 1 + units // 50))):
            parts.insert(int(self._chance.integers(0, len(parts) + 1)), b"v%dw%d" % (self._made, word))
        return parts, True


def write(folder: Path, gigabytes: float, documents: int, chinese: float = 0.3) -> None:
    """Write the corpus; nothing to do where it is complete."""
    if (folder / "pairs.npy").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    maker = Maker(gigabytes * 1e9 / documents, chinese=chinese)
    with (folder / "text.jsonl").open("wb") as stream:
        for block in maker.lines(documents):
            stream.write(block)
    aside = folder / "pairs.tmp.npy"
    np.save(aside, np.array(maker.pairs, np.int64).reshape(-1, 2))
    aside.rename(folder / "pairs.npy")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--documents", type=int, help="by default one for each 2,000 bytes")
    asked = parser.parse_args()
    started = time.perf_counter()
    write(asked.folder, asked.gigabytes, asked.documents or int(asked.gigabytes * 500_000))
    size = (asked.folder / "text.jsonl").stat().st_size
    pairs = len(np.load(asked.folder / "pairs.npy"))
    print(f"{size / 1e6:.0f} MB, {pairs:,} known pairs, {size / 1e6 / (time.perf_counter() - started):.0f} MB/s")


if __name__ == "__main__":
    main()
