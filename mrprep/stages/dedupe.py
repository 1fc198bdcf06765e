"""Duplicates: exact copies by hash, near duplicates by MinHash and exact Jaccard, one document a cluster kept.

A sketch of some 200 bytes a document is made while the texts are read; the barrier sorts sketches, reads
again only the texts of candidates, and compares these exactly. The phases are in `mrprep.duplicates`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash
from pydantic import Field, model_validator

from mrprep.builddir.tables import TextPart
from mrprep.duplicates.candidates import find_candidates, read_plan
from mrprep.duplicates.comparison import Cluster, GroupUnit, Keep, compare_group
from mrprep.duplicates.layout import DOCUMENT, Corpus
from mrprep.duplicates.shingle_files import shingle_units, write_shingles
from mrprep.duplicates.texts import flat
from mrprep.duplicates.verdicts import VerdictUnit, write_verdicts
from mrprep.engine.phase import RunPhase
from mrprep.minhash.bands import Banding, choose
from mrprep.minhash.documents import Documents
from mrprep.minhash.signatures import Kernel
from mrprep.minhash.sketch import Method
from mrprep.minhash.sketch import sketch as sketch_documents
from mrprep.options import Options as Base
from mrprep.order import I64, U64

VERSION = 2
SKETCHED_BY = ("threshold", "ngram", "permutations", "recall", "kernel", "seed")
"""The options that decide a sketch."""


class Options(Base):
    """How duplicates are found and which of them stays."""

    threshold: float = Field(0.8, gt=0.0, le=1.0)
    """Least exact Jaccard similarity of the shingles of two documents that makes them duplicates."""
    ngram: int = Field(5, ge=1, le=64)
    """Units (words, or characters of scripts without spaces) in a shingle."""
    permutations: int = Field(128, ge=1, le=4096)
    """At most as many numbers in a signature; bands × rows use what they need of them."""
    recall: float = Field(0.998, gt=0.0, lt=1.0)
    """Share of the pairs right at the threshold that must become candidates."""
    kernel: Kernel = "rensa"
    """Library that computes signatures: rensa, or datasketch, the slower reference."""
    keep: Keep = "longest"
    """Which document of a cluster stays: the longest; the first in reading order; or the one of the source that the
    pipeline lists first (source), of several the longest. Of equally long ones the first."""
    cluster: Cluster = "connected"
    """Duplicates of duplicates are one cluster (connected), or only what resembles the kept one is (star)."""
    seed: int = Field(1, ge=0, le=0xFFFFFFFF)
    """Of the permutations."""

    @model_validator(mode="after")
    def _recall_can_be_had(self) -> "Options":
        self.banding()
        return self

    def banding(self) -> Banding:
        """Return the bands and rows that these options ask for.

        Raises:
            ValueError: the permutations do not suffice for the recall.
        """
        return choose(self.threshold, self.recall, self.permutations)


@dataclass(frozen=True)
class Held:
    """The documents of an earlier build, as parts with its sketches; see `stages.against`."""

    name: str
    parts: tuple[TextPart, ...]


def sketch_settings(options: Options) -> dict[str, Any]:
    """Return what decides the bytes of a sketch."""
    return {"version": VERSION, **options.model_dump(mode="json", include=set(SKETCHED_BY))}


def sketch(texts: pa.Array | pa.ChunkedArray, ids: U64, options: Options) -> dict[str, npt.NDArray[Any]]:
    """Sketch documents; rows of equal ids that follow each other are the pieces of one.

    Args:
        texts: string[n], cleaned.
        ids: uint64[n], document ids.
        options: of the stage.

    Returns:
        ``documents``: DOCUMENT[d]; ``bands``: uint64[bands, k], the keys of those marked ``banded``, in order.
    """
    data, offsets = flat(texts)
    first = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]])) if ids.size else np.empty(0, np.int64)
    method = Method(options.banding(), options.ngram, options.seed, options.kernel)
    found = sketch_documents(Documents(data, offsets, first), method)
    documents = np.zeros(first.size, DOCUMENT)
    documents["exact"] = _exact(data, offsets[np.append(first, ids.size)])
    documents["units"] = found.units
    documents["rows"] = np.diff(first, append=ids.size)
    documents["banded"][found.banded] = True
    return {"documents": documents, "bands": found.keys}


def joined(sketches: Sequence[Mapping[str, npt.NDArray[Any]]], options: Options) -> dict[str, npt.NDArray[Any]]:
    """Return the sketch of several batches of whole documents, in order, as one; of none, an empty one."""
    none = sketch(pa.array([], pa.string()), np.empty(0, np.uint64), options)
    return {name: np.concatenate([none[name], *(one[name] for one in sketches)], axis=-1) for name in none}


class Sketches:
    """Sketches batches of whole documents as they are written.

    Args:
        options: of the stage; None sketches nothing.
    """

    def __init__(self, options: Options | None) -> None:
        self._options = options
        self._done: list[dict[str, npt.NDArray[Any]]] = []

    def add(self, texts: pa.Array, ids: U64) -> None:
        """Sketch string[n] with the document ids uint64[n]."""
        if self._options is not None:
            self._done.append(sketch(texts, ids, self._options))

    def save(self, out: Path) -> None:
        """Write ``documents.npy`` and ``bands.npy``."""
        if self._options is not None:
            for name, array in joined(self._done, self._options).items():
                np.save(out / f"{name}.npy", array)


def run(
    run_phase: RunPhase,
    parts: Sequence[TextPart],
    options: Options,
    sources: Sequence[str] = (),
    held: Sequence[Held] = (),
) -> Path:
    """Find the duplicates among the documents of all parts, and of what earlier builds hold.

    Args:
        run_phase: runs the stage's phases.
        parts: of the read phase, each with ``text.parquet``, ``documents.npy`` and ``bands.npy``.
        options: of the stage.
        sources: names of all sources, for ``keep = "source"`` from the one that stays first.
        held: of earlier builds; their documents stay whatever comes.

    Returns:
        The directory of ``verdict.npy`` (int64[rows]: -1 kept; from 0 up, the first row of the document kept in
        its place; -2 - k, the k-th earlier build holds it), ``clusters.parquet`` (builddir.tables.CLUSTERS) and
        ``counts.json`` (documents removed as ``exact``, ``near`` and ``chain``, of these ``held`` for a document
        of an earlier build; ``overflow``: documents of large buckets that were not compared with all they may
        resemble).
    """
    order = tuple(sources) if options.keep == "source" else ()
    corpus = _corpus(parts, held, order)
    settings = {"version": VERSION, "options": options.model_dump(), "sources": order}
    found = find_candidates(run_phase, corpus, options.banding().bands, settings)
    texts = shingle_units(found, corpus.parts, options.ngram)
    weights = [unit.weight for unit in texts]
    shingles = run_phase("dedupe.shingles", texts, write_shingles, settings=settings, weights=weights)
    groups = [
        GroupUnit(found, tuple(shingles), group, options.threshold, options.keep, options.cluster)
        for group in read_plan(found)
    ]
    weights = [unit.group.units for unit in groups]
    compared = run_phase("dedupe.compare", groups, compare_group, settings=settings, weights=weights)
    verdicts = [VerdictUnit(corpus, found, tuple(compared), options.threshold)]
    return run_phase("dedupe.verdicts", verdicts, write_verdicts, settings=settings)[0]


def _corpus(parts: Sequence[TextPart], held: Sequence[Held], sources: tuple[str, ...]) -> Corpus:
    """Number the rows of earlier builds and then those of this one through."""
    every = [*(part for build in held for part in build.parts), *parts]
    bases = accumulate((part.rows for part in every), initial=0)
    renumbered = tuple(replace(part, base=base) for part, base in zip(every, bases, strict=False))
    return Corpus(renumbered, tuple((build.name, len(build.parts)) for build in held), sources)


def _exact(data: memoryview, bounds: I64) -> npt.NDArray[np.uint64]:
    """Return XXH3-128 of each document, uint64[d, 2]."""
    hashes = b"".join(xxhash.xxh3_128_digest(data[start:stop]) for start, stop in pairwise(bounds.tolist()))
    return np.frombuffer(hashes, ">u8").reshape(-1, 2).astype(np.uint64)
