"""Takes lines that are boilerplate out of documents.

A document of which nothing is left is dropped; white space that opens up is closed as cleaning does.
"""

from collections.abc import Iterable, Iterator
from functools import cache

from mrprep.cleaning.whitespace import blank_lines, edges
from mrprep.document import Document, Dropped, MapItem
from mrprep.repeats.lines import Keys, salt, without

EDIT = "boilerplate"
"""Under which edits count the lines that are gone."""
REASON = "nothing-left"


def strip(documents: Iterable[Document], removed: Keys) -> Iterator[MapItem]:
    """Yield each document without the lines whose keys are ``removed``; the very same object when it has none."""
    if not removed:
        yield from documents
        return
    salted = cache(salt)
    for document in documents:
        text, gone = without(document.text, removed, salted(document.place.source))
        if not gone:
            yield document
            continue
        edited = Document(document.place, _closed(text, document), {**document.edits, EDIT: gone})
        yield edited if text.strip() else Dropped(document, REASON, f"each of its {gone} lines is boilerplate")


def _closed(text: str, document: Document) -> str:
    text, _ = blank_lines(text)
    return text if document.may_be_piece else edges(text)[0]
