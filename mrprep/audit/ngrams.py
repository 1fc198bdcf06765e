"""Which phrases fill the corpus: n-grams of 13 units that stand in many documents, joined where they follow each other.

A unit is a word, or a character of a script without spaces (see ``minhash/units.py``). Of each document an n-gram
counts once. 16 bytes an n-gram of the sample are kept, of at most 8 million: of a larger sample those with the
lowest hashes, and the shares are estimates from these. About 60 ns a character.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from mrprep.audit.block import EXCERPT, Block, Example, Mask
from mrprep.audit.finding import EXAMPLES, LEVELS, Finding, grade
from mrprep.minhash.documents import Documents
from mrprep.minhash.shingles import shingle_hashes
from mrprep.minhash.units import located_units
from mrprep.order import I64, U64
from mrprep.printable import printable

NGRAM = 13
_KEPT = 8 << 20
_TEXTS = 4 << 20
"""Characters of sampled text in which phrases are looked for."""
_DOCUMENTS = 3
"""Documents that must have an n-gram, at least."""
_SHARE = 0.01
"""Share of the documents that must have it."""


_ENOUGH = 1000
"""N-grams of a source, before its share says anything."""


@dataclass(frozen=True, slots=True)
class _Phrase:
    weight: int
    """Documents, times n-grams."""
    documents: int
    hashes: U64
    text: str
    example: Example


class Filling:
    """Share of the sampled text in n-grams that many documents have, of all and of each source.

    Args:
        limits: shares at which it is a warning and a failure.
        of_source: the same for a source by itself.
    """

    def __init__(self, limits: tuple[float, float], of_source: tuple[float, float]) -> None:
        self._limits, self._of_source = limits, of_source
        self._hashes, self._times = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        self._below = (1 << 64) - 1
        self._documents = self._characters = 0
        self._texts: list[tuple[str, str, Example]] = []

    def see(self, block: Block) -> None:
        """Take in a block."""
        hashes, counts = ngrams(block.decoded)
        documents = np.repeat(block.stretches.doc, counts)
        order = np.lexsort((hashes, documents))
        hashes, documents = hashes[order], documents[order]
        new = np.ones(hashes.size, bool)
        new[1:] = (hashes[1:] != hashes[:-1]) | (documents[1:] != documents[:-1])
        self._add(hashes[new & (hashes <= np.uint64(self._below))])
        self._documents += np.unique(block.stretches.doc).size
        self._keep_texts(block)

    def _add(self, hashes: U64) -> None:
        unique, place = np.unique(np.concatenate([self._hashes, hashes]), return_inverse=True)
        times = np.concatenate([self._times, np.ones(hashes.size, np.int64)])
        self._hashes, self._times = unique, np.bincount(place, times, unique.size).astype(np.int64)
        while self._hashes.size > _KEPT:
            self._below //= 2
            kept = self._hashes <= np.uint64(self._below)
            self._hashes, self._times = self._hashes[kept], self._times[kept]

    def _keep_texts(self, block: Block) -> None:
        names, codes = block.groups()
        for stretch, text in enumerate(block.decoded):
            if self._characters >= _TEXTS:
                return
            self._characters += len(text)
            self._texts.append((text, names[codes[stretch]], block.example(stretch, "")))

    def findings(self) -> Iterator[Finding]:
        """Yield the judgement."""
        least = max(_DOCUMENTS, int(np.ceil(_SHARE * self._documents)))
        often = self._times >= least
        share = int(self._times[often].sum()) / max(1, int(self._times.sum()))
        hashes, times = self._hashes[often], self._times[often]
        phrases = list(islice(self._phrases(hashes, times), EXAMPLES)) if hashes.size else []
        source, of_source = self._worst_source(hashes)
        level = max(grade(share, *self._limits), grade(of_source, *self._of_source), key=LEVELS.index)
        said = f"; most: {printable(phrases[0].text, 60)!r} in {phrases[0].documents} documents" if phrases else ""
        by = f" ({printable(source, 60)}: {of_source:.1%})" if source and of_source else ""
        yield Finding(
            "filling-ngrams",
            level,
            share,
            self._limits[0],
            f"{share:.2%} of the text{by} is phrases of {NGRAM} words or characters that {least} of the "
            f"{self._documents:,} documents sampled have, or more{said}",
            "" if level == "ok" else "a model learns them by heart: put boilerplate into the stages, or filter them",
            tuple(replace(p.example, text=f"{p.documents}×  {printable(p.text, EXCERPT)}") for p in phrases),
        )

    def _worst_source(self, often: U64) -> tuple[str, float]:
        """Return the source with the largest share of its text in frequent n-grams, and that share."""
        if not often.size:
            return "", 0.0
        hashes, counts = ngrams([text for text, _, _ in self._texts])
        frequent = np.isin(hashes, often)
        ends = np.cumsum(counts)
        hits = np.diff(np.concatenate([[0], np.cumsum(frequent)])[np.concatenate([[0], ends])])
        names = np.array([name for _, name, _ in self._texts])
        shares = {
            str(name): (int(hits[names == name].sum()) / max(1, int(counts[names == name].sum())))
            for name in np.unique(names)
            if counts[names == name].sum() >= _ENOUGH
        }
        worst = max(shares, key=lambda name: shares[name], default="")
        return worst, shares.get(worst, 0.0)

    def _phrases(self, often: U64, times: I64) -> Iterator[_Phrase]:
        """Yield phrases that share no n-gram, those first that fill the most."""
        found = [phrase for text, _, example in self._texts for phrase in _phrases_of(text, example, often, times)]
        told = np.zeros(0, np.uint64)
        for phrase in sorted(found, key=lambda phrase: -phrase.weight):
            if not np.isin(phrase.hashes, told).any():
                told = np.concatenate([told, phrase.hashes])
                yield phrase


def ngrams(texts: Sequence[str], n: int = NGRAM) -> tuple[U64, I64]:
    """Return the n-grams of texts, and how many each text has: none if it is shorter than one."""
    data = [text.encode() for text in texts]
    documents = Documents(b"".join(data), np.cumsum([0, *map(len, data)]), np.arange(len(data)))
    hashes, counts = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for _, batch in documents.batches():
        if batch.long:
            windows = [found for found, _ in batch.windows(n)]
            found = np.concatenate(windows)
            made, units = np.array([found.size]), np.array([found.size + n - 1])
        else:
            found, made, units = batch.shingles(n)
        hashes.append(found[np.repeat(units >= n, made)])
        counts.append(np.where(units >= n, made, 0))
    return np.concatenate(hashes), np.concatenate(counts)


def _phrases_of(text: str, example: Example, often: U64, times: I64) -> Iterator[_Phrase]:
    units, starts = located_units(text.encode())
    if units.size < NGRAM or not often.size:
        return
    hashes, _ = shingle_hashes(units, np.array([units.size]), NGRAM)
    place = np.minimum(np.searchsorted(often, hashes), often.size - 1)
    ends = np.append(starts[1:], len(text))
    for first, last in runs(often[place] == hashes):
        counts = times[place[first:last]]
        phrase = text[starts[first] : ends[last + NGRAM - 2]].strip()
        yield _Phrase(int(counts.sum()), int(counts.max()), hashes[first:last], phrase, example)


def runs(mask: Mask) -> list[tuple[int, int]]:
    """Return where each run of True begins, and where it has ended."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
