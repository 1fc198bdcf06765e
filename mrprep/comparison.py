"""`mrprep tokenizer compare`: tokenizer files side by side on the beginnings of the documents of a corpus."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from mrprep.config import Pipeline, command_line_sources
from mrprep.document import Document
from mrprep.errors import MrprepError
from mrprep.plan import listed, plan
from mrprep.printable import printable
from mrprep.sources.read import read
from mrprep.tokenizers.compare import Measured, Passage, furthest, measure, overlap
from mrprep.tokenizers.family import open_tokenizer

LONGEST = 2000
"""Characters taken of one document, so that a few books do not make up the sample."""
_SHOWN = 60


def compare(files: Sequence[Path], corpus: Path, pipeline: Pipeline, limit: int) -> dict[str, Any]:
    """Return what each tokenizer makes of a corpus, as plain values.

    Args:
        files: tokenizer files of any family.
        corpus: a file or folder, read as a build with this pipeline would read it, not cleaned.
        pipeline: its ``input`` table is used.
        limit: bytes of text to take.

    Raises:
        MrprepError: a file is no tokenizer, or the corpus holds no text.
    """
    passages = list(_passages(corpus, pipeline, limit))
    if not passages:
        raise MrprepError(f"{printable(str(corpus))} holds no text to compare on: name a file or folder that does")
    measured = [measure(file, open_tokenizer(file), passages) for file in files]
    return {
        "corpus": str(corpus),
        "documents": len(passages),
        "bytes": sum(len(passage.text.encode()) for passage in passages),
        "tokenizers": [_row(found) for found in measured],
        "overlap": [
            {"of": [str(a.file), str(b.file)], "share": overlap(a.pieces, b.pieces)}
            for a, b in combinations(measured, 2)
        ],
        "differ_most": [
            {"place": passage.place, "text": passage.text[:_SHOWN], "tokens": counts}
            for passage, counts in furthest(measured, passages)
        ],
    }


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the same as a table for a terminal."""
    yield f"{found['documents']:,} documents, {found['bytes']:,} bytes of {printable(found['corpus'])}"
    yield f"{'bytes/token':>11} {'unknown':>8} {'bytewise':>8} {'MB/s':>7} {'vocabulary':>10}  tokenizer"
    for row in found["tokenizers"]:
        yield (
            f"{row['bytes_per_token']:>11.3f} {row['unknown']:>8.3%} {row['byte']:>8.3%} {row['rate']:>7.1f} "
            f"{row['vocab_size']:>10,}  {printable(row['file'])} ({row['kind']} by {row['encoder']})"
        )
    for pair in found["overlap"]:
        one, other = map(printable, pair["of"])
        yield f"{pair['share']:.1%} of the pieces of the smaller of {one} and {other} are in both"
    for example in found["differ_most"]:
        counts = " / ".join(map(str, example["tokens"]))
        yield f"{printable(example['place'])}: {counts} tokens  {printable(example['text'], _SHOWN)}"


def _passages(corpus: Path, pipeline: Pipeline, limit: int) -> Iterator[Passage]:
    sources = command_line_sources([corpus], pipeline.input)
    if corpus.exists() and not any(listing.files for listing in listed(sources)):
        raise MrprepError(
            f"{printable(str(corpus))} holds no text to compare on: name a file of text (.txt, .jsonl, .parquet and "
            "the like), or a folder with such"
        )
    units = plan(sources, None).units
    size = 0
    for item in (item for unit in units for span in unit for item in read(span)):
        if size >= limit:
            return
        if isinstance(item, Document) and item.text.strip():
            text = item.text[:LONGEST]
            size += len(text.encode())
            yield Passage(f"{printable(item.place.path)}:{item.place.line}", text)


def _row(found: Measured) -> dict[str, Any]:
    facts = {name: found.facts[name] for name in ("kind", "vocab_size", "encoder", "encoder_note", "sha256")}
    numbers = {name: getattr(found, name) for name in ("tokens", "bytes_per_token", "unknown", "byte", "rate")}
    return {"file": str(found.file), **facts, **numbers}
