"""The tokenize stage: a vocabulary, given or trained on what survives, and the tokens of every surviving
document.

Two phases. ``vocabulary`` is one unit: it copies the given model, or trains one (1.5 s for 4 MB of text, 300 MB).
``tokenize`` has a unit a part of the read phase; one core encodes 35 to 100 MB/s with llama2_32k (docs/tokenizers.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow.parquet as pq
from pydantic import Field

from mrprep.builddir.tables import TextPart
from mrprep.errors import BugError, MrprepError
from mrprep.options import Options as BaseOptions
from mrprep.tokenizers.assemble import Written, dtype_of, entries, write_tokens
from mrprep.tokenizers.choices import AS_IT_IS, AddedTokens, Choices
from mrprep.tokenizers.family import content, copy_into, open_tokenizer
from mrprep.tokenizers.protocol import Tokenizer
from mrprep.tokenizers.sample import sample
from mrprep.tokenizers.stored import StoredIds
from mrprep.tokenizers.train import SMALLEST_VOCABULARY, ModelType, Training, train

VERSION = 1

_BYTES_A_TOKEN = 8
"""Of text: more than a tokenizer makes one of in any language, that no disk is called too small for no reason."""
MODEL, FACTS = "tokenizer.model", "facts.json"


class Options(BaseOptions):
    """Which tokenizer, and how it is trained if none is given."""

    model: Path | None = None
    """A tokenizer file of any family (docs/tokenizers.md); None trains a SentencePiece model on the text."""
    vocab_size: int | None = Field(None, ge=SMALLEST_VOCABULARY, le=1_000_000)
    """Pieces of a trained vocabulary; None: 32,000, or as many as the text carries (one per 96 bytes)."""
    model_type: ModelType = "bpe"
    """Algorithm of a trained vocabulary: ``bpe`` (faster, and fewer tokens as measured) or ``unigram``."""
    sample_bytes: int = Field(4_000_000, ge=1000)
    """Bytes of surviving text that a vocabulary is trained on; 16 MB instead of 4 gain 1 % and take 580 MB."""
    add_bos: bool = False
    """Open each document with the BOS of the tokenizer."""
    eod: str | None = None
    """Control piece of a given model that closes documents; None: its end-of-sentence piece."""
    added_tokens: AddedTokens = "none"
    """Added tokens of a ``tokenizer.json`` or tiktoken that match in texts: ``none``, those not special (``plain``),
    or ``all`` but EOD, BOS and padding."""
    pattern: str | None = None
    """How a rank file of tiktoken cuts text: a name (``qwen``, ``cl100k`` …) or a regular expression; None: known by
    its size."""

    @property
    def choices(self) -> Choices:
        """How the tokenizer file is to be read."""
        return Choices(self.eod, self.added_tokens, self.pattern)


def settings(options: Options) -> dict[str, Any]:
    """Return what decides the bytes of the vocabulary phase: the options, with a given model by its content.

    Raises:
        MrprepError: the given model cannot be read.
    """
    given = content(options.model) if options.model else None
    return {"version": VERSION, **options.model_dump(mode="json"), "model": given}


@dataclass(frozen=True, slots=True)
class VocabularyUnit:
    """All there is to train on."""

    parts: tuple[TextPart, ...]
    verdict: Path | None
    """``verdict.npy``; None when the pipeline has no dedupe stage."""
    options: Options
    seed: int


def train_vocabulary(unit: VocabularyUnit, out: Path) -> None:
    """Write the tokenizer, under the name of its family (``tokenizer.model`` if trained), and ``facts.json``.

    Raises:
        MrprepError: the given model is none, or cannot close documents; or there is no text to train on.
    """
    options, path = unit.options, out / MODEL
    if options.model is None:
        training = {"training": _train(unit, path).facts()}
        tokenizer = open_tokenizer(path, options.choices, checked=True)
    else:
        training = {}
        tokenizer = open_tokenizer(options.model, options.choices)
        copy_into(options.model, out)
    if options.add_bos and tokenizer.bos_id is None:
        raise MrprepError("the tokenizer has no BOS piece: leave add_bos out, or use another model")
    facts = tokenizer.facts() | training
    (out / FACTS).write_bytes(orjson.dumps(facts, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))


def _train(unit: VocabularyUnit, path: Path) -> Training:
    options = unit.options
    texts = sample(unit.parts, unit.verdict, limit=options.sample_bytes, seed=unit.seed)
    return train(texts, path, vocab_size=options.vocab_size, model_type=options.model_type)


@dataclass(frozen=True, slots=True)
class TokenizeUnit:
    """What one worker encodes."""

    part: TextPart
    verdict: Path | None
    """``verdict.npy``; None keeps all rows."""
    model: Path
    """The tokenizer file of the vocabulary phase."""
    seed: int
    weights: tuple[tuple[str, float], ...] = ()
    """(source, copies wanted); 2 writes a document twice, 0.5 a seeded half of the documents."""
    add_bos: bool = False
    choices: Choices = AS_IT_IS
    stored: bool = False
    """The part holds the ids already (``tokenizers.stored``)."""


def bytes_of(units: Sequence[TokenizeUnit], vocab_size: int) -> int:
    """Return the bytes that the tokens of these parts take, at the least: one for eight bytes of the texts kept."""
    width = np.dtype(dtype_of(vocab_size)).itemsize
    return int(sum(_kept_bytes(unit) for unit in units) / _BYTES_A_TOKEN * width)


def _kept_bytes(unit: TokenizeUnit) -> float:
    """Return about how many bytes of the texts of a part are encoded: as many of a row as of any other."""
    path = unit.part.path / "text.parquet"
    if not unit.part.rows or not path.exists():
        return 0
    alive = _alive(unit)
    share = 1.0 if alive is None else float(alive.mean())
    return _column_bytes(path) * share * min([1.0, *(weight for _, weight in unit.weights)])


def _column_bytes(path: Path) -> int:
    metadata = pq.read_metadata(path)
    column = metadata.schema.names.index("text")
    return sum(metadata.row_group(at).column(column).total_uncompressed_size for at in range(metadata.num_row_groups))


def tokenize_unit(unit: TokenizeUnit, out: Path) -> None:
    """Write ``tokens.npy``, ``docs.npy`` (TOKEN_ENTRY) and ``counts.json`` of one part.

    ``counts.json`` holds, of surviving documents, each once: ``kept`` = ``encoded`` + ``sampled_out`` + ``empty``
    (no ids); of their rows: ``rows.encoded``, ``rows.sampled_out``, ``rows.empty``, and ``rows.copies`` written; of
    what is written, each copy counted: ``documents``, ``pieces``, ``tokens`` (BOS and EOD too), ``bos``, ``eod``,
    ``unknown``, ``bytes`` (UTF-8 of the texts), and ``by_source`` with ``documents``, ``tokens``, ``bytes`` of each.

    Raises:
        BugError: the counts do not add up.
    """
    alive = _alive(unit)
    tokenizer = _open(unit.model, unit.choices, unit.model.stat().st_mtime_ns)
    if unit.stored:
        tokenizer = cast(Tokenizer, StoredIds(tokenizer, unit.part.path, alive))
    written = write_tokens(
        unit.part,
        alive,
        tokenizer,
        out / "tokens.npy",
        weights=dict(unit.weights),
        seed=unit.seed,
        add_bos=unit.add_bos,
    )
    docs = entries(written, unit.seed)
    np.save(out / "docs.npy", docs)
    counts = count(written, docs, add_bos=unit.add_bos)
    (out / "counts.json").write_bytes(orjson.dumps(counts, option=orjson.OPT_SORT_KEYS))


@lru_cache(maxsize=1)
def _open(model: Path, choices: Choices, _changed: int) -> Tokenizer:
    """Open the model once for all parts that a worker encodes."""
    return open_tokenizer(model, choices, checked=True)


def _alive(unit: TokenizeUnit) -> npt.NDArray[np.bool_] | None:
    if unit.verdict is None:
        return None
    verdict = np.load(unit.verdict, mmap_mode="r")
    return np.asarray(verdict[unit.part.base : unit.part.base + unit.part.rows] == -1)


def count(written: Written, docs: npt.NDArray[np.void], *, add_bos: bool) -> dict[str, Any]:
    """Return the counts that ``tokenize_unit`` writes.

    Raises:
        BugError: they do not add up.
    """
    rows, full = written.rows, written.encoded
    documents = {
        "kept": np.unique(rows.id).size,
        "encoded": np.unique(full.id).size,
        "sampled_out": np.unique(rows.id[rows.copies == 0]).size,
        "empty": np.setdiff1d(rows.id[rows.copies > 0], full.id).size,
    }
    by_source = _by_source(written, docs)
    ends = int(docs["ends"].sum())
    counts = {
        **documents,
        "rows": {
            "encoded": full.id.size,
            "sampled_out": int((rows.copies == 0).sum()),
            "empty": int(((rows.copies > 0) & (rows.start < 0)).sum()),
            "copies": int(full.copies.sum()),
        },
        "documents": ends,
        "pieces": int(docs.size),
        "tokens": int(docs["length"].sum()),
        "eod": ends,
        "bos": ends if add_bos else 0,
        "unknown": int((full.unknown * full.copies).sum()),
        "bytes": sum(source["bytes"] for source in by_source.values()),
        "by_source": by_source,
    }
    _must_add_up(counts, written)
    return counts


def _by_source(written: Written, docs: npt.NDArray[np.void]) -> dict[str, dict[str, int]]:
    rows, n = written.encoded, len(written.sources)
    row = np.searchsorted(rows.doc, docs["doc"])
    of = rows.source[row]
    sums = {
        "documents": np.bincount(of, docs["ends"], n),
        "tokens": np.bincount(of, docs["length"], n),
        "bytes": np.bincount(of, rows.bytes[row], n),
    }
    return {name: {what: int(sums[what][i]) for what in sums} for i, name in enumerate(written.sources)}


def _must_add_up(counts: dict[str, Any], written: Written) -> None:
    """Check that every kept document is accounted for, and that kept rows times their copies were written."""
    accounted = counts["encoded"] + counts["sampled_out"] + counts["empty"]
    if counts["kept"] != accounted:
        raise BugError(f"tokenize: {counts['kept']} documents kept, {accounted} accounted for")
    rows = written.encoded
    last = np.append(rows.id[1:] != rows.id[:-1], [True])[: rows.id.size]
    wanted = int(rows.copies.sum()), int(rows.copies[last].sum())
    if (counts["pieces"], counts["documents"]) != wanted:
        raise BugError(
            f"tokenize: {counts['pieces']} pieces of {counts['documents']} documents written, "
            f"{wanted[0]} of {wanted[1]} wanted"
        )
