"""Decides a file's encoding once, from samples of it; unsure is said, never guessed.

UTF-8 first, then byte order marks, UTF-16 without one, 7-bit encodings of Chinese and Japanese, and the
legacy encodings of ``charsets``. Files of other encodings are read as UTF-8 after a transcoding stream.
"""

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from mrprep.sources.files import UnreadableError
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
_MARKED = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}
"""Encodings that say their byte order by a mark."""
_CONTROLS = bytes(set(range(32)) - set(b"\a\b\t\n\v\f\r\x1b"))
"""What no text has many of."""
_RECORD = re.compile(rb"^[ \t]*[{\[][ \t]*[\"{]", re.MULTILINE)
_ALPHABETS = frozenset(range(0x03, 0x18)) - {0x07, 0x08, 0x11}
"""High bytes of UTF-16 for blocks of letters, Greek to Khmer."""
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
        told: what the source says: ``auto``, or a name, which is then taken for right; of UTF-16 and UTF-32
            without a mark the byte order is looked for.
        records: it is JSON by lines, where what does not decode costs its line and never the file.
    """
    data = sample.data
    if told != "auto":
        return _told(data, told)
    for mark, name in _BOMS.items():
        if data.startswith(mark):
            return Verdict(name, 1.0)
    if seven_bit := _seven_bit(data):
        return seven_bit
    if b"\0" in data or _is_binary(data) or not _is_utf8(sample):
        return _not_utf8(sample, records)
    return Verdict("utf-8", 1.0)


def transcoded(blocks: Iterable[bytes], name: str, found: Found) -> Iterator[bytes]:
    """Yield a stream in another encoding as UTF-8; what cannot be decoded becomes U+FFFD, counted.

    Raises:
        UnreadableError: the encoding has errors that cannot be replaced, and here is one.
    """
    decoder = codecs.getincrementaldecoder(name)("replace")
    for block in blocks:
        yield _utf8(_decoded(decoder, block), found)
    if rest := _decoded(decoder, b"", final=True):
        yield _utf8(rest, found)


def _decoded(decoder: codecs.IncrementalDecoder, block: bytes, final: bool = False) -> str:
    try:
        return decoder.decode(block, final)
    except UnicodeError as error:
        raise UnreadableError(f"cannot be decoded: {error}; {_ADVICE}") from None


def _utf8(text: str, found: Found) -> bytes:
    found.replaced += text.count("\ufffd")
    return text.encode("utf-8", "replace")


def _told(data: bytes, name: str) -> Verdict:
    """Return the encoding that a source is said to have, with its byte order if that is to be seen."""
    if not data or name not in _MARKED or data.startswith(_MARKED[name]):
        return Verdict(name, 1.0)
    head = data[: min(len(data), 1 << 16) & ~3] or data
    if name == "utf-16":
        found = _utf16_without_mark(data) or _likelier_utf16(head)
    else:
        sound = [order for order in ("utf-32-le", "utf-32-be") if _is_sound(head, order)]
        found = Verdict(sound[0], 1.0) if len(sound) == 1 else None
    advice = f"set encoding = to {name}-le or {name}-be, or convert it to UTF-8"
    return found or Verdict("", 0.0, f"undecodable: has no byte order mark, and does not look like {name}; {advice}")


def _is_sound(data: bytes, name: str) -> bool:
    try:
        data.decode(name)
    except UnicodeDecodeError:
        return False
    return True


def _is_binary(data: bytes) -> bool:
    """Return whether more than a tenth of it are control characters."""
    return (len(data) - len(data.translate(None, _CONTROLS))) * 10 > len(data)


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
    by_lines = records and _RECORD.search(data) is not None
    if _is_binary(data) and not by_lines:
        return Verdict("", 0.0, f"undecodable: is binary data, or UTF-16 that is damaged or unsure; {_ADVICE}")
    text = data.decode("utf-8", "surrogateescape")
    bad = len(_BAD_BYTE.findall(text))
    good = sum(map(len, _BEYOND_ASCII.findall(text)))
    if good <= bad and bad > (_FEW_IN_RECORDS if records else 0) and (guess := _legacy(sample)):
        return guess
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
    if len(head) < 16:
        return None
    best, other = _utf16_orders(head)
    if best.confidence >= 0.98 and other.confidence < 0.9:
        return best
    return _utf16_of_one_alphabet(head)


def _likelier_utf16(head: bytes) -> Verdict | None:
    """Return the likelier byte order of what is UTF-16 for sure."""
    best, other = _utf16_orders(head[: len(head) & ~1])
    return best if best.confidence >= other.confidence + 0.1 else None


def _utf16_orders(head: bytes) -> list[Verdict]:
    """Return both byte orders and their shares of usual characters, the greater first."""
    orders = []
    for name in ("utf-16-le", "utf-16-be"):
        text = head.decode(name, "replace")
        usual = len(_USUAL_UTF16.findall(text)) / max(len(text), 1)
        orders.append(Verdict(name, usual if len(_COMMON.findall(text)) * 50 >= len(text) else 0.0))
    return sorted(orders, key=lambda order: -order.confidence)


def _utf16_of_one_alphabet(head: bytes) -> Verdict | None:
    """Return UTF-16 if every second byte, nearly, is the same: the high one of an alphabet without spaces."""
    for name, high, low in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        [(block, count)] = Counter(high).most_common(1)
        [(_, most)] = Counter(low).most_common(1)
        if block in _ALPHABETS and count >= 0.8 * len(high) and most * 3 <= len(low) and len(set(low)) >= 12:
            text = head.decode(name, "replace")
            odd = [char for char in text if char == "\ufffd" or unicodedata.category(char) in {"Cn", "Co", "Cs"}]
            return Verdict(name, count / len(high)) if len(odd) * 100 <= len(text) else None
    return None


def _seven_bit(data: bytes) -> Verdict | None:
    """Return hz or ISO-2022 if an ASCII file has their escapes and decodes to mostly CJK by them."""
    for escape, name in _SEVEN_BIT.items():
        if escape in data and data.isascii() and b"\0" not in data:
            text = data[: data.rfind(b"\n") + 1 or None].decode(name, "replace")
            cjk = len(re.findall("[\u3000-\u9fff\uac00-\ud7a3\uff00-\uffef]", text))
            if "\ufffd" not in text and cjk >= 8 and cjk * 2 > len(re.sub(r"\s", "", text)):
                return Verdict(name, 0.95)
    return None
