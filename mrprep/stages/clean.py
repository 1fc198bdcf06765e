"""The clean stage: takes out of each document what is no text, and brings the rest into one form.

A rule is a function in `mrprep.cleaning`; here is which are on, and in which order they run. Cleaning what is
clean changes nothing. Clean text passes at some 600 MB/s a core, however short the texts.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

from pydantic import field_validator

from mrprep import extras
from mrprep.cleaning import controls, forms, glyphs, invisible, joiners, markup, mojibake, redact, whitespace
from mrprep.cleaning.cleaner import Cleaner
from mrprep.cleaning.look import Look
from mrprep.cleaning.rule import Rule
from mrprep.document import Document, MapItem
from mrprep.options import Options as BaseOptions

VERSION = 2


class Options(BaseOptions):
    """Which rules run; those that are on by default never take a visible character out."""

    ansi: bool = True
    """Remove ANSI escapes: colours, cursor moves, window titles."""
    overstrike: bool = True
    r"""Undo the bold and underline of man pages (``N\bN``, ``_\bN``)."""
    line_ends: bool = True
    r"""Turn CRLF, lone CR, form feed, vertical tab, NEL, LS and PS into ``\n``."""
    controls: bool = True
    """Remove C0 and C1 control characters other than tab and line ends."""
    byte_order_marks: bool = True
    """Remove U+FEFF inside a text."""
    bidi: bool = True
    """Remove bidi marks, overrides and isolates."""
    soft_hyphens: bool = True
    """Remove U+00AD."""
    zero_width: bool = True
    """Remove zero-width spaces, word joiners and invisible operators."""
    tags: bool = True
    """Remove tag characters outside emoji flags."""
    joiners: bool = True
    """Remove ZWJ, ZWNJ and variation selectors that no script or emoji needs where they stand."""
    noncharacters: bool = True
    """Remove noncharacters such as U+FFFE."""
    cid: bool = True
    """Remove ``(cid:12)``, the remains of a PDF font without a Unicode table."""
    unicode: Literal["nfc", "nfkc", "as-is"] = "nfc"
    """Normal form; ``nfkc`` also folds full-width punctuation, ligatures, ``…`` and the like."""
    trailing_space: bool = True
    """Remove white space at the ends of lines."""
    blank_lines: bool = True
    """Shorten runs of blank lines to two."""
    edges: bool = True
    """Remove blank lines at the start and end of a document."""
    replacement: bool = False
    """Remove U+FFFD, which stands for a character that was lost."""
    private_use: bool = False
    """Remove private-use characters."""
    half_width: bool = False
    """Turn full-width ASCII such as ``，（Ａ`` into ASCII."""
    html_tags: bool = False
    """Remove HTML tags, script and style; block-level tags become line ends."""
    html_entities: bool = False
    """Turn ``&nbsp;``, ``&#20013;`` and the like into characters."""
    urls: bool = False
    """Replace web addresses by ``[URL]``."""
    emails: bool = False
    """Replace e-mail addresses by ``[EMAIL]``."""
    phones: bool = False
    """Replace telephone numbers by ``[PHONE]``."""
    id_numbers: bool = False
    """Replace Chinese identity numbers with a right check digit by ``[ID]``."""
    ip_addresses: bool = False
    """Replace IP addresses by ``[IP]``."""
    secrets: bool = False
    """Replace keys and tokens of common services, and private keys, by ``[SECRET]``."""
    mojibake: bool = False
    """Put right what was decoded with a wrong encoding, such as ``cafÃ©``. Needs mrprep[ftfy]."""

    @field_validator("mojibake")
    @classmethod
    def _can_be_had(cls, wanted: bool) -> bool:
        if wanted and not extras.has("ftfy"):
            raise ValueError(f"putting mojibake right {extras.advice('ftfy')}")
        return wanted


_CHARACTERS: Sequence[Rule] = (
    Rule("mojibake", mojibake.mojibake),
    Rule("line_ends", controls.carriage_returns, mark="\r", takes_out=True),
    Rule("line_ends", controls.line_ends, controls.LINE_END, takes_out=True),
    Rule("ansi", controls.ansi, controls.ESCAPE),
    Rule("overstrike", controls.overstrike, controls.BACKSPACE),
    Rule("controls", controls.controls, controls.CONTROL, takes_out=True),
    Rule("html_tags", markup.html_tags, mark="<"),
    Rule("html_entities", markup.html_entities, mark="&"),
    Rule("byte_order_marks", invisible.byte_order_marks, invisible.BOM, takes_out=True),
    Rule("bidi", invisible.bidi, invisible.BIDI, takes_out=True),
    Rule("soft_hyphens", invisible.soft_hyphens, invisible.SOFT_HYPHEN, takes_out=True),
    Rule("zero_width", invisible.zero_width, invisible.ZERO_WIDTH, takes_out=True),
    Rule("tags", invisible.tags, invisible.TAG),
    Rule("noncharacters", invisible.noncharacters, invisible.NONCHARACTER, takes_out=True),
    Rule("joiners", joiners.joiners, joiners.JOINER),
    Rule("cid", glyphs.cid, mark="(cid:"),
    Rule("replacement", glyphs.replacement, mark="\ufffd"),
    Rule("private_use", glyphs.private_use, glyphs.PRIVATE_USE),
    Rule("half_width", forms.half_width),
    Rule("nfc", forms.nfc, forms.COMPOSABLE),
    Rule("nfkc", forms.nfkc),
    Rule("secrets", redact.secrets),
    Rule("urls", markup.urls),
    Rule("emails", redact.emails, mark="@"),
    Rule("id_numbers", redact.id_numbers),
    Rule("ip_addresses", redact.ip_addresses),
    Rule("phones", redact.phones),
)
"""In the order in which they run."""
_LINES: Sequence[Rule] = (
    Rule("trailing_space", whitespace.trailing_space),
    Rule("blank_lines", whitespace.blank_lines),
)
_EDGES = Rule("edges", whitespace.edges)


_BATCH = 1 << 18, 1 << 11
"""Characters, or documents, that are looked at together."""


def clean(documents: Iterable[Document], options: Options) -> Iterator[MapItem]:
    """Yield each document cleaned, with what was done to it; the very same object when nothing was.

    Documents are taken in by batches of some 256 Ki characters and given back in their order.
    """
    look, whole, cut = _tools(options)
    for batch in _batches(documents):
        for document, calls in zip(batch, look([document.text for document in batch]), strict=True):
            if calls:
                text, edits = (cut if document.may_be_piece else whole)(document.text, calls)
                yield Document(document.place, text, edits, document.score) if edits else document
            else:
                yield document


def steps(document: Document, options: Options) -> Iterator[tuple[str, str, str]]:
    """Yield (rule, text before, text after) for each rule that changes the document, in the order they do."""
    _, whole, cut = _tools(options)
    return (cut if document.may_be_piece else whole).steps(document.text)


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    most, many = _BATCH
    taken: list[Document] = []
    characters = 0
    for document in documents:
        taken.append(document)
        characters += len(document.text)
        if characters >= most or len(taken) >= many:
            yield taken
            taken, characters = [], 0
    if taken:
        yield taken


@lru_cache(4)
def _tools(options: Options) -> tuple[Look, Cleaner, Cleaner]:
    """Return what looks at texts, the cleaner of whole documents, and that of pieces, whose ends are not theirs."""
    characters, lines = _chosen(_CHARACTERS, options), _chosen(_LINES, options)
    return Look(characters), Cleaner(characters, lines + _chosen([_EDGES], options)), Cleaner(characters, lines)


def _chosen(rules: Sequence[Rule], options: Options) -> list[Rule]:
    switches = options.model_dump() | {"nfc": options.unicode == "nfc", "nfkc": options.unicode == "nfkc"}
    return [rule for rule in rules if switches[rule.name]]
