"""Statistics of plausible text, packaged as `model.npz` (made by `bench/filter_model.py`): tables of bits and counts.

No text can be read out of it: words and pairs of ideographs are known by hashes only, letters by the frequencies of
three in a row. The idea is CCNet's (Wenzek et al. 2020), which drops text that a language model finds unlikely; tables
that are looked up for whole batches take the place of the model.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

WORD_BITS, PAIR_BITS, WORD_PAIR_BITS, TRIPLE_BITS = 20, 21, 21, 22
ENGLISH, FOREIGN, SMALL, ENGLISH_ONLY, FILLER, PINYIN, REVERSED = 1, 2, 4, 8, 16, 32, 64
"""Flags of a word: in the English vocabulary, in another's; a small English word, one that no other language has; of
*lorem ipsum*, a Pinyin syllable, a small English word spelt backwards."""
_FLAGGED = {SMALL: "common", ENGLISH_ONLY: "english_only", FILLER: "filler", PINYIN: "pinyin", REVERSED: "reversed"}
_HAN_FIRST, _HAN_LAST = 0x3400, 0x9FFF
_LETTERS = 27
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


class Bits:
    """A set of hashes, a bit for each that there could be: small enough to stay in a cache while texts are looked at.

    Args:
        packed: the bits, the highest of each byte first, uint8[n / 8].
    """

    def __init__(self, packed: npt.NDArray[np.uint8]) -> None:
        self._packed = packed

    def hold(self, hashes: npt.NDArray[np.int64] | npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
        """Tell of each hash whether it is in the set."""
        found = self._packed.take(hashes >> 3, mode="wrap")  # the fastest mode; no hash is beyond the bits
        found >>= (~hashes & 7).astype(np.uint8)
        found &= 1
        return found.view(np.bool_)


@dataclass(frozen=True, slots=True)
class Model:
    """What is known of plausible text."""

    words: npt.NDArray[np.uint8]
    """Flags of the word with each hash: uint8[2 ** WORD_BITS]."""
    small: npt.NDArray[np.uint32]
    """Sorted hashes of the small words of many languages."""
    languages: npt.NDArray[np.bool_]
    """Which language each of these is a small word of: bool[len(small), languages]."""
    letters: npt.NDArray[np.float32]
    """log2 of the share of three letters in a row, over the Latin-script languages: float32[32768]."""
    pairs: Bits
    """Hashes, of PAIR_BITS, of two ideographs that often follow each other."""
    word_pairs: Bits
    """Hashes, of WORD_PAIR_BITS, of two English words that often follow each other."""
    triples: Bits
    """Hashes, of TRIPLE_BITS, of three ideographs that often follow each other."""
    fold: npt.NDArray[np.uint16]
    """Simplified forms of the basic plane's ideographs, 0 for what is no ideograph: uint16[65536]."""


@cache
def model() -> Model:
    """Return the packaged statistics; 12 ms and 3 MB, once a process."""
    with np.load(Path(__file__).with_name("model.npz"), allow_pickle=False) as held:
        words = np.unpackbits(held["english"]) | (np.unpackbits(held["foreign"]) << np.uint8(1))
        for flag, name in _FLAGGED.items():
            words[held[name]] |= flag
        languages = np.unpackbits(held["languages"], axis=1).astype(bool)
        fold = np.zeros(1 << 16, np.uint16)
        fold[_HAN_FIRST : _HAN_LAST + 1] = np.arange(_HAN_FIRST, _HAN_LAST + 1)
        fold[held["traditional"]] = held["simplified"]
        letters = held["letters"].astype(np.float32) / -8
        pairs, word_pairs, triples = (Bits(held[name]) for name in ("pairs", "word_pairs", "triples"))
        return Model(words, held["small"], languages, letters, pairs, word_pairs, triples, fold)


def hash_words(head: npt.NDArray[np.uint64], tail: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return the hashes, of WORD_BITS, of words given by their first 8 and next 8 bytes of UTF-8 (little-endian)."""
    mixed = head * _FIRST
    mixed ^= mixed >> np.uint64(29)
    mixed += tail * _SECOND
    mixed ^= mixed >> np.uint64(32)
    mixed *= _FIRST
    mixed >>= np.uint64(64 - WORD_BITS)
    return mixed.view(np.int64)


def hash_pairs(first: npt.NDArray[np.uint16], second: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint32]:
    """Return the hashes, of PAIR_BITS, of two folded ideographs each."""
    mixed = (first.astype(np.uint32) << np.uint32(16)) | second
    mixed *= np.uint32(0x9E3779B1)
    mixed ^= mixed >> np.uint32(15)
    mixed *= np.uint32(0x85EBCA77)
    return mixed >> np.uint32(32 - PAIR_BITS)


def hash_triples(
    first: npt.NDArray[np.uint16], second: npt.NDArray[np.uint16], third: npt.NDArray[np.uint16]
) -> npt.NDArray[np.int64]:
    """Return the hashes, of TRIPLE_BITS, of three folded ideographs each."""
    mixed = (first.astype(np.uint64) << np.uint64(32)) | (second.astype(np.uint64) << np.uint64(16)) | third
    return _mixed(mixed, TRIPLE_BITS)


def hash_word_pairs(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the hashes, of WORD_PAIR_BITS, of two words each, given by theirs."""
    keys = first.view(np.uint64) << np.uint64(32)
    keys |= second.view(np.uint64)
    return _mixed(keys, WORD_PAIR_BITS)


def _mixed(keys: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.int64]:
    """Return the upper bits of keys stirred up; the keys are written over."""
    keys *= _FIRST
    keys ^= keys >> np.uint64(29)
    keys *= _SECOND
    keys >>= np.uint64(64 - bits)
    return keys.view(np.int64)


def letter_classes(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint16]:
    """Return 1 to 26 for Latin letters without their accents, 0 for all else."""
    return _letters().take(codes)


def trigrams(codes: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.bool_]]:
    """Return each three characters in a row as a row of `Model.letters`, and whether the middle one is a letter."""
    classes = letter_classes(codes)
    rows: npt.NDArray[np.uint16] = classes[:-2] * np.uint16(1 << 10) + classes[1:-1] * np.uint16(1 << 5) + classes[2:]
    return rows, classes[1:-1] > 0


@cache
def _letters() -> npt.NDArray[np.uint16]:
    import unicodedata

    table = np.zeros(0x110000, np.uint16)
    for code in (*range(0x250), *range(0x1E00, 0x1F00)):
        base = unicodedata.normalize("NFD", chr(code).lower())[0]
        if "a" <= base <= "z":
            table[code] = ord(base) - ord("a") + 1
    for char, base in zip("ßæøđðþłıœ", "saoddtlio", strict=True):
        table[ord(char)] = ord(base) - ord("a") + 1
    return table
