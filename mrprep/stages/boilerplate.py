"""Boilerplate: lines that stand in too many documents of a source are taken out of all of them.

It changes texts after seeing all documents, so it stands before dedupe, and sketches are made of what it leaves.
Its phases are in `mrprep.repeats`: count lines by part, find the frequent ones, write the parts again. It reads the
texts twice and writes them once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import Field

from mrprep.builddir.tables import TextPart, numbered
from mrprep.builddir.textpart import TextPartWriter
from mrprep.engine.phase import RunPhase
from mrprep.options import Options as BaseOptions
from mrprep.repeats.counts import CountUnit, count_part, find_frequent, range_units
from mrprep.repeats.lines import without_lines
from mrprep.repeats.rewrite import Cut, rewrite
from mrprep.stages import dedupe

VERSION = 1
STAGE = "boilerplate"
TEXTS = "boilerplate.texts"
READERS = ("boilerplate.lines", TEXTS)
"""Phases that read texts as they were before."""
NOTHING_LEFT = "each of its {} lines is boilerplate"


class Options(BaseOptions):
    """Which lines are boilerplate: those over both limits. White space around a line does not count."""

    max_share: float = Field(0.2, gt=0, lt=1)
    """Largest share of a source's documents that a line may be in. Own measurement: headings of laws reach 18 %."""
    min_documents: int = Field(20, ge=2)
    """Fewest documents that a line must be in to be boilerplate, so that small sources keep their lines."""


@dataclass(frozen=True)
class RewriteUnit:
    """A part to write again, without the lines that the ranges found."""

    part: Path
    frequent: tuple[Path, ...]
    dedupe: dedupe.Options | None
    """How to sketch what is written; None if dedupe does not come next."""


def run(
    run_phase: RunPhase,
    parts: Sequence[TextPart],
    options: Options,
    sources: Sequence[str],
    following: dedupe.Options | None,
) -> list[TextPart]:
    """Take boilerplate out of the texts of all parts.

    Args:
        run_phase: runs the stage's phases.
        parts: of the read phase.
        options: of the stage.
        sources: names of all sources.
        following: options of the dedupe stage, if it comes next; the parts get its sketch.

    Returns:
        As many parts in the same order, with what else the read phase has written.
    """
    settings = {"version": VERSION, "options": options.model_dump()}
    sizes = [part.text_bytes for part in parts]
    counts = [CountUnit(part.path, tuple(sources)) for part in parts]
    counted = run_phase("boilerplate.lines", counts, count_part, settings=settings, weights=sizes)
    ranges = range_units(counted, options.max_share, options.min_documents)
    frequent = run_phase("boilerplate.frequent", ranges, find_frequent, settings=settings)
    if following:
        settings["dedupe"] = dedupe.sketch_settings(following)
    texts = [RewriteUnit(part.path, tuple(frequent), following) for part in parts]
    return numbered(run_phase(TEXTS, texts, rewrite_part, settings=settings, weights=sizes))


def rewrite_part(unit: RewriteUnit, out: Path) -> None:
    """Write what `read_unit` writes of a part, without boilerplate."""
    removed = frozenset(key for path in unit.frequent for key in np.load(path / "frequent.npy").tolist())
    sketches = dedupe.sketches(unit.dedupe)
    writer = TextPartWriter(out, sketches.add)
    take = (lambda document: without_lines(document, removed)) if removed else (lambda document: (document.text, 0))
    rewrite(unit.part, writer, Cut(STAGE, take, NOTHING_LEFT))
    writer.close()
    sketches.save(out)
