"""Tokenizers side by side on one text: what each makes of it, how fast, and where they differ most."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt

from mrprep.tokenizers.protocol import Pieces, Tokenizer

EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Passage:
    """A text, and where it stands."""

    place: str
    """``path:line``."""
    text: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What one tokenizer makes of the passages."""

    file: Path
    facts: dict[str, Any]
    tokens: int
    bytes_per_token: float
    unknown: float
    """Share of the tokens that are unknown ids."""
    byte: float
    """Share of the tokens that spell a character out in bytes."""
    rate: float
    """MB of text a CPU second, on one core, after the file is open."""
    counts: npt.NDArray[np.int64]
    """Tokens of each passage."""
    pieces: Pieces


def measure(file: Path, tokenizer: Tokenizer, passages: Sequence[Passage]) -> Measured:
    """Encode passages.

    Args:
        file: of the tokenizer, for the table.
        tokenizer: the same, opened.
        passages: not empty.
    """
    facts = tokenizer.facts()  # opens the encoder, so that the time below is that of encoding
    texts = [passage.text for passage in passages]
    size = sum(len(text.encode()) for text in texts)
    start = process_time()
    ids, offsets = tokenizer.encode_batch(texts)
    seconds = process_time() - start
    total = max(1, ids.size)
    unknown = 0 if tokenizer.unk_id is None else int((ids == tokenizer.unk_id).sum())
    byte = int(np.isin(ids, sorted(tokenizer.special["byte"])).sum())
    return Measured(
        file=file,
        facts=facts,
        tokens=ids.size,
        bytes_per_token=size / total,
        unknown=unknown / total,
        byte=byte / total,
        rate=size / max(seconds, 1e-9) / 1e6,
        counts=np.diff(offsets),
        pieces=tokenizer.pieces(),
    )


def overlap(one: Pieces, other: Pieces) -> float:
    """Return the share of the text pieces of the smaller vocabulary that stand, byte for byte, in the other too."""
    sets = [
        {raw for raw, kind in zip(pieces.bytes, pieces.kinds, strict=True) if kind == "normal"}
        for pieces in (one, other)
    ]
    return len(sets[0] & sets[1]) / max(1, min(map(len, sets)))


def furthest(measured: Sequence[Measured], passages: Sequence[Passage]) -> list[tuple[Passage, list[int]]]:
    """Return the passages on which the numbers of tokens differ most, by their ratio, each with those numbers."""
    counts = np.array([found.counts for found in measured])
    ratio = (counts.max(0) + 1) / (counts.min(0) + 1)
    order = np.argsort(-ratio, kind="stable")[:EXAMPLES].tolist()
    return [(passages[i], counts[:, i].tolist()) for i in order if ratio[i] > 1]
