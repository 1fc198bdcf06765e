"""Takes out of documents what stands in others too: writes a part again, as the read phase has written it.

A document of which nothing is left is dropped; white space that opens up is closed as cleaning does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mrprep.builddir.textpart import TextPartWriter, documents
from mrprep.cleaning.whitespace import blank_lines, edges
from mrprep.document import Document, Dropped, MapItem

REASON = "nothing-left"


@dataclass(frozen=True)
class Cut:
    """What a stage takes out of documents."""

    stage: str
    """Its name: edits count under it what is gone."""
    take: Callable[[Document], tuple[str, int]]
    """Returns the text of a document without what goes, and how many stretches that is; the same text if none."""
    nothing_left: str
    """Says why a document is dropped, with ``{}`` for how many stretches went."""


def rewrite(part: Path, writer: TextPartWriter, cut: Cut) -> None:
    """Write the documents of a part after the cut."""
    writer.follow(part)
    for document in documents(part):
        item = without(document, cut)
        if isinstance(item, Dropped):
            writer.drop(item, cut.stage)
            continue
        if item is not document:
            writer.shortened(cut.stage, item.edits[cut.stage], len(document.text) - len(item.text))
        writer.keep(item)


def without(document: Document, cut: Cut) -> MapItem:
    """Return a document after the cut; the very same object if nothing goes."""
    text, gone = cut.take(document)
    if not gone:
        return document
    if not text.strip():
        return Dropped(document, REASON, cut.nothing_left.format(gone))
    return Document(document.place, _closed(text, document), {**document.edits, cut.stage: gone}, document.score)


def _closed(text: str, document: Document) -> str:
    text, _ = blank_lines(text)
    return text if document.may_be_piece else edges(text)[0]
