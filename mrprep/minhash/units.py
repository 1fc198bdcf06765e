"""Texts -> hashes of their units: a character where words are not spaced, a word elsewhere, in one stream.

A character of Han, kana, Bopomofo, Hangul, Thai, Lao, Khmer, Tibetan or Myanmar, and a private-use character,
is a unit; in other scripts a run of letters, marks and digits (a word) is. For hashing only, width, case and
compatibility forms are folded code point by code point (NFKC and case folding where they give one character),
every decimal digit becomes its ASCII digit, and all else (punctuation, symbols, white space, controls)
separates and is skipped.

Costs about 6 ns a character: a quarter of a million characters at a time, so that arrays stay in cache.
"""

import unicodedata
from bisect import bisect
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mrprep.order import I64, U64

Codes = npt.NDArray[np.uint32] | npt.NDArray[np.uint8]
"""A folded character each; 0 is skipped, the top bit marks a unit of its own."""

BLOCK = 1 << 18
"""Bytes of text in work at a time."""
LONGEST_WORD = 1 << 16
"""A run of letters longer than this may be cut where a block ends."""

_ALONE = 1 << 31
_BASE = 0x9E3779B97F4A7C15 | 1
_ALONE_RANGES = (
    (0x0E00, 0x0FFF),  # Thai, Lao, Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Hangul Jamo
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x312F),  # Han marks and numerals, kana, Bopomofo
    (0x3130, 0x318F),  # Hangul compatibility Jamo
    (0x31A0, 0x31FF),  # Bopomofo and kana extensions
    (0x3400, 0x4DBF),  # Han extension A
    (0x4E00, 0x9FFF),  # Han
    (0xA960, 0xA97F),  # Hangul Jamo extended A
    (0xA9E0, 0xA9FF),  # Myanmar extended B
    (0xAA60, 0xAA7F),  # Myanmar extended A
    (0xAC00, 0xD7FF),  # Hangul
    (0xE000, 0xFAFF),  # private use, Han compatibility
    (0x1AFF0, 0x1B16F),  # kana extensions
    (0x20000, 0x3FFFF),  # Han extensions B and on
    (0xF0000, 0x10FFFF),  # private use
)
_HAN_RANGES = (
    (0x2E80, 0x3007),
    (0x3021, 0x3029),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_ALONE_BOUNDS = [bound for low, high in _ALONE_RANGES for bound in (low, high + 1)]
_UNIFORM = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0xAC00, 0xD7A4), range(0xE000, 0xF900))
"""Whole ranges of the basic plane that fold to themselves and stand alone."""


def unit_hashes(block: bytes, offsets: I64) -> tuple[U64, I64]:
    """Return the hashes of the units of ``n`` texts, and how many units each has.

    The hash of a word is a polynomial of its folded characters modulo 2^64, that of a character by itself
    its code; they are not mixed yet: `shingles.shingle_hashes` does that.

    Args:
        block: the texts in UTF-8, one after the other, together no more than `BLOCK` bytes.
        offsets: int64[n + 1], where each begins and the last one ends.

    Returns:
        hashes uint64[units] in text order; counts int64[n].

    Raises:
        ValueError: the block is too long.
    """
    if len(block) > BLOCK:
        raise ValueError(f"{len(block)} bytes of text at once, at most {BLOCK} are allowed: use unit_blocks")
    found = _hash(_fold(block), _character_offsets(block, offsets[:-1]))
    return found.hashes, np.diff(found.first, append=found.hashes.size)


def unit_blocks(data: bytes | memoryview, start: int, stop: int) -> Iterator[U64]:
    """Yield the hashes of the units of one text of any length, a block at a time.

    A word that a block cuts goes on in the next, so the units are those of `unit_hashes`, except that
    words longer than `LONGEST_WORD` may be cut.

    Args:
        data: UTF-8.
        start: where the text begins in it.
        stop: where it ends.
    """
    for codes in _code_blocks(data, start, stop):
        yield _hash(codes, np.zeros(1, np.int64)).hashes


def located_units(data: bytes) -> tuple[U64, I64]:
    """Return the units of one text of any length, and at which of its characters each begins, uint64 and int64[units].

    Args:
        data: UTF-8.
    """
    hashes, starts = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    done = 0
    for codes in _code_blocks(data, 0, len(data)):
        found = _hash(codes, np.zeros(1, np.int64))
        hashes.append(found.hashes)
        starts.append(found.at + done)
        done += codes.size
    return np.concatenate(hashes), np.concatenate(starts)


def kinds(units: U64) -> npt.NDArray[np.str_]:
    """Return what each unit is, one letter each: w a word, h a Han character, c a character of another script."""
    alone = (units >= _ALONE) & (units < _ALONE << 1)
    points = units & np.uint64(_ALONE - 1)
    han = alone & np.logical_or.reduce([(points >= low) & (points <= high) for low, high in _HAN_RANGES])
    return np.where(han, "h", np.where(alone, "c", "w"))


def _code_blocks(data: bytes | memoryview, start: int, stop: int) -> Iterator[Codes]:
    """Yield the codes of a text, cut where words end."""
    carried: Codes = np.empty(0, np.uint8)
    while start < stop:
        end = min(start + BLOCK, stop)
        while end < stop and data[end] & 0xC0 == 0x80:
            end -= 1
        codes: Codes = np.concatenate([carried, _fold(bytes(data[start:end]))])
        carried = codes[:0]
        if end < stop:
            word = _word_at_end(codes)
            if 0 < word <= LONGEST_WORD:
                codes, carried = codes[:-word], codes[-word:]
        yield codes
        start = end


def _word_at_end(codes: Codes) -> int:
    """Return how many codes at the end are of one word, looking no further than the longest allowed."""
    tail = codes[-LONGEST_WORD - 1 :]
    outside = np.flatnonzero((tail == 0) | (tail >= _ALONE))
    return int(tail.size - 1 - outside[-1]) if outside.size else tail.size


class _Units(NamedTuple):
    hashes: U64
    at: I64
    """The code at which each begins."""
    first: I64
    """Which unit is the first of each text."""


def _hash(codes: Codes, begins: I64) -> _Units:
    """Return the units of texts that begin at those codes."""
    spaced = codes.max(initial=0) < _ALONE
    word = codes != 0 if spaced else codes - np.uint32(1) < np.uint32(_ALONE - 1)
    starts = word.copy()
    np.greater(word[1:], word[:-1], out=starts[1:])
    inside = begins[begins < codes.size]
    starts[inside] = word[inside]
    if spaced:
        at = np.flatnonzero(starts)
        hashes = _word_hashes(codes, at)
    else:
        starts |= codes >= _ALONE
        at = np.flatnonzero(starts)
        hashes, is_word = codes[at].astype(np.uint64), word[at]
        letters = np.flatnonzero(word)
        hashes[is_word] = _word_hashes(codes[letters], np.searchsorted(letters, at[is_word]))
    return _Units(hashes, at, np.searchsorted(at, begins))


def _word_hashes(codes: Codes, starts: I64) -> U64:
    """Return the hashes of the words that begin there; zeros between them do not count."""
    powers, inverses = _powers()
    sums = np.empty(codes.size + 1, np.uint64)
    sums[0] = 0
    np.multiply(codes, powers[: codes.size], out=sums[1:])
    np.cumsum(sums[1:], out=sums[1:])
    hashes: U64 = np.diff(sums[starts], append=sums[-1]) * inverses[starts]
    return hashes


def _fold(block: bytes) -> Codes:
    if block.isascii():
        return np.frombuffer(block.translate(_ascii()), np.uint8)
    points = np.frombuffer(block.decode().encode("utf-32-le"), np.uint32)
    codes: npt.NDArray[np.uint32] = _basic_plane().take(points, mode="clip")
    beyond = np.flatnonzero(points > 0xFFFF)
    if beyond.size:
        rare, which = np.unique(points[beyond], return_inverse=True)
        codes[beyond] = np.array([_code(int(point)) for point in rare], np.uint32)[which]
    return codes


def _character_offsets(block: bytes, offsets: I64) -> I64:
    """Turn offsets in bytes into offsets in characters."""
    if block.isascii():
        return offsets
    inner = np.flatnonzero(np.frombuffer(block, np.int8) < -64)  # bytes of characters after their first
    return offsets - np.searchsorted(inner, offsets)


def _code(point: int) -> int:
    """Return the code of a character: 0 to skip it, else what it folds to, with a top bit if it stands alone."""
    char = chr(point)
    kind = unicodedata.category(char)
    if kind[0] in "PZC" and kind not in ("Co", "Cn"):
        return 0
    if kind == "Nd":
        return ord("0") + unicodedata.decimal(char)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())
    if len(folded) == 1:
        point, kind = ord(folded), unicodedata.category(folded)
    alone = bisect(_ALONE_BOUNDS, point) % 2
    return point | alone * _ALONE if kind[0] in "LMN" or (alone and kind in ("Co", "Cn")) else 0


@cache
def _basic_plane() -> npt.NDArray[np.uint32]:
    """Return the codes of U+0000 to U+FFFF; made once a process, 20 ms."""
    table = np.zeros(0x10000, np.uint32)
    uniform = np.zeros(0x10000, bool)
    for points in _UNIFORM:
        span = slice(points.start, points.stop)
        table[span] = np.arange(points.start, points.stop, dtype=np.uint32) | np.uint32(_ALONE)
        uniform[span] = True
    uniform[0xD800:0xE000] = True
    for point in np.flatnonzero(~uniform):
        table[point] = _code(int(point))
    return table


@cache
def _ascii() -> bytes:
    return bytes(_code(point) for point in range(128)) + bytes(128)


@cache
def _powers() -> tuple[U64, U64]:
    """Return the powers of the base and of its inverse modulo 2^64, for every place in a block."""
    size = BLOCK + LONGEST_WORD + 1
    inverse = pow(_BASE, -1, 1 << 64)
    both = []
    for base in (_BASE, inverse):
        table = np.full(size, base, np.uint64)
        table[0] = 1
        both.append(np.cumprod(table))
    return both[0], both[1]
