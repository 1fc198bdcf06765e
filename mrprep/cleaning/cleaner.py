"""Rules in order, over one text, until nothing is left to do.

Most text is made of `SAFE` characters, to which no character rule can object: one pass over it, at over
600 MB/s, takes them away, and what remains, mostly nothing, tells which rules have something to do at all.
"""

import re
from collections.abc import Generator, Iterator, Sequence

from mrprep.cleaning.forms import COMPOSED
from mrprep.cleaning.rule import Rule

SAFE = f"\t\n\r -~\xa0-\xac\xae-\xff{COMPOSED}"
r"""Ranges of characters that trigger no rule; ``\r`` is among them, as its rule has no trigger; held by tests."""

_SAFE = re.compile(f"[{SAFE}]*+")
_SAFE_RUN = re.compile(f"[{SAFE}]++")
_PASSES = 8
"""Removing one thing can close up another, as in ``(cid:(cid:1)2)``; nested deeper than this stays."""


class Cleaner:
    """Applies rules to texts.

    Args:
        characters: rules about characters, repeated until they find nothing.
        final: rules on white space, which give the others nothing new to do.
    """

    def __init__(self, characters: Sequence[Rule], final: Sequence[Rule]) -> None:
        self._characters = tuple(characters)
        self._untriggered = tuple(rule for rule in characters if rule.trigger is None)
        self._final = tuple(final)

    def __call__(self, text: str) -> tuple[str, dict[str, int]]:
        """Return the clean text and rule -> changed places; when it was clean, itself and no entry."""
        edits: dict[str, int] = {}
        for _ in range(_PASSES):
            changed = _apply(self._called_for(text), text, edits)
            if changed == text:
                break
            text = changed
        return _apply(self._final, text, edits), edits

    def steps(self, text: str) -> Iterator[tuple[str, str, str]]:
        """Yield (rule, text before, text after) for each rule that changes something, in the order they do."""
        for _ in range(_PASSES):
            before = text
            for rule in self._called_for(text):
                text = yield from _step(rule, text)
            if text == before:
                break
        for rule in self._final:
            text = yield from _step(rule, text)

    def _called_for(self, text: str) -> Sequence[Rule]:
        if _SAFE.fullmatch(text):
            return self._untriggered
        unsafe = _SAFE_RUN.sub("", text)
        return [rule for rule in self._characters if rule.trigger is None or rule.trigger.search(unsafe)]


def _step(rule: Rule, text: str) -> Generator[tuple[str, str, str], None, str]:
    changed, count = rule.change(text)
    if count:
        yield rule.name, text, changed
    return changed


def _apply(rules: Sequence[Rule], text: str, edits: dict[str, int]) -> str:
    for rule in rules:
        text, count = rule.change(text)
        if count:
            edits[rule.name] = edits.get(rule.name, 0) + count
    return text
