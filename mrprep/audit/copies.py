"""How much of the sampled text stands elsewhere in train: repeats within train, and what of valid leaked into it.

Text is told by n-grams of 13 tokens; of these, those whose hash ends in two zero bits are kept. A sample alone would
hardly ever hold both of two copies, so after the look at the sample all of train is scanned, up to a budget of
tokens, for the n-grams of the sampled rows: 20 Mtok/s. A stretch of a document is a copy when most of its n-grams
stand elsewhere too. Kept are 24 bytes an n-gram, of at most 4 million.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from mrprep.audit.block import I32, Block, Example, Mask
from mrprep.audit.finding import Finding, Tally, grade
from mrprep.minhash.shingles import shingle_hashes
from mrprep.order import I64, U64, mix

_NGRAM = 13
_KEEP = np.uint64(3)
_MOST = {"train": 3 << 20, "valid": 1 << 20}
"""N-grams kept of each split."""
_LEAST = 8
"""Kept n-grams that a stretch must have to be judged: some 44 tokens."""
_COPY = 0.7
"""Share of a stretch's n-grams that stand elsewhere, from which on it is a copy: what two texts of Jaccard 0.8 with
scattered changes have. News that repeat older news, and variants of a poem, have half of them."""
_STRETCH = 4 << 20
"""Tokens hashed at a time."""


class Copies:
    """What of the sample stands elsewhere in train.

    Args:
        repeated: shares of the tokens of train at which repeats are a warning and a failure.
        leaked: shares of the tokens of valid that stand in train at which they are.
        weights: of sources by name; repeats of one of more than 1 are meant.
    """

    def __init__(
        self, repeated: tuple[float, float], leaked: tuple[float, float], weights: Mapping[str, float]
    ) -> None:
        self._limits = {"train": repeated, "valid": leaked}
        self._weights = weights
        self._hashes: list[U64] = []
        self._stretches: list[I64] = []
        self._rows: list[I64] = []
        self._number = self._row = 0
        self._examples: list[Example] = []
        self._of_train: list[bool] = []
        self._sampled: dict[str, I64] = {}
        self._left = dict(_MOST)
        self._index: _Index | None = None
        self.looked = 0.0
        """Share of the rows of train that were scanned."""

    def see(self, block: Block) -> None:
        """Take in a block, while n-grams of its split are wanted."""
        if not self._left.get(block.split):
            return
        if block.split == "train":
            before = self._sampled.get(block.shard, np.zeros(0, np.int64))
            self._sampled[block.shard] = np.concatenate([before, block.rows])
        row, at, hashes = _kept(block.tokens)
        owner = block.owner[row, at]
        inside = (owner >= 0) & (owner == block.owner[row, at + _NGRAM - 1]) & self._wanted(block)[owner]
        taken = np.flatnonzero(inside)[: self._left[block.split]]
        self._left[block.split] -= taken.size
        self._hashes.append(hashes[taken])
        self._stretches.append(owner[taken].astype(np.int64) + self._number)
        self._rows.append(row[taken] + self._row)
        self._number += len(block.decoded)
        self._row += block.rows.size
        self._examples += [block.example(stretch) for stretch in range(len(block.decoded))]
        self._of_train += [block.split == "train"] * len(block.decoded)

    def _wanted(self, block: Block) -> Mask:
        names, codes = block.sources()
        meant = np.array([self._weights.get(name, 1.0) > 1 for name in names], bool)
        return np.append(~meant[codes], False)  # the last place: no stretch

    def scan(self, shard: str, first: int, tokens: I32) -> None:
        """Look through rows of a shard of train, ``first`` and those after it, for what the sample has."""
        if self._index is None:
            self._index = self._indexed()
        own = self._sampled.get(shard, np.zeros(0, np.int64))
        others = np.setdiff1d(np.arange(len(tokens)), own - first)
        row, _, hashes = _kept(tokens[others])
        self._index.count(hashes, f"{_stem(shard)}:", first + others[row])

    def _indexed(self) -> "_Index":
        index = _Index(np.unique(np.concatenate([np.zeros(0, np.uint64), *self._hashes])))
        index.times += np.bincount(self._places(index)[self._train_entries()], minlength=index.hashes.size)
        return index

    def _places(self, index: "_Index") -> I64:
        places: I64 = index.hashes.searchsorted(np.concatenate([np.zeros(0, np.uint64), *self._hashes]))
        return places

    def _train_entries(self) -> Mask:
        stretch = np.concatenate([np.zeros(0, np.int64), *self._stretches])
        of_train: Mask = np.array([*self._of_train, False], bool).take(stretch)
        return of_train

    def findings(self) -> Iterator[Finding]:
        """Yield a judgement on train, and one on valid where there is such a split; none if nothing was scanned."""
        if not self.looked:
            return
        index = self._index or self._indexed()
        place, train = self._places(index), self._train_entries()
        rows = np.concatenate([np.zeros(0, np.int64), *self._rows])
        own = _own(rows, place) * train
        found = index.times[place] > own
        stretches = np.concatenate([np.zeros(0, np.int64), *self._stretches])
        totals = np.bincount(stretches, minlength=self._number)
        hits = np.bincount(stretches, found, minlength=self._number)
        copied = (totals >= _LEAST) & (hits >= _COPY * totals)
        of_train = np.array(self._of_train, bool)
        first = np.full(self._number, -1, np.int64)
        first[stretches[found]] = place[found]
        for split, mine in (("train", of_train), ("valid", ~of_train)):
            if mine.any():
                tally = Tally()
                bad = np.flatnonzero(copied & mine)
                tally.add(
                    int(totals[bad].sum()), int(totals[mine].sum()), (self._twin(index, s, first) for s in bad.tolist())
                )
                yield self._judged(split, tally)

    def _twin(self, index: "_Index", stretch: int, first: I64) -> Example:
        example, where = self._examples[stretch], index.where(int(first[stretch]))
        return Example(f"{example.row} ~ {where}" if where else example.row, example.place, example.text)

    def _judged(self, split: str, found: Tally) -> Finding:
        share = min(1.0, found.share / self.looked)
        limits = self._limits[split]
        part = "all of train was" if self.looked >= 1 else f"{self.looked:.1%} of train was"
        of = "train" if split == "train" else "valid"
        return found.finding(
            "repeated-text" if split == "train" else "leaked-text",
            grade(share, *limits),
            share,
            limits[0],
            f"{share:.2%} of the text of {of} stands {'elsewhere ' if split == 'train' else ''}in train too ({part} "
            "looked through)",
            "a model learns it by heart: put dedupe into the pipeline, or lower its threshold"
            if split == "train"
            else "the loss on valid will be too good: put dedupe into the pipeline, or, if it is there, lower its "
            "threshold or add the stage paragraphs",
        )


class _Index:
    """Sorted n-grams, how often each was seen, and where first."""

    def __init__(self, hashes: U64) -> None:
        self.hashes = hashes
        self.times = np.zeros(hashes.size, np.int64)
        self._first = np.full(hashes.size, -1, np.int64)
        self._shards: list[str] = []
        self._table = np.zeros(1 << max(10, (hashes.size * 16).bit_length()), bool)
        self._table[self._slot(hashes)] = True

    def _slot(self, hashes: U64) -> U64:
        return (hashes >> np.uint64(2)) & np.uint64(self._table.size - 1)

    def count(self, hashes: U64, shard: str, rows: I64) -> None:
        """Count those that are known."""
        if not self.hashes.size:
            return
        maybe = np.flatnonzero(self._table[self._slot(hashes)])
        place = np.minimum(np.searchsorted(self.hashes, hashes[maybe]), self.hashes.size - 1)
        known = self.hashes[place] == hashes[maybe]
        place, rows = place[known], rows[maybe[known]]
        self.times += np.bincount(place, minlength=self.times.size)
        new = self._first[place] < 0
        if not self._shards or self._shards[-1] != shard:
            self._shards.append(shard)
        self._first[place[new]] = (len(self._shards) - 1 << 40) + rows[new]

    def where(self, place: int) -> str:
        """Return ``SHARD:ROW`` of the first time a known n-gram was seen; empty if it was not."""
        first = int(self._first[place]) if place >= 0 else -1
        return f"{self._shards[first >> 40]}{first & (1 << 40) - 1}" if first >= 0 else ""


def _kept(tokens: I32) -> tuple[I64, I64, U64]:
    """Return row, place and hash of the kept n-grams of rows."""
    if tokens.shape[1] < _NGRAM or not len(tokens):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint64)
    parts = []
    step = max(1, _STRETCH // tokens.shape[1])
    for start in range(0, len(tokens), step):
        some = tokens[start : start + step]
        counts = np.full(len(some), some.shape[1], np.int64)
        hashes, _ = shingle_hashes(mix(some.astype(np.uint64).reshape(-1)), counts, _NGRAM)
        kept = np.flatnonzero((hashes & _KEEP) == 0)
        row, at = np.divmod(kept, some.shape[1] - _NGRAM + 1)
        parts.append((row + start, at, hashes[kept]))
    rows, places, found = (np.concatenate(column) for column in zip(*parts, strict=True))
    return rows, places, found


def _own(rows: I64, place: I64) -> I64:
    """Return how often the n-gram of each entry stands in the entry's own row."""
    order = np.lexsort((place, rows))
    new = np.ones(rows.size, bool)
    new[1:] = (rows[order][1:] != rows[order][:-1]) | (place[order][1:] != place[order][:-1])
    run = np.cumsum(new) - 1
    out = np.empty(rows.size, np.int64)
    out[order] = np.bincount(run)[run] if rows.size else 0
    return out


def _stem(shard: str) -> str:
    return shard.rpartition("/")[2].removesuffix(".mindrecord")
