"""All of it in one call, for texts that fit in memory: which pairs of them are near duplicates."""

from collections.abc import Sequence

import numpy as np

from mrprep.minhash.bands import choose
from mrprep.minhash.buckets import Buckets, merged, same_key
from mrprep.minhash.clusters import components
from mrprep.minhash.documents import Documents
from mrprep.minhash.jaccard import jaccard_of_pairs
from mrprep.minhash.sets import shingle_sets
from mrprep.minhash.sketch import Method, sketch
from mrprep.minhash.verify import Verified, overflow, within_reach
from mrprep.order import I64, U64


def near_duplicates(
    texts: Sequence[str], threshold: float = 0.8, *, ngram: int = 5, recall: float = 0.998, permutations: int = 64
) -> Verified:
    """Return the pairs of texts whose exact Jaccard similarity is at or above ``threshold``.

    Texts with fewer than two different shingles are in no pair; compare those as strings. Of 66 texts or more
    that all resemble each other some pairs are left out: see `verify`. Memory is 8 bytes a shingle of the
    candidates, and 8 bytes a band of each text.

    Args:
        texts: of any length and script; a lone surrogate separates words, as whatever is no letter does.
        threshold: of the similarity, above 0 and at most 1.
        ngram: units in a shingle: words, or characters of scripts without spaces.
        recall: chance that a pair right at the threshold is found; above it it rises.
        permutations: at most as many numbers in a signature.

    Raises:
        TypeError: ``texts`` is one string, or holds what is none.
        ValueError: a number is out of its range, or the permutations do not suffice for the recall.
    """
    if isinstance(texts, str | bytes):
        raise TypeError("texts is one text, not a sequence of them: write [text]")
    if ngram < 1:
        raise ValueError(f"ngram is 1 unit or more, not {ngram}")
    found = sketch(_documents(texts), Method(choose(threshold, recall, permutations), ngram))
    buckets = merged([Buckets(found.banded[same.members], same.starts) for same in map(same_key, found.keys)])
    candidates = np.unique(buckets.members)
    sets, sizes = _sets([texts[number] for number in candidates], ngram)
    local = Buckets(np.searchsorted(candidates, buckets.members), buckets.starts)

    def shingles(which: I64) -> U64:
        return np.concatenate([sets[number] for number in which.tolist()])

    pairs = within_reach(candidates.size, local)
    scores = jaccard_of_pairs(pairs, shingles, sizes, threshold)
    pairs, scores = pairs[scores >= threshold], scores[scores >= threshold]
    missed = overflow(local, np.arange(local.starts.size), components(candidates.size, pairs))
    pairs = candidates[pairs]
    return Verified(pairs, scores, components(len(texts), pairs), missed)


def _documents(texts: Sequence[str]) -> Documents:
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"text {number} is {type(text).__name__}, not str")
    data = [text.encode("utf-8", "replace") for text in texts]
    return Documents(b"".join(data), np.cumsum([0, *map(len, data)]), np.arange(len(texts)))


def _sets(texts: Sequence[str], ngram: int) -> tuple[list[U64], I64]:
    """Return the set of shingles of each text, and their sizes."""
    several = list(shingle_sets(_documents(texts), ngram)) if texts else []
    sizes = np.concatenate([np.empty(0, np.int64), *(sizes for _, sizes in several)])
    flat = np.concatenate([np.empty(0, np.uint64), *(hashes for hashes, _ in several)])
    return np.split(flat, np.cumsum(sizes)[:-1]), sizes
