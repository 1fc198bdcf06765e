"""Text from a mould: lines that come again but for numbers and names, words said over, nothing but questions."""

import re

import numpy as np

from mrprep.filtering.batch import Batch
from mrprep.filtering.classes import Kind, watched
from mrprep.filtering.complaint import Complaint, Rule, too_much
from mrprep.filtering.han import echo_of
from mrprep.filtering.lines import CONTENTS
from mrprep.filtering.profile import Profile
from mrprep.filtering.tally import Mask
from mrprep.filtering.words import words_of

_CHARACTERS, _LEAST = 4000, 300
_LEAST_LINES, _LEAST_QUESTIONS = 14, 10
_DENSE, _NUMERIC = 0.45, 0.12
"""Density below which, and share of digits above which, lines are compared."""
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_TOKEN = re.compile("[\u3400-\u9fff]|[^\\W\\d_\u3400-\u9fff]+|\\d|[^\\w\\s]")
_N, _COMMON = 3, 0.6
"""Units of the pieces that lines are compared by, and share of them that must have stood before."""
_LEAST_WORDS = 40
_ASKING, _TELLING = watched("?？"), watched("。！：")
_ASKED, _TOLD = re.compile(r"\?(?!\S)|？"), re.compile(r"[.!…:](?!\S)|[。！：]|\w$", re.MULTILINE)


def _may_be_moulded(batch: Batch, _: float) -> Mask:
    lined = (batch.sizes >= _LEAST) & (batch.lines >= _LEAST_LINES)
    return lined & ((batch.densities < _DENSE) | (batch.kinds[Kind.DIGIT] > _NUMERIC * batch.inked))


def _moulded(profile: Profile, most: float) -> Complaint | None:
    lines = [line for line in map(str.strip, profile.sample[:_CHARACTERS].split("\n")) if line and line[0] != "|"]
    if len(lines) < _LEAST_LINES:
        return None
    seen: set[tuple[str, ...]] = set()
    size = sum(map(len, lines))
    fresh = 0
    for line in lines:
        pieces = _pieces(line)
        fresh += len(line) * (len(pieces & seen) < _COMMON * len(pieces))
        seen |= pieces
        if fresh >= (1 - most) * size:
            return None
    if 2 * len(CONTENTS.findall(profile.sample)) > len(profile.lines):
        return None
    return too_much("moulded", "in lines that differ in numbers and names only", 1 - fresh / size, most)


def _pieces(line: str) -> set[tuple[str, ...]]:
    """Return the units of a line, three at a time, a number or name standing for any."""
    tokens = ["", *_TOKEN.findall(_NAME.sub("A", _NUMBER.sub("0", line))), ""]
    return set(zip(tokens, tokens[1:], tokens[_N - 1 :], strict=False))


def _echoed(batch: Batch) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the share of words, or of ideographs, that say the last one again."""
    words = words_of(batch)
    same = np.zeros(words.hashes.size + 1, bool)
    same[1:-1] = (words.hashes[1:] == words.hashes[:-1]) & (words.lengths[1:] > 1)
    same[words.starts] = False  # the first word of a text and the last of the one before
    repeats = words.tally(same[:-1])
    share = np.where(words.count >= _LEAST_WORDS, repeats / np.maximum(words.count, 1), 0)
    return np.maximum(share, echo_of(batch))


def _is_echo(batch: Batch, most: float) -> Mask:
    return batch.once(_echoed) > most


def _echo(profile: Profile, most: float) -> Complaint | None:
    share = profile.number(lambda batch: batch.once(_echoed))
    return too_much("echo", "of the words or characters as the one before", share, most)


def _may_be_questions(batch: Batch, most: float) -> Mask:
    asked, told = batch.of(*_ASKING), batch.of(*_TELLING)
    return ~batch.partial & (asked >= _LEAST_QUESTIONS) & (asked > most * (asked + told))


def _questions(profile: Profile, most: float) -> Complaint | None:
    told = profile.sample.count(". ") + profile.sample.count(".\n")
    if profile.number(lambda batch: batch.of(*_ASKING)) * (1 - most) <= most * told:
        return None
    asked, told = (len(pattern.findall(profile.sample)) for pattern in (_ASKED, _TOLD))
    return too_much("questions", "of the sentences ask", asked / max(1, asked + told), most)


MOULDED = Rule(_may_be_moulded, _moulded)
"""Lines of which half the pieces stood in lines before, numbers and names left aside; counted in characters.
Tables of Markdown and contents are none."""
ECHO = Rule(_is_echo, _echo)
"""Every word twice and more."""
QUESTIONS = Rule(_may_be_questions, _questions)
"""Hardly a sentence that does not ask, as what people type into a search field."""
