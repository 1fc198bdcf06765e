"""What a sample says about the documents and tokens of a corpus."""

import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mrprep.config import Pipeline
from mrprep.document import Document, MapItem
from mrprep.estimate.ranges import F64, I64, Range, by_kind, per_byte
from mrprep.estimate.sample import Sample, Take
from mrprep.stages import clean
from mrprep.stages import filter as filtering
from mrprep.tokenizers.family import open_tokenizer
from mrprep.tokenizers.protocol import Tokenizer
from mrprep.tokenizers.train import train

_ENOUGH = 4_000_000
"""Bytes of text that a vocabulary is trained on."""
_ALL = 0.9999
_STRETCHES = 3


@dataclass(frozen=True, slots=True)
class Text:
    """A corpus before duplicates go."""

    documents: Range
    """That are read."""
    kept: Range
    """That pass the map stages."""
    bytes: Range
    """Of text as read, UTF-8."""
    kept_bytes: Range
    """Of cleaned text that passes."""
    tokens: Range
    """Of it, an EOD a document counted."""
    dropped: Mapping[str, float]
    """Reason of the filter -> share of the stretches that were looked at."""
    vocab_size: int
    id_bytes: float
    """Bytes that a token takes in a shard: MindRecord stores an integer in 1, 2 or 4 bytes and 2 bits."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A sample taken through the stages."""

    text: Text
    passed: Mapping[int, str]
    """Index of a take -> its cleaned text, of those that pass the filter."""
    rates: Mapping[str, float]
    """Phase -> bytes of text a second of one core."""

    def first_stretches(self, sample: Sample) -> list[str]:
        """Return the texts that pass of whole documents, and of long ones their beginnings."""
        return [text for index, text in self.passed.items() if sample.takes[index].at == 0]


def measure(sample: Sample, pipeline: Pipeline, seed: int) -> Measured:
    """Clean, filter and tokenize a sample as a build would, and scale up.

    Raises:
        MrprepError: the given tokenizer is none, or there is no text to train one on.
    """
    started = time.process_time()
    passed, dropped = _passed(sample.takes, pipeline)
    mapped = time.process_time()
    with _tokenizer(_trained_on(passed, sample), pipeline) as tokenizer:
        tokenizing = time.process_time()
        counts, id_bytes = _tokens(list(passed.values()), tokenizer)
        ended = time.process_time()
    columns = _Columns(sample, passed, counts)
    scale = 1 / sample.read_share
    size = Range.exact(sample.bytes * scale)
    documents = Range.exact(sample.documents * scale)
    kept = columns.share_kept(seed) * documents.mid
    tokens = columns.of_whole(columns.tokens, seed)
    drawn = float(columns.size.sum())
    text = Text(
        documents=documents,
        kept=kept,
        bytes=size,
        kept_bytes=columns.of_whole(columns.kept_bytes, seed),
        tokens=tokens.plus(kept),
        dropped={reason: count / max(1, len(sample.takes)) for reason, count in dropped.most_common()},
        vocab_size=tokenizer.vocab_size,
        id_bytes=id_bytes,
    )
    rates = {"map": drawn / max(1e-9, mapped - started), "tokenize": drawn / max(1e-9, ended - tokenizing)}
    return Measured(text, passed, rates)


def _passed(takes: Sequence[Take], pipeline: Pipeline) -> tuple[dict[int, str], Counter[str]]:
    """Return the cleaned texts of the takes that pass, by their indices, and what the others were dropped for."""
    numbers = {id(take.document.place): number for number, take in enumerate(takes)}
    passed, reasons = dict[int, str](), dict[int, str]()
    for item in _filtered(_cleaned((take.document for take in takes), pipeline), pipeline):
        if isinstance(item, Document):
            passed[numbers[id(item.place)]] = item.text
        else:
            reasons[numbers[id(item.document.place)]] = item.reason
    spared = _spared(takes, reasons)
    for item in _cleaned((takes[number].document for number in spared), pipeline):
        passed[numbers[id(item.place)]] = item.text
    return dict(sorted(passed.items())), Counter(reason for number, reason in reasons.items() if number not in spared)


def _spared(takes: Sequence[Take], dropped: Collection[int]) -> set[int]:
    """Return the dropped takes of longer documents that a build keeps, as far as one can tell.

    The filter judges whole documents. One odd stretch, a page of verse or an index, says little of a book: a long
    document goes when most of its stretches would, of `_STRETCHES` or more that were drawn.
    """
    drawn, lost = Counter[object](), Counter[object]()
    for number, take in enumerate(takes):
        drawn[_document(take)] += 1
        lost[_document(take)] += number in dropped

    def goes(take: Take) -> bool:
        return drawn[_document(take)] >= _STRETCHES and 2 * lost[_document(take)] > drawn[_document(take)]

    return {number for number in dropped if takes[number].whole < 1 and not goes(takes[number])}


def _document(take: Take) -> tuple[object, ...]:
    place = take.document.place
    return place.source, place.path, place.offset


def _cleaned(documents: Iterable[Document], pipeline: Pipeline) -> Iterator[Document]:
    if "clean" not in pipeline.stages:
        yield from documents
        return
    yield from (item for item in clean.clean(documents, pipeline.clean) if isinstance(item, Document))


def _filtered(documents: Iterable[Document], pipeline: Pipeline) -> Iterable[MapItem]:
    return filtering.filter_documents(documents, pipeline.filter) if "filter" in pipeline.stages else documents


def _trained_on(passed: Mapping[int, str], sample: Sample) -> Iterator[str]:
    """Yield what a vocabulary is trained on: what the build would take, or of a mere sample every second stretch.

    The other stretches then tell how well it serves text that it has not seen.
    """
    texts, size = list(dict.fromkeys(passed.values())), 0
    for text in texts if sample.share * sample.read_share > _ALL else texts[::2]:
        if size >= _ENOUGH:
            return
        size += len(text.encode())
        yield text


@contextmanager
def _tokenizer(texts: Iterable[str], pipeline: Pipeline) -> Iterator[Tokenizer]:
    """Open the given model, or train one on these texts as the build would."""
    options = pipeline.tokenize
    if options.model is not None:
        yield open_tokenizer(options.model, options.choices)
        return
    with tempfile.TemporaryDirectory(prefix="mrprep-plan-") as folder:
        path = Path(folder, "tokenizer.model")
        train(list(texts), path, vocab_size=options.vocab_size, model_type=options.model_type)
        yield open_tokenizer(path, checked=True)


def _tokens(texts: Sequence[str], tokenizer: Tokenizer) -> tuple[npt.NDArray[np.int64], float]:
    """Return the tokens of each text, and the bytes a token takes in a shard."""
    ids, starts = tokenizer.encode_batch(texts)
    if not ids.size:
        return np.diff(starts), 4.25
    width = np.where(ids < 1 << 7, 1, np.where(ids < 1 << 15, 2, 4))
    return np.diff(starts), float(width.mean()) + 0.25


class _Columns:
    """Of each take: its bytes, its part of a document, and what is left of it."""

    def __init__(self, sample: Sample, passed: Mapping[int, str], counts: I64) -> None:
        takes = sample.takes

        def column(values: Sequence[float]) -> F64:
            return np.array(values, np.float64)

        self.size = column([take.size for take in takes])
        self.whole = column([take.whole for take in takes])
        where = np.array(list(passed), np.int64)
        self.kept, self.kept_bytes, self.tokens = (np.zeros(len(takes)) for _ in range(3))
        self.kept[where] = self.whole[where]
        self.kept_bytes[where] = [len(text.encode()) for text in passed.values()]
        self.tokens[where] = counts
        units = np.array([take.unit for take in takes], np.int64)
        alone = np.arange(len(takes), dtype=np.int64)
        self._groups = alone if sample.read_share > 0.999 else np.unique(units, return_inverse=True)[1]

        self._kinds = np.array([take.kind for take in takes], np.int64)
        self._totals = column(sample.kinds) / sample.read_share

    def share_kept(self, seed: int) -> Range:
        """Return the share of the documents that pass."""
        return per_byte(self.kept, self.whole, self._groups, seed)

    def of_whole(self, amounts: F64, seed: int) -> Range:
        """Return a column's sum over the whole input."""
        return by_kind(amounts, self.size, self._kinds, self._totals, self._groups, seed)
