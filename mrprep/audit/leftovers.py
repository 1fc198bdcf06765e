"""What should not be left in text: odd characters, wrong decodings, HTML, markers of chat and tokenizers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mrprep.audit.block import EXCERPT, Block, Mask
from mrprep.audit.finding import Finding, Tally, grade
from mrprep.audit.limits import Limits
from mrprep.filtering.classes import Kind, code_points, count_classes


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of thing left over."""

    check: str
    what: str
    """In words, for the message."""
    pattern: re.Pattern[str]
    least: int
    """Matches in a row from which on the row counts."""
    advice: str
    length: int = 1 << 30
    """Characters of a long match that count as one more."""
    rare_han: bool = False
    """Whether a text of many rare ideographs counts too."""


_RARE = 0.3
"""Share of rare ideographs among all; the classics, rich in them, have up to 0.2, UTF-8 read as GB18030 0.6."""
_LEAST_HAN = 20
_TOGETHER = 256
"""Texts whose characters are counted at a time."""
_CONTINUATION = "\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
_TAGS = "a|b|body|br|button|div|em|font|form|h[1-6]|head|html|hr|i|iframe|img|input|li|link|meta|nav|ol|p|script"
_MORE_TAGS = "section|span|strong|style|svg|table|tbody|td|th|tr|u|ul"

PATTERNS = (
    Pattern(
        "odd-characters",
        "control, zero-width, private-use or lost characters",
        re.compile(
            "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u2028\u2029\u2060-\u2064\ufeff\ufff9-\ufffd"
            "\u202a-\u202e\u2066-\u2069\ue000-\uf8ff\U000f0000-\U0010ffff]"
        ),
        1,
        "put clean into the pipeline, or look at the encoding of the files they come from",
    ),
    Pattern(
        "mojibake",
        "text in a wrong encoding",
        re.compile(
            f"[\xc2-\xf4][{_CONTINUATION}]{{2,}}"  # UTF-8 read as Latin-1 or Windows-1252
            r"|(?!(.)\1{3})[\xa1-\xff]{4,}"  # GB18030 and other double-byte codes read as Latin-1, not a row of ×
            "|(?:锟斤拷)+|(?:烫烫|屯屯)+"  # U+FFFD twice in UTF-8 read as GBK; fresh memory of a C program
        ),
        3,
        "say encoding = for the source they come from, and build again",
        length=8,
        rare_han=True,
    ),
    Pattern(
        "html",
        "remains of HTML",
        re.compile(
            rf"</?(?:{_TAGS}|{_MORE_TAGS})(?:\s[^<>=]{{1,40}}=[^<>]{{0,300}})?\s?/?>|&(?:nbsp|amp|lt|gt|quot|apos|#\d{{1,6}});",
            re.I,
        ),
        20,
        "take the text out of the pages before it comes here, or name the field that holds it",
    ),
    Pattern(
        "markup",
        "tags or attributes of web pages",
        re.compile(
            r"</?(?:script|style|iframe|img|div|span|table|td|tr)(?:\s[^<>=]{1,40}=[^<>]{0,300})?\s?/?>"
            r"|<!--|<!doctype html|\s(?:href|src|on(?:click|error|load))=[\"'][^\"'<>\n]{0,300}[\"']",
            re.I,
        ),
        1,
        "take the text out of the pages before it comes here; in text on the web itself it belongs there",
    ),
    Pattern(
        "literal-specials",
        "special tokens written out as text",
        re.compile(
            r"<\|[a-z_0-9]{2,30}\|>|<｜[^<>｜\n]{2,40}｜>|</s>|<(?:pad|unk|eos|bos|mask)>|\[/?INST\]|\[(?:MASK|SEP|CLS|PAD)\]"
            r"|<0x[0-9A-F]{2}>|<(?:start|end)_of_turn>",
        ),
        1,
        "they never become control ids here, but a model learns to write them: filter the source they come from",
    ),
)


def patterns(limits: Limits) -> list[tuple[Pattern, tuple[float, float]]]:
    """Return all kinds with their thresholds."""
    chosen = (limits.odd_characters, limits.mojibake, limits.html, limits.markup, limits.literal_specials)
    return list(zip(PATTERNS, chosen, strict=True))


class Leftovers:
    """Shares of rows that hold one kind of thing.

    Args:
        pattern: what to look for.
        limits: shares of rows at which it is a warning and a failure; any row at all is a note.
    """

    def __init__(self, pattern: Pattern, limits: tuple[float, float]) -> None:
        self._pattern, self._limits = pattern, limits
        self._rows = Tally()

    def see(self, block: Block) -> None:
        """Take in a block."""
        found = np.array([self._count(text.strip("\ufffd")) for text in block.decoded], np.int64)
        if self._pattern.rare_han:
            found[_of_rare_han(block.decoded)] += self._pattern.least
        held = np.bincount(block.stretches.row, found, block.rows.size) >= self._pattern.least
        order = np.argsort(-found, kind="stable")
        places = [i for i in order.tolist() if found[i] and held[block.stretches.row[i]]]
        self._rows.add(int(held.sum()), block.rows.size, (block.example(i, self._around(block, i)) for i in places))

    def _count(self, text: str) -> int:
        found = self._pattern.pattern.finditer(text)
        return sum(max(1, (match.end() - match.start()) // self._pattern.length) for match in found)

    def _around(self, block: Block, stretch: int) -> str:
        text = block.decoded[stretch].strip("\ufffd")
        match = self._pattern.pattern.search(text)
        start = max(0, match.start() - EXCERPT // 3) if match else 0
        return text[start : start + EXCERPT]

    def findings(self) -> Iterator[Finding]:
        """Yield the judgement."""
        found = self._rows
        level = grade(found.share, *self._limits)
        yield found.finding(
            self._pattern.check,
            "note" if level == "ok" and found.hits else level,
            found.share,
            self._limits[0],
            f"{found.hits} of {found.total} rows hold {self._pattern.what}",
            self._pattern.advice,
        )


def _of_rare_han(texts: Sequence[str]) -> Mask:
    """Mark texts of which many ideographs are in no everyday use: UTF-8 read as GB18030."""
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    kinds = np.zeros((len(Kind), len(texts)), np.int64)
    for low, high in pairwise([*range(0, len(texts), _TOGETHER), len(texts)]):
        codes = code_points("".join(texts[low:high]))
        kinds[:, low:high] = count_classes(codes, sizes[low:high])[: len(Kind)]
    han = kinds[Kind.HAN] + kinds[Kind.RARE_HAN]
    return np.asarray((han >= _LEAST_HAN) & (kinds[Kind.RARE_HAN] > _RARE * han))
