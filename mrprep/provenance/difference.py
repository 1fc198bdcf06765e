"""A short diff of two texts: by sentence, and where a sentence is long, the places in it that differ."""

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from mrprep.printable import printable

_LINES = 12
_CHARACTERS = 20_000
"""Of each text, from the first sentence on that differs, that are compared."""
_SENTENCES = 200
"""The same in sentences: equal ones cost the cube of their number."""
_SHOWN = 160
_TOKENS = 2000
"""Of a long sentence, from its first difference on, that are compared."""
_CONTEXT = 10
_SENTENCE = re.compile(r"(?<=[.!?。！？；\n])")
_TOKEN = re.compile(r"[a-zA-Z0-9\u00c0-\u058f]{1,12}|.", re.DOTALL)
"""A word of a script that has them, else a character."""


def difference(kept: str, removed: str) -> Iterator[str]:
    """Yield at most a dozen lines, those of ``kept`` with ``-``, of ``removed`` with ``+``, each safe to print."""
    if kept == removed:
        yield "the texts are equal"
        return
    lines = [f"{sign} {line}" for sign, line in _lines(*_compared(kept, removed))]
    yield from lines[:_LINES]
    if len(lines) > _LINES:
        yield f"… {len(lines) - _LINES} more lines"
    if not lines:
        yield "the texts differ in white space alone"


def _compared(kept: str, removed: str) -> Iterator[list[str]]:
    """Yield the sentences of each text from the first that differs to the last."""
    same = _same(kept, removed)
    before = [match.end() for match in _SENTENCE.finditer(kept, max(0, same - _CHARACTERS), same)]
    start = before[-1] if before else max(0, same - _SHOWN)
    tail = _same(kept[:start:-1], removed[:start:-1])
    after = _SENTENCE.search(kept, len(kept) - tail)
    rest = min(len(kept) - after.end() if after else tail, max(0, tail - _SHOWN))
    for text in (kept, removed):
        within = text[start : len(text) - rest]
        sentences = _SENTENCE.split(within[:_CHARACTERS])
        cut = len(within) > _CHARACTERS and len(sentences) > 1
        filled = [each for each in (sentences[:-1] if cut else sentences) if each.strip()]
        yield filled[:_SENTENCES]


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how long the beginning is that both have."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace" and sum(map(len, old[i:j])) + sum(map(len, new[k:m])) > _SHOWN:
            yield from _windows("".join(old[i:j]), "".join(new[k:m]))
        elif kind != "equal":
            yield from (("-", printable(each, _SHOWN)) for each in old[i:j])
            yield from (("+", printable(each, _SHOWN)) for each in new[k:m])


def _windows(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Yield what surrounds each difference of two stretches."""
    a, b = _TOKEN.findall(old), _TOKEN.findall(new)
    start = max(0, _same(a, b) - _CONTEXT)
    a, b = a[start:], b[start:]
    rest = max(0, _same(a[::-1], b[::-1]) - _CONTEXT)
    old_part, new_part = (tokens[: min(len(tokens) - rest, _TOKENS)] for tokens in (a, b))
    matcher = difflib.SequenceMatcher(None, old_part, new_part, autojunk=False)
    for group in islice(matcher.get_grouped_opcodes(_CONTEXT), _LINES):
        first, last = group[0], group[-1]
        for sign, tokens, low, high in (("-", a, first[1], last[2]), ("+", b, first[3], last[4])):
            ellipses = ("…" if start + low else "", "…" if high < len(tokens) else "")
            yield sign, printable(ellipses[0] + "".join(tokens[low:high]) + ellipses[1], _SHOWN)
