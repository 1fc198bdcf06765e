"""Decides a file's encoding once, from samples of it; unsure is said, never guessed.

UTF-8 first, then byte order marks, UTF-16 without one, 7-bit encodings of Chinese and Japanese, and the
legacy encodings of ``charsets``. Files of other encodings are read as UTF-8 after a transcoding stream.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from mrprep.sources.found import Found

SAMPLE = 1 << 20
"""Bytes of a file's head that are looked at; smaller files are looked at whole."""
_PARTS, _PART = 8, 1 << 16
_BOMS = {  # UTF-32 first: its mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SEVEN_BIT = {b"~{": "hz", b"\x1b$B": "iso2022_jp_2", b"\x1b$@": "iso2022_jp_2", b"\x1b$)C": "iso2022_kr"}
_ADVICE = "set encoding = for its source, or convert it to UTF-8"
_FEW_IN_RECORDS = 100
"""So many bytes that are not UTF-8 are taken for bad records, not for another encoding of all."""
_FEW = 1000
"""Among this many bytes one may be none of UTF-8 in a file of UTF-8 or ASCII."""
_USUAL_UTF16 = re.compile("[\t\n\r -~\xa0-\u024f\u0370-\u06ff\u0900-\u0e7f\u2010-\u2027\u3000-\u30ff\u4e00-\u9fa5"
                          "\uac00-\ud7a3\uff00-\uffef]")  # fmt: skip
_COMMON = re.compile("[\t\n -~\u3000-\u3002\uff0c]")
"""Spaces, line ends, stops, ASCII: a fiftieth of any text."""
_BEYOND_ASCII = re.compile("[^\0-\x7f\udc80-\udcff]+")
_BAD_BYTE = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Sample:
    """What of a file its encoding is decided by."""

    data: bytes
    """Its head, and stretches of whole lines from further on."""
    whole: bool
    """Whether that is the whole file."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a file is taken for."""

    name: str
    """An encoding that Python knows; empty if none fits for sure."""
    confidence: float
    problem: str = ""
    """A sentence if none does."""


def sample_of(file: BinaryIO, size: int) -> Sample:
    """Return samples of a seekable file of ``size`` bytes, at its start; all of it up to ``SAMPLE``."""
    head = file.read(min(size, SAMPLE))
    if size <= SAMPLE:
        return Sample(head, whole=True)
    end = head.rfind(b"\n") + 1
    if not end:
        return Sample(head, whole=False)
    parts = [head[:end]]
    for index in range(1, _PARTS + 1):
        file.seek(max(SAMPLE, size * index // (_PARTS + 1)))
        part = file.read(_PART)
        parts.append(part[part.find(b"\n") + 1 : part.rfind(b"\n") + 1])
    return Sample(b"".join(parts), whole=False)


def decide(sample: Sample, told: str, records: bool = False) -> Verdict:
    """Return the encoding of a file.

    Args:
        sample: of it.
        told: what the source says: ``auto``, or a name, which is then taken for right.
        records: it is JSON by lines, where what does not decode costs its line and never the file.
    """
    if told != "auto":
        return Verdict(told, 1.0)
    data = sample.data
    for mark, name in _BOMS.items():
        if data.startswith(mark):
            return Verdict(name, 1.0)
    if b"\0" in data or not _is_utf8(sample):
        return _not_utf8(sample, records)
    return _seven_bit(data) or Verdict("utf-8", 1.0)


def transcoded(blocks: Iterable[bytes], name: str, found: Found) -> Iterator[bytes]:
    """Yield a stream in another encoding as UTF-8; what cannot be decoded becomes U+FFFD, counted."""
    decoder = codecs.getincrementaldecoder(name)("replace")
    for block in blocks:
        yield _utf8(decoder.decode(block), found)
    if rest := decoder.decode(b"", final=True):
        yield _utf8(rest, found)


def _utf8(text: str, found: Found) -> bytes:
    found.replaced += text.count("\ufffd")
    return text.encode("utf-8", "replace")


def _is_utf8(sample: Sample) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample.data, final=sample.whole)
    except UnicodeDecodeError:
        return False
    return True


def _not_utf8(sample: Sample, records: bool) -> Verdict:
    data = sample.data
    if utf16 := _utf16_without_mark(data):
        return utf16
    text = data.decode("utf-8", "surrogateescape")
    bad = len(_BAD_BYTE.findall(text))
    good = sum(map(len, _BEYOND_ASCII.findall(text)))
    if good <= bad and bad > (_FEW_IN_RECORDS if records else 0) and (guess := _legacy(sample)):
        return guess
    if data.count(b"\0") * 4 > len(data):
        return Verdict("", 0.0, f"undecodable: is binary data, or damaged UTF-16; {_ADVICE}")
    if records or good > bad or bad * _FEW <= len(data):
        return Verdict("utf-8", good / (good + bad) if good else 0.5)
    return Verdict("", 0.0, f"undecodable: is not UTF-8, and nothing else fits for sure; {_ADVICE}")


def _legacy(sample: Sample) -> Verdict | None:
    from mrprep.sources import charsets

    name, confidence = charsets.detect(sample.data, sample.whole)
    return Verdict(name, confidence) if name else None


def _utf16_without_mark(data: bytes) -> Verdict | None:
    """Return UTF-16 if one byte order makes usual characters of nearly all, and the other does not."""
    head = data[: min(len(data), 1 << 16) & ~1]
    shares = {}
    for name in ("utf-16-le", "utf-16-be"):
        text = head.decode(name, "replace")
        usual = len(_USUAL_UTF16.findall(text)) / max(len(text), 1)
        shares[name] = usual if len(_COMMON.findall(text)) * 50 >= len(text) else 0.0
    name, other = sorted(shares, key=lambda each: -shares[each])
    if len(head) >= 16 and shares[name] >= 0.98 and shares[other] < 0.9:
        return Verdict(name, shares[name])
    return None


def _seven_bit(data: bytes) -> Verdict | None:
    """Return hz or ISO-2022 if an ASCII file has their escapes and decodes to mostly CJK by them."""
    for escape, name in _SEVEN_BIT.items():
        if escape in data and data.isascii():
            text = data[: data.rfind(b"\n") + 1 or None].decode(name, "replace")
            cjk = len(re.findall("[\u3000-\u9fff\uac00-\ud7a3\uff00-\uffef]", text))
            if "\ufffd" not in text and cjk >= 8 and cjk * 2 > len(re.sub(r"\s", "", text)):
                return Verdict(name, 0.95)
    return None
