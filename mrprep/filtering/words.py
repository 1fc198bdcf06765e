"""The words of a batch's Latin texts, known by hashes: how many are in a vocabulary, how many are small words.

Words are runs of letters in the first `_BYTES` bytes of a text. All looks are taken for the whole batch: a word is
two loads of eight bytes, so it costs some 60 ns and no character is looked at by itself.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mrprep.filtering.batch import Batch, Column, Mask
from mrprep.filtering.model import ENGLISH, FOREIGN, SMALL, hash_word_pairs, hash_words, model, trigrams

_BYTES = 3000
_LOWER = bytes(
    code if 97 <= code <= 122 or code >= 128 else code + 32 if 65 <= code <= 90 else 0 for code in range(256)
)
_WIDTH = 8
_LANES = 4
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(_WIDTH + 1)], np.uint64)
_BEYOND_ASCII = np.uint64(0x8080808080808080)
_LEAST_LETTERS = 3
_APART, _DISTANCES, _LEAST_ORDERED = 4, 8, 60
_LOWER_CASE = 97
_OPENS = np.isin(np.arange(256), list(b" \n\t(\"'"))
"""Bytes that stand before words, not before parts of names and paths."""
_MARK, _OPENER, _FIGURE, _CAPITAL, _SMALL_LETTER = 1, 2, 3, 4, 5
_BYTE_KINDS = np.zeros(256, np.uint8)
"""What a byte is among words: a stray mark, one that stands for a letter, a digit, a letter."""
_BYTE_KINDS[list(b"!;$*`{}\\+%&")] = _MARK
_BYTE_KINDS[list(b"|^~")] = _OPENER
_BYTE_KINDS[ord("0") : ord("9") + 1] = _FIGURE
_BYTE_KINDS[ord("A") : ord("Z") + 1] = _CAPITAL
_BYTE_KINDS[ord("a") : ord("z") + 1] = _SMALL_LETTER

Shares = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Words:
    """Columns with an entry a text; zeros for those that are not Latin."""

    count: Column
    """Words."""
    small: Column
    """Small English words: the, of, and …"""
    english_only: Column
    """Those of them that no other language has."""
    single: Column
    """Words of one letter."""
    capital: Column
    """Words that begin with a capital and go on with a small letter."""
    filler: Column
    """Words of *lorem ipsum*."""
    pinyin: Column
    """Syllables of Pinyin of two letters and more."""
    reversed: Column
    """Small English words spelt backwards."""
    judged: Column
    """Words of three ASCII letters and more that begin with a small letter after a blank: no names or paths."""
    unknown: Column
    """Judged words that are in no vocabulary."""
    unknown_after_known: Column
    """Unknown words that follow a known one, both judged."""
    known_or_unknown: Column
    """Judged words that follow a judged one."""
    specks: Column
    """Digits and stray marks between a letter and a small letter, and bars and carets before two small letters."""
    hashes: npt.NDArray[np.int64]
    """Of all words, in their order."""
    lengths: Column
    """Bytes of all words."""
    starts: Column
    """Where the words of each text begin among them, and where the last end: int64[texts + 1]."""


def words_of(batch: Batch) -> Words:
    """Return the words of a batch, looked at once."""
    return batch.once(_look)


def _look(batch: Batch) -> Words:
    texts = len(batch.texts)
    latin = np.flatnonzero((batch.latin * 2 >= batch.inked) & (batch.wide * 10 <= batch.inked) & (batch.inked > 0))
    if not latin.size:
        return _none(texts)
    encoded = [batch.samples[index][:_BYTES].encode("utf-8", "surrogatepass") for index in latin.tolist()]
    raw = b" ".join([b"", *encoded, b" " * (2 * _WIDTH)])
    sizes = np.zeros(texts, np.int64)
    sizes[latin] = [len(data) + 1 for data in encoded]
    lowered = raw.translate(_LOWER)
    starts, ends = _runs(np.frombuffer(lowered, np.uint8) > 0)
    bounds = np.searchsorted(starts, np.concatenate([[0], np.cumsum(sizes)]))
    lengths = ends - starts
    head, tail = _loads(lowered, starts, lengths)
    hashes = hash_words(head, tail)
    flags = model().words.take(hashes)
    codes = np.frombuffer(raw, np.uint8)
    initial, after = codes.take(starts), codes.take(starts + 1)
    judged = _OPENS.take(codes.take(starts - 1)) & (lengths >= _LEAST_LETTERS) & (initial >= _LOWER_CASE)
    judged &= ((head | tail) & _BEYOND_ASCII) == 0
    unknown = judged & ((flags & (ENGLISH | FOREIGN)) == 0)
    titled = (initial <= ord("Z")) & (after >= _LOWER_CASE) & (lengths > 1)
    follows = np.zeros(len(starts) + 1, bool)
    np.logical_and(judged[1:], judged[:-1], out=follows[1:-1])
    follows[bounds] = False
    turned = follows[:-1] & unknown
    turned[1:] &= ~unknown[:-1]
    small, english_only, filler, pinyin, backwards = _count(flags >> np.uint8(2), 5, bounds)
    shapes = _packed(judged, unknown, lengths == 1, titled)
    judged_words, unknown_words, single, capital = _count(shapes, 4, bounds)
    known_or_unknown, unknown_after_known = _count(_packed(follows[:-1], turned), 2, bounds)
    return Words(
        count=np.diff(bounds),
        small=small,
        english_only=english_only,
        single=single,
        capital=capital,
        filler=filler,
        pinyin=pinyin,
        reversed=backwards,
        judged=judged_words,
        unknown=unknown_words,
        unknown_after_known=unknown_after_known,
        known_or_unknown=known_or_unknown,
        specks=_specks(np.frombuffer(raw, np.uint8), np.cumsum(sizes)),
        hashes=hashes,
        lengths=lengths,
        starts=bounds,
    )


def _none(texts: int) -> Words:
    none = np.zeros(texts, np.int64)
    starts = np.zeros(texts + 1, np.int64)
    return Words(
        none, none, none, none, none, none, none, none, none, none, none, none, none, none[:0], none[:0], starts
    )


def _specks(raw: npt.NDArray[np.uint8], bounds: Column) -> Column:
    """Return how many specks stand in each text, given the bytes of all and where each ends."""
    kinds = _BYTE_KINDS.take(raw)
    middle = kinds[1:-2]
    speck = np.flatnonzero((middle > 0) & (middle < _CAPITAL) & (kinds[2:-1] == _SMALL_LETTER)) + 1
    kind = kinds[speck]
    inside = kinds[speck - 1] >= _CAPITAL
    opening = (kinds[speck + 2] == _SMALL_LETTER) & (kind == _OPENER)
    owners = np.searchsorted(bounds, speck[inside | opening], side="right")
    return np.bincount(np.minimum(owners, bounds.size - 1), minlength=bounds.size)


def _packed(*flags: Mask) -> npt.NDArray[np.uint8]:
    """Return numbers with a bit for each flag, the first the lowest."""
    packed = flags[0].view(np.uint8).copy()
    for bit, flag in enumerate(flags[1:], start=1):
        packed |= flag.view(np.uint8) << np.uint8(bit)
    return packed


def _count(flags: npt.NDArray[np.uint8], bits: int, bounds: Column) -> list[Column]:
    """Return how many words of each text have each of some flags.

    Four flags are added up at a time, in lanes of 16 bits: a text has fewer than 2^16 words here, and what runs over
    from lane to lane in the sums is gone from their differences.
    """
    counts: list[Column] = []
    values = np.arange(1 << bits, dtype=np.uint64)
    for first in range(0, bits, _LANES):
        lanes = range(min(_LANES, bits - first))
        table = np.zeros(1 << bits, np.uint64)
        for lane in lanes:
            table |= (values >> np.uint64(first + lane) & np.uint64(1)) << np.uint64(16 * lane)
        sums = np.zeros(len(flags) + 1, np.uint64)
        np.cumsum(table.take(flags), out=sums[1:])
        found = np.diff(sums.take(bounds))
        counts += [(found >> np.uint64(16 * lane) & np.uint64(0xFFFF)).astype(np.int64) for lane in lanes]
    return counts


def _runs(inside: Mask) -> tuple[Column, Column]:
    """Return where runs of True begin and end; the first and the last entry are False."""
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    return edges[::2], edges[1::2]


def _loads(data: bytes, starts: Column, lengths: Column) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the first and the next eight bytes of each word, zeros beyond its end."""
    windows: npt.NDArray[np.uint64] = np.ndarray((max(1, len(data) - _WIDTH + 1),), "<u8", data, strides=(1,))
    head = windows.take(starts) & _MASKS.take(np.minimum(lengths, _WIDTH))
    tail = np.zeros_like(head)
    long = np.flatnonzero(lengths > _WIDTH)
    tail[long] = windows.take(starts[long] + _WIDTH) & _MASKS.take(np.minimum(lengths[long] - _WIDTH, _WIDTH))
    return head, tail


def known_neighbours(batch: Batch) -> Shares:
    """Return the share of neighbours in each text that are known pairs of English words; 1 for too few words."""
    words, texts = words_of(batch), len(batch.texts)
    if not words.hashes.size:
        return np.ones(texts)
    known = np.zeros(words.hashes.size + 1, np.int64)
    known[1:-1] = model().word_pairs.take(hash_word_pairs(words.hashes[:-1], words.hashes[1:]))
    sums = np.concatenate([[0], np.cumsum(known[1:])])
    found = sums[words.starts[1:]] - sums[words.starts[:-1]]
    return np.where(words.count >= _LEAST_ORDERED, found / np.maximum(words.count, 1), 1.0)


def word_order(batch: Batch, index: int, distances: int = _DISTANCES) -> float:
    """Return how much oftener neighbours in a text are known pairs of English words than words 4 to 11 apart.

    Fewer ``distances`` than these eight cost less and tell less. 0 is for shuffled words, 1 if all
    neighbours are known.
    """
    words = words_of(batch)
    hashes = words.hashes[words.starts[index] : words.starts[index + 1]]
    near, *far = (
        float(model().word_pairs.take(hash_word_pairs(hashes[:-apart], hashes[apart:])).mean())
        for apart in (1, *range(_APART, _APART + distances))
    )
    chance = sum(far) / len(far)
    return (near - chance) / (1.001 - chance)


def english_share(batch: Batch, index: int) -> float:
    """Return the share of a text's words that are in the English vocabulary."""
    words = words_of(batch)
    hashes = words.hashes[words.starts[index] : words.starts[index + 1]]
    return float(((model().words.take(hashes) & ENGLISH) > 0).mean())


def small_share(batch: Batch, index: int, foreign: bool = False) -> float:
    """Return the share of small words in a text, in the language of which it has most.

    With ``foreign``, of those of two letters and more that are no small words of English.
    """
    words, known = words_of(batch), model()
    span = slice(words.starts[index], words.starts[index + 1])
    hashes = words.hashes[span]
    if foreign:
        hashes = hashes[(words.lengths[span] > 1) & ((known.words[hashes] & SMALL) == 0)]
    at = np.minimum(np.searchsorted(known.small, hashes), len(known.small) - 1)
    rows = at[known.small[at] == hashes]
    return float(known.languages[rows].sum(axis=0).max(initial=0)) / max(1, int(words.count[index]))


def letter_odds(sample: str) -> float:
    """Return the mean log2 frequency of three letters in a row."""
    codes = np.frombuffer(sample[:_BYTES].encode("utf-32-le", "surrogatepass"), np.uint32)
    rows, inside = trigrams(codes)
    found = model().letters.take(rows[inside])
    return float(found.mean()) if found.size else 0.0
