"""Paragraphs that come again: the first copies stay, those in later documents are taken out, the documents stay.

Licence headers, navigation, disclaimers. It changes texts after seeing all documents, so it stands before dedupe, and
sketches are made of what it leaves. Its phases are in `mrprep.repeats`: count paragraphs by part, share out the copies
that stay, write the parts again. It reads the texts twice and writes them once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from mrprep.builddir.tables import TextPart, numbered
from mrprep.builddir.textpart import TextPartWriter
from mrprep.engine.phase import RunPhase
from mrprep.options import Options as BaseOptions
from mrprep.repeats.examples import write_examples
from mrprep.repeats.rewrite import Cut, rewrite
from mrprep.repeats.surplus import CountUnit, count_part, load_surplus, share, share_units
from mrprep.repeats.taking import Repeats
from mrprep.stages import dedupe

VERSION = 1
STAGE = "paragraphs"
TEXTS = "paragraphs.texts"
READERS = ("paragraphs.copies", TEXTS)
"""Phases that read texts as they were before."""
NOTHING_LEFT = "each of its {} paragraphs is a repeat"


class Options(BaseOptions):
    """Which paragraphs are repeats."""

    keep: int = Field(10, ge=1, lt=1 << 31)
    """Copies of a paragraph that stay: the first in the order of the documents; two in one document are two. Fewer
    leave fragments of near duplicates, which dedupe then does not know as such."""
    min_bytes: int = Field(100, ge=1, lt=1 << 31)
    """Shortest paragraph that counts, in UTF-8: 17 words of English, 34 Chinese characters."""


@dataclass(frozen=True)
class RewriteUnit:
    """A part to write again, without the copies that others have used up."""

    part: Path
    number: int
    """Of the part, from 0."""
    shared: tuple[Path, ...]
    min_bytes: int
    dedupe: dedupe.Options | None
    """How to sketch what is written; None if no dedupe follows."""


def run(
    run_phase: RunPhase, parts: Sequence[TextPart], options: Options, following: dedupe.Options | None
) -> list[TextPart]:
    """Take repeated paragraphs out of the texts of all parts.

    Args:
        run_phase: runs the stage's phases.
        parts: of the phase before.
        options: of the stage.
        following: options of the dedupe stage, if it follows; the parts get its sketch.

    Returns:
        As many parts in the same order, with what else the read phase has written, and ``repeats.json``.
    """
    settings = {"version": VERSION, "options": options.model_dump()}
    sizes = [part.text_bytes for part in parts]
    counts = [CountUnit(part.path, options.min_bytes) for part in parts]
    counted = run_phase("paragraphs.copies", counts, count_part, settings=settings, weights=sizes)
    shared = run_phase("paragraphs.shares", share_units(counted, options.keep), share, settings=settings)
    if following:
        settings["dedupe"] = dedupe.sketch_settings(following)
    texts = [
        RewriteUnit(part.path, number, tuple(shared), options.min_bytes, following) for number, part in enumerate(parts)
    ]
    return numbered(run_phase(TEXTS, texts, rewrite_part, settings=settings, weights=sizes))


def rewrite_part(unit: RewriteUnit, out: Path) -> None:
    """Write what `read_unit` writes of a part, without its surplus copies, and examples of the most frequent ones."""
    sketches = dedupe.sketches(unit.dedupe)
    writer = TextPartWriter(out, sketches.add)
    repeats = Repeats(load_surplus(unit.shared, unit.number), unit.min_bytes)
    rewrite(unit.part, writer, Cut(STAGE, repeats.take, NOTHING_LEFT))
    writer.close()
    sketches.save(out)
    write_examples(repeats.examples.values(), out)
