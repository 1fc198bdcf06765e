"""The words of a batch's Latin texts, known by hashes: how many are in a vocabulary, how many are small words.

Words are runs of letters in the first `_CHARACTERS` characters of a text. All looks are taken for the whole batch: a
word is two loads of eight bytes, so it costs some 60 ns and no character is looked at by itself.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mrprep.filtering.batch import Batch
from mrprep.filtering.model import (
    ENGLISH,
    ENGLISH_ONLY,
    FILLER,
    FOREIGN,
    PINYIN,
    REVERSED,
    SMALL,
    hash_word_pairs,
    hash_words,
    model,
    trigrams,
)
from mrprep.filtering.tally import Column, Mask, Tally

_CHARACTERS = 3000
_CASE, _ALPHABET, _BEYOND = 32, 26, 128
"""The bit that makes a letter small, letters of ASCII, the first byte that is none of ASCII."""
_WIDTH = 8
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(_WIDTH + 1)], np.uint64)
_BEYOND_ASCII = np.uint64(0x8080808080808080)
_LEAST_LETTERS = 3
_APART, _DISTANCES, _LEAST_ORDERED = 4, 8, 60
_LOWER_CASE = 97
_OPENS = np.isin(np.arange(256), list(b" \n\t(\"'"))
"""Bytes that stand before words, not before parts of names and paths."""
_MARK, _OPENER, _FIGURE, _CAPITAL, _SMALL_LETTER = 1, 2, 3, 4, 5
_THE, _THE_BETWEEN_BLANKS = (np.uint64(int.from_bytes(text, "little")) for text in (b"the", b" the "))
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
    articles: Column
    """``the`` between blanks where it is not the next word too: never more than there are."""
    hashes: npt.NDArray[np.int64]
    """Of all words, in their order."""
    flags: npt.NDArray[np.uint8]
    """What the model says of them."""
    lengths: Column
    """Bytes of all words."""
    starts: Column
    """Where the words of each text begin among them, and where the last end: int64[texts + 1]."""
    tally: Tally
    """Counts words by texts."""


def words_of(batch: Batch) -> Words:
    """Return the words of a batch, looked at once."""
    return batch.once(_look)


def _look(batch: Batch) -> Words:
    latin = np.flatnonzero((batch.latin * 2 >= batch.inked) & (batch.wide * 10 <= batch.inked) & (batch.inked > 0))
    encoded = [_head(batch.samples[index], batch.encoded[index]) for index in latin.tolist()]
    sizes = np.zeros(len(batch.texts) + 1, np.int64)
    sizes[latin + 1] = [len(data) + 1 for data in encoded]
    codes = _padded(encoded)
    small_letters = codes | np.uint8(_CASE)
    ascii_letters = (small_letters - np.uint8(_LOWER_CASE)) < _ALPHABET
    starts, ends = _runs(ascii_letters | (codes >= _BEYOND))
    if not starts.size:
        return _none(len(batch.texts))
    lengths = ends - starts
    bounds = np.searchsorted(starts, np.cumsum(sizes))
    lowered = codes | (ascii_letters.view(np.uint8) * np.uint8(_CASE))
    head, tail = _loads(lowered.view(np.uint64), starts, lengths)
    hashes = hash_words(head, tail)
    flags = model().words.take(hashes)
    before, initial, after = (codes.take(starts + at) for at in (-1, 0, 1))
    judged = _OPENS.take(before) & (lengths >= _LEAST_LETTERS) & (initial >= _LOWER_CASE)
    judged &= ((head | tail) & _BEYOND_ASCII) == 0
    unknown = judged & ((flags & (ENGLISH | FOREIGN)) == 0)
    follows = np.zeros(len(starts) + 1, bool)
    np.logical_and(judged[1:], judged[:-1], out=follows[1:-1])
    follows[bounds] = False
    turned = follows[:-1] & unknown
    turned[1:] &= ~unknown[:-1]
    each = np.diff(bounds)
    count = _tally(each)
    return Words(
        count=each,
        small=count((flags & SMALL) > 0),
        english_only=count((flags & ENGLISH_ONLY) > 0),
        single=count(lengths == 1),
        capital=count((initial <= ord("Z")) & (after >= _LOWER_CASE) & (lengths > 1)),
        filler=count((flags & FILLER) > 0),
        pinyin=count((flags & PINYIN) > 0),
        reversed=count((flags & REVERSED) > 0),
        judged=count(judged),
        unknown=count(unknown),
        unknown_after_known=count(turned),
        known_or_unknown=count(follows[:-1]),
        specks=count(_specked(codes, starts, before, initial)),
        articles=count(_are_articles(codes, starts, head)),
        hashes=hashes,
        flags=flags,
        lengths=lengths,
        starts=bounds,
        tally=count,
    )


def _none(texts: int) -> Words:
    none, starts = np.zeros(texts, np.int64), np.zeros(texts + 1, np.int64)
    no_words = none[:0], none[:0].astype(np.uint8), none[:0], starts, _tally(none)
    return Words(none, none, none, none, none, none, none, none, none, none, none, none, none, none, *no_words)


def _head(sample: str, encoded: bytes) -> bytes:
    """Return the first `_CHARACTERS` characters of a sample in UTF-8, given all of it."""
    return encoded if len(sample) <= _CHARACTERS else sample[:_CHARACTERS].encode("utf-8", "surrogatepass")


def _padded(encoded: list[bytes]) -> npt.NDArray[np.uint8]:
    """Return texts with a line end before each and two loads of blanks and more behind, to a multiple of a load."""
    raw = b"\n".join([b"", *encoded, b" " * (3 * _WIDTH)])
    return np.frombuffer(raw, np.uint8, len(raw) // _WIDTH * _WIDTH)


def _tally(count: Column) -> Tally:
    """Return what counts words by texts, given how many each has."""
    filled = np.flatnonzero(count)
    return Tally(filled, count[filled], len(count))


def _specked(codes: npt.NDArray[np.uint8], starts: Column, *edges: npt.NDArray[np.uint8]) -> Mask:
    """Mark the words before which a speck stands, given the bytes before them and their first ones."""
    before, initial = (_BYTE_KINDS.take(bytes_) for bytes_ in edges)
    speck = np.flatnonzero((before > 0) & (before < _CAPITAL) & (initial == _SMALL_LETTER))
    at, kind = starts[speck], before[speck]
    inside = _BYTE_KINDS.take(codes[at - 2]) >= _CAPITAL
    opening = (_BYTE_KINDS.take(codes[at + 1]) == _SMALL_LETTER) & (kind == _OPENER)
    specked = np.zeros(len(starts), bool)
    specked[speck] = inside | opening
    return specked


def _are_articles(codes: npt.NDArray[np.uint8], starts: Column, head: npt.NDArray[np.uint64]) -> Mask:
    """Mark the words that are ``the`` between blanks, given their first bytes in small letters."""
    the = np.flatnonzero(head == _THE)
    at = starts[the]
    between = (_load(codes.view(np.uint64), at - 1) & _MASKS[len(" the ")]) == _THE_BETWEEN_BLANKS
    between[:-1] &= np.diff(at) > len("the ")
    marks = np.zeros(len(starts), bool)
    marks[the] = between
    return marks


def _runs(inside: Mask) -> tuple[Column, Column]:
    """Return where runs of True begin and end; the first and the last entry are False."""
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    edges += 1
    return edges[::2].copy(), edges[1::2].copy()


def _loads(
    lanes: npt.NDArray[np.uint64], starts: Column, lengths: Column
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the first and the next eight bytes of each word, zeros beyond its end."""
    head = _load(lanes, starts)
    head &= _MASKS.take(lengths, mode="clip")
    tail = np.zeros_like(head)
    long = np.flatnonzero(lengths > _WIDTH)
    tail[long] = _load(lanes, starts[long] + _WIDTH) & _MASKS.take(lengths[long] - _WIDTH, mode="clip")
    return head, tail


def _load(lanes: npt.NDArray[np.uint64], at: Column) -> npt.NDArray[np.uint64]:
    """Return the eight bytes (little-endian) from each place on, of bytes seen as eights."""
    lane = at >> 3
    bits = (at & 7).view(np.uint64)
    bits <<= np.uint64(3)
    low = lanes.take(lane)
    low >>= bits
    lane += 1
    high = lanes.take(lane)
    high <<= np.uint64(64) - bits  # numpy shifts 64 bits out, to 0
    high |= low
    return high


def known_neighbours(batch: Batch) -> Shares:
    """Return the share of neighbours in each text that are known pairs of English words; 1 for too few words."""
    words = words_of(batch)
    known = np.zeros(words.hashes.size + 1, bool)
    known[1:-1] = model().word_pairs.hold(hash_word_pairs(words.hashes[:-1], words.hashes[1:]))
    known[words.starts] = False  # the last word of one text and the first of the next
    found = words.tally(known[:-1])
    return np.where(words.count >= _LEAST_ORDERED, found / np.maximum(words.count, 1), 1.0)


def order_at_a_glance(batch: Batch, asked: Mask) -> Shares:
    """Return for texts of some words `word_order` by neighbours and words 4 apart, which cost less and tell less."""
    words = words_of(batch)
    part, within = words.tally.entries(asked), words.tally.only(asked)
    hashes, owners = words.hashes[part], np.repeat(np.flatnonzero(asked), words.count[asked])

    def known(apart: int) -> Shares:
        pairs = model().word_pairs.hold(hash_word_pairs(hashes[:-apart], hashes[apart:]))
        return within(pairs & (owners[:-apart] == owners[apart:])) / np.maximum(words.count - apart, 1)

    near, chance = known(1), known(_APART)
    return (near - chance) / (1.001 - chance)


def word_order(batch: Batch, index: int) -> float:
    """Return how much oftener neighbours in a text are known pairs of English words than words 4 to 11 apart.

    0 is for shuffled words, 1 if all neighbours are known.
    """
    words = words_of(batch)
    hashes = words.hashes[words.starts[index] : words.starts[index + 1]]
    apart = (1, *range(_APART, _APART + _DISTANCES))
    first = np.concatenate([hashes[:-at] for at in apart])
    second = np.concatenate([hashes[at:] for at in apart])
    pairs = hashes.size - np.array(apart)
    known = model().word_pairs.hold(hash_word_pairs(first, second))
    near, *far = (np.add.reduceat(known, np.cumsum(pairs) - pairs, dtype=np.int64) / pairs).tolist()
    chance = sum(far) / len(far)
    return (near - chance) / (1.001 - chance)


def small_share(batch: Batch, index: int, foreign: bool = False) -> float:
    """Return the share of small words in a text, in the language of which it has most.

    With ``foreign``, of those of two letters and more that are no small words of English.
    """
    words, known = words_of(batch), model()
    span = slice(words.starts[index], words.starts[index + 1])
    hashes = words.hashes[span]
    if foreign:
        hashes = hashes[(words.lengths[span] > 1) & ((words.flags[span] & SMALL) == 0)]
    at = np.minimum(np.searchsorted(known.small, hashes), len(known.small) - 1)
    rows = at[known.small[at] == hashes]
    return float(known.languages[rows].sum(axis=0).max(initial=0)) / max(1, int(words.count[index]))


def letter_odds(sample: str) -> float:
    """Return the mean log2 frequency of three letters in a row."""
    codes = np.frombuffer(sample[:_CHARACTERS].encode("utf-32-le", "surrogatepass"), np.uint32)
    rows, inside = trigrams(codes)
    found = model().letters.take(rows[inside])
    return float(found.mean()) if found.size else 0.0
