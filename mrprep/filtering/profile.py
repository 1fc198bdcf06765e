"""What the filter knows of one text of a batch, for the rules that suspect it; words and units on demand."""

import re
from collections.abc import Callable
from functools import cached_property
from itertools import islice
from typing import Any

import numpy.typing as npt

from mrprep.filtering.batch import Batch, Memo

_WORD = re.compile(r"[^\W\d_]+")
_ASCII_WORDS = bytes(code + 32 * (code < 97) if chr(code).isalpha() else 32 for code in range(128)) + bytes(128)
"""ASCII letters in lower case, and a blank for all else."""
_UNIT = re.compile(
    "[\u0e00-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    "|[^\\W\u0e00-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_UNIT_LENGTH = 8
"""Characters that a unit and what parts it from the next seldom exceed."""


def letter_runs(text: str) -> list[str]:
    """Return the runs of letters of a text, in lower case."""
    if text.isascii():
        return text.encode().translate(_ASCII_WORDS).decode().split()
    return _WORD.findall(text.lower())


class Profile(Memo):
    """One text under the filter; its fields are those of `Batch`, for this text.

    Args:
        batch: the texts it is among.
        index: which of them it is.
    """

    def __init__(self, batch: Batch, index: int) -> None:
        super().__init__()
        self.batch, self.index = batch, index
        self.text = batch.texts[index]
        self.sample = batch.samples[index]
        self.partial = bool(batch.partial[index])
        self.inked = int(batch.inked[index])
        self.wide = int(batch.wide[index])
        self.latin = int(batch.latin[index])
        self.density = float(batch.densities[index])

    @cached_property
    def kinds(self) -> list[int]:
        """Characters of each kind and watched one."""
        kinds: list[int] = self.batch.kinds[:, self.index].tolist()
        return kinds

    def number(self, column: Callable[[Batch], npt.NDArray[Any]]) -> float:
        """Return this text's entry of a column of the batch."""
        return float(column(self.batch)[self.index])

    @cached_property
    def lines(self) -> list[str]:
        """Lines of the sample that are not empty."""
        return list(filter(None, self.sample.split("\n")))

    @cached_property
    def words(self) -> list[str]:
        """Runs of letters of the sample, in lower case."""
        return letter_runs(self.sample)

    @cached_property
    def units(self) -> list[str]:
        """Words of the sample, and each character of scripts that have no spaces between words."""
        return _UNIT.findall(self.sample)

    def first_units(self, most: int) -> list[str]:
        """Return the first ``most`` units, without looking for more where a stretch holds enough."""
        if len(self.sample) <= most * _UNIT_LENGTH:
            return self.units[:most]
        units = _UNIT.findall(self.sample[: most * _UNIT_LENGTH])
        return units[:most] if len(units) > most else self.units[:most]

    def units_up_to(self, most: int) -> int:
        """Return how many units the sample has, counted no further than ``most``."""
        return sum(1 for _ in islice(_UNIT.finditer(self.sample), most))
