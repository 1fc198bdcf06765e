"""Duplicates: exact copies by hash, near duplicates by MinHash and exact Jaccard, one document a cluster kept.

A sketch of some 130 bytes a document is made while the texts are read; the barrier sorts sketches, reads
again only the texts of candidates, and compares these exactly. The phases are in `mrprep.duplicates`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from mrprep.builddir.tables import TextPart
from mrprep.duplicates.candidates import find_candidates, read_plan
from mrprep.duplicates.comparison import Cluster, GroupUnit, Keep, compare_group
from mrprep.duplicates.contained import find_contained
from mrprep.duplicates.layout import Corpus
from mrprep.duplicates.shingle_files import shingle_units, write_shingles
from mrprep.duplicates.sketches import Sketches
from mrprep.duplicates.verdicts import VerdictUnit, write_verdicts
from mrprep.engine.phase import RunPhase
from mrprep.minhash.bands import Banding, choose
from mrprep.minhash.signatures import Kernel
from mrprep.minhash.sketch import Method
from mrprep.options import Options as Base

VERSION = 2
SKETCHED_BY = ("threshold", "ngram", "permutations", "recall", "kernel", "seed")
"""The options that decide a sketch."""
PHASES = tuple(
    f"dedupe.{name}"
    for name in (
        *("ranks", "exact", "copies", "bands", "candidates", "buckets", "shingles", "compare"),
        *("prints", "shared", "inside", "inside.shingles", "contained", "verdicts"),
    )
)
SPARE = ("ranked.npy", "copy_of.npy", "exact.npy", "*_members.npy", "*_starts.npy", "firsts.npy", "shingles.u64")
"""What takes room and is not needed once the verdicts are there."""


class Options(Base):
    """How duplicates are found and which of them stays."""

    threshold: float = Field(0.8, gt=0.0, le=1.0)
    """Least exact Jaccard similarity of the shingles of two documents that makes them duplicates."""
    ngram: int = Field(5, ge=1, le=64)
    """Units (words, or characters of scripts without spaces) in a shingle."""
    permutations: int = Field(64, ge=1, le=4096)
    """At most as many numbers in a signature; bands × rows use what they need of them."""
    recall: float = Field(0.998, gt=0.0, lt=1.0)
    """Share of the pairs right at the threshold that must become candidates."""
    kernel: Kernel = "rensa"
    """Library that computes signatures: rensa, or datasketch, the slower reference."""
    keep: Keep = "longest"
    """Which document of a cluster stays: the longest; the first in reading order; or the one of the source that the
    pipeline lists first (source), or of the highest score (best), of several the longest. Of equally long ones the
    first."""
    cluster: Cluster = "connected"
    """Duplicates of duplicates are one cluster (connected), or only what resembles the kept one is (star)."""
    contained: float | None = Field(None, gt=0.5, le=1.0)
    """Also remove a document of which this share of shingles stands in a longer one; off unless given."""
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

    def method(self) -> Method:
        """Return what decides the numbers of a sketch."""
        return Method(self.banding(), self.ngram, self.seed, self.kernel)


@dataclass(frozen=True)
class Held:
    """The documents of an earlier build, as parts with its sketches; see `stages.against`."""

    name: str
    parts: tuple[TextPart, ...]


def sketches(options: Options | None) -> Sketches:
    """Return what sketches batches of texts as they are written; of None, what does nothing."""
    return Sketches(options.method() if options else None)


def sketch_settings(options: Options) -> dict[str, Any]:
    """Return what decides the bytes of a sketch."""
    return {"version": VERSION, **options.model_dump(mode="json", include=set(SKETCHED_BY))}


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
        ``counts.json`` (documents removed as ``exact``, ``near``, ``chain`` and ``contained``, of these ``held`` for
        a document of an earlier build; ``overflow``: documents of large buckets that were not compared with all
        they may resemble).
    """
    order = tuple(sources) if options.keep == "source" else ()
    corpus = replace(_corpus(parts, held, order), best=options.keep == "best")
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
    inside = None
    if options.contained is not None:
        inside = find_contained(run_phase, corpus, found, compared, options.ngram, options.contained, settings)
    verdicts = [VerdictUnit(corpus, found, tuple(compared), inside, options.threshold)]
    return run_phase("dedupe.verdicts", verdicts, write_verdicts, settings=settings)[0]


def _corpus(parts: Sequence[TextPart], held: Sequence[Held], sources: tuple[str, ...]) -> Corpus:
    """Number the rows of earlier builds and then those of this one through."""
    every = [*(part for build in held for part in build.parts), *parts]
    bases = accumulate((part.rows for part in every), initial=0)
    renumbered = tuple(replace(part, base=base) for part, base in zip(every, bases, strict=False))
    return Corpus(renumbered, tuple((build.name, len(build.parts)) for build in held), sources)
