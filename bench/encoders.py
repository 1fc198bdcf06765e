"""MB/s a core of each tokenizer in English and Chinese, and what the default vocabulary is chosen by.

    python bench/encoders.py [encode|train] [--shared ../shared]

Figures are CPU seconds of this process, so that a busy machine does not change them.
"""

import argparse
import gzip
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pyarrow.parquet as pq
import sentencepiece

from mrprep.tokenizers.family import open_tokenizer
from mrprep.tokenizers.listed import Listed
from mrprep.tokenizers.protocol import Tokenizer
from mrprep.tokenizers.sentencepiece import open_sentencepiece
from mrprep.tokenizers.train import train

MODELS = (
    "llama2_32k.model",
    "mistral_v3.model",
    "internlm2.model",
    "chinese_sp_20k.model",
    "spm_test_en_unigram1k.model",
    "hf/deepseek_v4.tokenizer.json",
    "hf/qwen.tiktoken",
    "hf/gpt2_vocab.bpe",
)
BYTES, BYTES_OF_PACKAGE = 12_000_000, 2_000_000


def texts(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            column = "text" if "text" in table.column_names else "content"
            yield from table[column].to_pylist()
        elif path.suffix == ".gz":
            with gzip.open(path) as lines:
                yield from (orjson.loads(line)["text"] for line in lines)
        elif path.suffix in (".md", ".txt"):
            yield path.read_bytes().decode("utf-8", "ignore")


def head(found: Iterator[str], limit: int = BYTES) -> list[str]:
    taken, size = [], 0
    for text in found:
        taken.append(text)
        size += len(text.encode())
        if size >= limit:
            break
    return taken


def megabytes(found: list[str]) -> float:
    return sum(len(text.encode()) for text in found) / 1e6


def seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def copied(found: list[str]) -> list[str]:
    """Return new strings, as they come from Parquet: without the UTF-8 that Python keeps of one used before."""
    return [text.encode().decode() for text in found]


def package(path: Path, opened: Tokenizer) -> Callable[[str], object]:
    """Return the encoder of the file's own package."""
    if isinstance(opened, Listed):
        return opened.encoder.load()
    return partial(sentencepiece.SentencePieceProcessor(model_file=str(path)).encode, return_type="numpy")


def each(reference: Callable[[str], object], found: list[str]) -> None:
    for text in found:
        reference(text)


def encode(corpora: Path) -> None:
    books = sorted((corpora / "en_gutenberg").rglob("*.md"))
    news = sorted((corpora / "en_reuters").glob("*.gz"))
    samples = {
        "en books": head(texts(books)),
        "en news": head(texts(news)),
        "zh laws": head(texts(sorted((corpora / "zh_laws").glob("*.gz")))),
        "zh novels": head(texts(sorted((corpora / "zh_classics").glob("*.parquet")))),
    }
    print(f"{'MB/s a core (package)':32}{'encoder':15}" + "".join(f"{name:>20}" for name in samples))
    for name in MODELS:
        path = corpora / "tokenizers" / name
        opened = open_tokenizer(path, checked=True)
        encoder = opened.facts()["encoder"]  # opens it
        reference = package(path, opened)
        cells = []
        for found in samples.values():
            ours, theirs = copied(found), copied(head(iter(found), BYTES_OF_PACKAGE))
            fast = megabytes(ours) / seconds(partial(opened.encode_batch, ours))
            slow = megabytes(theirs) / seconds(partial(each, reference, theirs))
            cells.append(f"{fast:.1f} ({slow:.1f})")
        print(f"{name:32}{encoder:15}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


def training(corpora: Path) -> None:
    found = sorted(set(texts(sorted((corpora / "mixfolder").rglob("*.*")))))
    random.Random(1).shuffle(found)
    held, rest = found[: len(found) // 10], found[len(found) // 10 :]
    chinese = [text for text in held if share_of_han(text) > 0.3]
    english = [text for text in held if share_of_han(text) < 0.05]
    for megabytes_wanted in (1, 4, 10):
        sample = head(iter(rest), megabytes_wanted * 1_000_000)
        for model_type in ("bpe", "unigram"):
            for size in (16_000, 32_000, 64_000) if megabytes_wanted == 4 else (32_000,):
                row(sample, model_type, size, chinese, english)


def share_of_han(text: str) -> float:
    start = text[:1000]
    return sum("\u4e00" <= char <= "\u9fff" for char in start) / max(1, len(start))


def row(sample: list[str], model_type: str, size: int, chinese: list[str], english: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "some.model"
        spent = seconds(lambda: train(sample, path, vocab_size=size, model_type=model_type))  # type: ignore[arg-type]
        tokenizer = open_sentencepiece(path, checked=True)
        cells = []
        for held in (chinese, english):
            start = time.process_time()
            ids, _ = tokenizer.encode_batch(copied(held))
            rate = megabytes(held) / (time.process_time() - start)
            cells.append(f"{1e6 * megabytes(held) / ids.size:.3f} B/token {rate:5.1f} MB/s")
    print(f"{megabytes(sample):5.1f} MB {model_type:8} {size:6} {spent:6.1f} s   zh {cells[0]}   en {cells[1]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["encode", "train"])
    parser.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[2] / "shared")
    asked = parser.parse_args()
    {"encode": encode, "train": training}[asked.what](asked.shared / "corpora")
