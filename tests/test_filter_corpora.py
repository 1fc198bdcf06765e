"""On clean corpora all default rules together drop under 1 % of the documents."""

import gzip
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from mrprep.document import Document, Dropped, Place
from mrprep.stages import clean
from mrprep.stages import filter as filter_stage

PLACE = Place("s", b"a", 0, 1)


def texts(path: Path) -> Iterator[str]:
    """Yield the texts of a corpus of any of the forms that the shared ones have."""
    for file in sorted(path.rglob("*") if path.is_dir() else [path]):
        if file.suffix == ".md":
            yield file.read_text(encoding="utf-8")
        elif file.suffix == ".parquet":
            yield from pq.read_table(file)["text"].to_pylist()
        elif ".jsonl" in file.name:
            with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
                yield from (orjson.loads(line)["text"] for line in lines)


@pytest.mark.parametrize(
    "corpus",
    [
        *("en_gutenberg", "en_python_doc", "en_reuters", "zh_laws", "zh_classics"),
        *("mixfolder/docs", "mixfolder/wiki", "zh_poetry/yuding_tang.jsonl.gz"),
    ],
)
def test_clean_corpora_lose_under_one_percent(shared: Path, corpus: str) -> None:
    documents = (Document(PLACE, text) for text in islice(texts(shared / "corpora" / corpus), 11_000))
    cleaned = [item for item in clean.clean(documents, clean.Options()) if isinstance(item, Document)]
    judged = list(filter_stage.filter_documents(cleaned, filter_stage.Options()))
    reasons = Counter(item.reason for item in judged if isinstance(item, Dropped))
    assert len(judged) > 50
    assert reasons.total() < 0.01 * len(judged), reasons
