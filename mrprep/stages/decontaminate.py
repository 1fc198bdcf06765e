"""Decontamination: documents that hold stretches of evaluation sets are dropped, or the stretches cut out.

The rule of GPT-3 (Brown et al. 2020, *Language Models are Few-Shot Learners*, appendix C), which its successors kept
with small changes: an overlap of 13 words, case and punctuation aside. How long 13 words are in scripts without
spaces is in `mrprep.evaluation.words`. Costs about as much as the sketch of dedupe, 10 ns a character.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, field_validator, model_validator

from mrprep.builddir.digest import digest
from mrprep.document import Document, Dropped, MapItem
from mrprep.engine.phase import RunPhase
from mrprep.evaluation.hash_set import HashSet
from mrprep.evaluation.ngrams import Known, index_counts, load_known, write_ngrams
from mrprep.evaluation.runs import Run, runs
from mrprep.minhash.documents import Documents
from mrprep.minhash.units import BLOCK
from mrprep.options import Options as Base
from mrprep.printable import printable

VERSION = 3
STAGE = "decontaminate"
REASON = "contaminated"
MARGIN = 200
"""Characters that are cut on each side of a run, and the shortest rest that stays. GPT-3."""
MOST_CUTS = 10
"""A document with more runs is dropped. GPT-3."""


class Options(Base):
    """What is looked for, and what becomes of a document that has it."""

    files: tuple[Path, ...] = ()
    """Evaluation sets: .jsonl, of which every string counts, or text, of which every line does."""
    ngram: int = Field(13, ge=3, le=64)
    """Words that must agree in a row. GPT-3 has 8 to 13 by data set."""
    whole: int | None = Field(None, ge=3)
    """Look for shorter texts too, from so many words on, where they stand whole; off unless given. NeMo Curator: 8."""
    action: Literal["drop", "cut"] = "drop"
    """Drop the document, or cut out what agrees with 200 characters on each side."""

    @field_validator("files", mode="before")
    @classmethod
    def _one_file(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _whole_is_shorter(self) -> Self:
        if self.whole is not None and self.whole >= self.ngram:
            raise ValueError(f"whole: only texts shorter than ngram, {self.ngram} words, are looked for whole")
        return self


@dataclass(frozen=True, slots=True)
class Hit:
    """A stretch of a document that an evaluation set holds too."""

    document: Document
    run: Run

    @property
    def text(self) -> str:
        """The stretch."""
        return self.document.text[self.run.start : self.run.end]


@dataclass(frozen=True, slots=True)
class IndexUnit:
    """Evaluation files to index."""

    files: tuple[Path, ...]
    ngram: int
    whole: int | None


def settings(options: Options) -> dict[str, Any]:
    """Return what decides what the stage does, the files by content."""
    named = [[path.name, digest(path)["sha256"]] for path in options.files if path.is_file()]
    return {"version": VERSION, **options.model_dump(mode="json"), "files": named}


def index(run_phase: RunPhase, options: Options) -> Path:
    """Return the directory of the n-grams of the evaluation files.

    Raises:
        MrprepError: a file cannot be read.
    """
    unit = IndexUnit(options.files, options.ngram, options.whole)
    return run_phase("evaluation", [unit], index_unit, settings=settings(options))[0]


def told(evaluation: Path, options: Options) -> dict[str, int]:
    """Return how many evaluation ``texts`` there are, how many are looked for ``whole``, how many ``not_looked_for``.

    Those are shorter than ``shortest`` words. ``empty`` files hold no text.
    """
    counts = index_counts(evaluation)
    return {
        "texts": counts["texts"],
        "whole": counts["whole"],
        "not_looked_for": counts["short"] - counts["whole"],
        "shortest": options.whole or options.ngram,
        "empty": counts["empty"],
    }


def index_unit(unit: IndexUnit, out: Path) -> None:
    """Write the n-grams of the evaluation files."""
    write_ngrams(unit.files, unit.ngram, unit.whole, out)


def decontaminate(
    documents: Iterable[Document], options: Options, evaluation: Path, on_hit: Callable[[Hit], None]
) -> Iterator[MapItem]:
    """Yield each document, whole or cut, or `Dropped`; tell ``on_hit`` of each stretch found.

    Args:
        documents: in batches of some 256 KiB they are looked through.
        options: of the stage.
        evaluation: directory of the index.
        on_hit: is called with each hit, before its document is yielded.
    """
    known = load_known(evaluation)
    for taken in _batches(documents):
        for document, suspect in zip(taken, _suspects(taken, known, options.ngram), strict=True):
            found = runs(document.text, known, options.ngram) if suspect else []
            for run in found:
                on_hit(Hit(document, run))
            yield _judged(document, found, options) if found else document


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    taken: list[Document] = []
    characters = 0
    for document in documents:
        taken.append(document)
        characters += len(document.text)
        if characters >= BLOCK:
            yield taken
            taken, characters = [], 0
    if taken:
        yield taken


def _suspects(taken: Sequence[Document], known: Known, ngram: int) -> Iterator[bool]:
    """Yield for each document whether it has a known n-gram, or the beginning of a short text."""
    data = [document.text.encode() for document in taken]
    documents = Documents(b"".join(data), np.cumsum([0, *map(len, data)]), np.arange(len(data)))
    asked = [(ngram, known.ngrams), (known.whole.length, known.whole.begins)]
    for _, batch in documents.batches():
        held = [_has(batch, length, wanted) for length, wanted in asked if wanted.hashes.size]
        yield from np.logical_or.reduce([np.zeros(batch.first.size, bool), *held]).tolist()


def _has(batch: Documents, length: int, wanted: HashSet) -> npt.NDArray[np.bool_]:
    """Return for each document of a batch whether one of its shingles of so many units is wanted."""
    if batch.long:
        return np.array([any(wanted.among(window).any() for window, _ in batch.windows(length))])
    hashes, counts, _ = batch.shingles(length)
    hits = np.concatenate([[0], np.cumsum(wanted.among(hashes))])
    ends = np.cumsum(counts)
    found: npt.NDArray[np.bool_] = hits[ends] > hits[ends - counts]
    return found


def _judged(document: Document, found: Sequence[Run], options: Options) -> MapItem:
    stretch = Hit(document, found[0]).text
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    dropped = Dropped(document, REASON, f"{found[0].place}{more}: {printable(stretch, 160)}")
    if options.action == "drop" or len(found) > MOST_CUTS:
        return dropped
    rest = _rest(document.text, found)
    edits = {**document.edits, STAGE: len(found)}
    return Document(document.place, "\n\n".join(rest), edits, document.score) if rest else dropped


def _rest(text: str, found: Sequence[Run]) -> list[str]:
    """Return what lies between runs and their margins, where it is long enough."""
    starts = [0, *(run.end + MARGIN for run in found)]
    ends = [*(max(0, run.start - MARGIN) for run in found), len(text)]
    pieces = (text[start:end].strip() for start, end in zip(starts, ends, strict=True))
    return [piece for piece in pieces if len(piece) >= MARGIN]
