"""Rules in order, over one text, until nothing is left to do.

A `Look` at many texts tells which rules have something to do at first. Once something was changed a look at the one
text does: most text is made of `SAFE` characters, to which no character rule can object; one pass over it, at over
600 MB/s, takes them away, and what remains, mostly nothing, tells the same.
"""

import re
from collections.abc import Generator, Iterator, Sequence
from functools import lru_cache

from mrprep.cleaning.forms import COMPOSED
from mrprep.cleaning.glyphs import PRIVATE
from mrprep.cleaning.look import BLANK_LINES, TRAILING, UNSURE
from mrprep.cleaning.rule import Rule
from mrprep.cleaning.whitespace import trailing_space

SAFE = f"\t\n\r -~\xa0-\xac\xae-\xff{COMPOSED}".replace(PRIVATE, "")
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
        self._final = tuple(final)
        self._final_without_blanks = tuple(rule for rule in final if rule.change is not trailing_space)
        self._untriggered = tuple(rule for rule in characters if rule.trigger is None)
        self._called = lru_cache(1024)(self._of_bits)

    def __call__(self, text: str, calls: int = UNSURE) -> tuple[str, dict[str, int]]:
        """Return the clean text and rule -> changed places; when it was clean, itself and no entry.

        Args:
            text: to clean.
            calls: what a `Look` for the same character rules says of it; asked for only where that is not 0.
        """
        edits: dict[str, int] = {}
        called = self._called_for(text) if calls & UNSURE else self._called(calls)
        if called:
            text = self._without_characters(called, text, edits)
        blanks = edits or calls & (TRAILING | UNSURE)
        return _apply(self._final if blanks else self._final_without_blanks, text, edits)[0], edits

    def _without_characters(self, called: Sequence[Rule], text: str, edits: dict[str, int]) -> str:
        """Apply these rules, and those that are called for after them, until nothing changes."""
        for _ in range(_PASSES):
            changed, acted = _apply(called, text, edits)
            if changed == text:
                break
            text = changed
            if self._is_done(called, acted, text):
                break
            called = self._called_for(text)
        return text

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

    def _of_bits(self, calls: int) -> Sequence[Rule]:
        """Return the rules of those bits; the same that `_called_for` returns."""
        if not calls & ~(TRAILING | BLANK_LINES):
            return ()
        return [rule for at, rule in enumerate(self._characters) if rule.trigger is None or calls >> at & 1]

    def _is_done(self, called: Sequence[Rule], acted: Sequence[Rule], text: str) -> bool:
        """Tell without another look at all of a changed text that no rule has anything more to do.

        Rules after the last that acted have seen the text as it is.
        """
        if not all(rule.takes_out for rule in acted):
            return False
        return not any(rule.may_act(text) for rule in called[: called.index(acted[-1]) + 1])


def _step(rule: Rule, text: str) -> Generator[tuple[str, str, str], None, str]:
    changed, count = rule.change(text)
    if count:
        yield rule.name, text, changed
    return changed


def _apply(rules: Sequence[Rule], text: str, edits: dict[str, int]) -> tuple[str, list[Rule]]:
    """Return the changed text, and the rules that changed it."""
    acted = []
    for rule in rules:
        text, count = rule.change(text)
        if count:
            edits[rule.name] = edits.get(rule.name, 0) + count
            acted.append(rule)
    return text, acted
