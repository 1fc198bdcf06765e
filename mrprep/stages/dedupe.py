"""Duplicates: exact copies by hash, near duplicates by MinHash and exact Jaccard, one document a cluster kept.

A sketch of some 200 bytes a document is made while the texts are read; the barrier sorts sketches, reads
again only the texts of candidates, and compares these exactly. The phases are in `mrprep.duplicates`.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
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
from mrprep.duplicates.layout import DOCUMENT
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

VERSION = 1


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
    """Which document of a cluster stays; of equally long ones the first in reading order."""
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


def run(run_phase: RunPhase, parts: Sequence[TextPart], options: Options) -> Path:
    """Find the duplicates among the documents of all parts.

    Args:
        run_phase: runs the stage's phases.
        parts: of the read phase, each with ``text.parquet``, ``documents.npy`` and ``bands.npy``.
        options: of the stage.

    Returns:
        The directory of ``verdict.npy`` (int64[rows]: -1 kept, else the first row of the document kept in
        its place), ``clusters.parquet`` (builddir.tables.CLUSTERS) and ``counts.json`` (documents removed as
        ``exact``, ``near`` and ``chain``; ``overflow``: documents of large buckets that were not compared with
        all they may resemble).
    """
    settings = {"version": VERSION, "options": options.model_dump()}
    found = find_candidates(run_phase, parts, options.banding().bands, settings)
    texts = shingle_units(found, parts, options.ngram)
    weights = [unit.weight for unit in texts]
    shingles = run_phase("dedupe.shingles", texts, write_shingles, settings=settings, weights=weights)
    groups = [
        GroupUnit(found, tuple(shingles), group, options.threshold, options.keep, options.cluster)
        for group in read_plan(found)
    ]
    weights = [unit.group.units for unit in groups]
    compared = run_phase("dedupe.compare", groups, compare_group, settings=settings, weights=weights)
    verdicts = [VerdictUnit(found, tuple(compared), options.threshold)]
    return run_phase("dedupe.verdicts", verdicts, write_verdicts, settings=settings)[0]


def _exact(data: memoryview, bounds: I64) -> npt.NDArray[np.uint64]:
    """Return XXH3-128 of each document, uint64[d, 2]."""
    hashes = b"".join(xxhash.xxh3_128_digest(data[start:stop]) for start, stop in pairwise(bounds.tolist()))
    return np.frombuffer(hashes, ">u8").reshape(-1, 2).astype(np.uint64)
