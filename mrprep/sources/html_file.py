"""Reads .html: the main text of a page, by trafilatura (Barbaresi 2021), without menus, forms and comments.

Some 2.5 MB of HTML a second; a page is held in memory whole. Needs the extra ``html``.
"""

from collections.abc import Iterable, Iterator

from mrprep.document import BadRecord, Document, Place
from mrprep.sources.files import UnreadableError
from mrprep.sources.found import Found
from mrprep.sources.pieces import decode, documents
from mrprep.sources.span import Span

_LONGEST = 64 << 20
"""Bytes of the longest page."""


def read(span: Span, blocks: Iterable[bytes], found: Found) -> Iterator[Document | BadRecord]:
    """Yield the page's main text as one document, or a bad record when it has none.

    Raises:
        UnreadableError: the page is too long.
    """
    from trafilatura import extract

    held = bytearray()
    for block in blocks:
        held += block
        if len(held) > _LONGEST:
            raise UnreadableError(f"is one page of more than {_LONGEST >> 20} MB")
    text = extract(decode(bytes(held), found), include_comments=False)
    if text:
        yield from documents(span.source, span.path, 0, 1, text)
    else:
        yield BadRecord(Place(span.source, span.path, 0, 1), "no-main-text", "the page has no main text")
