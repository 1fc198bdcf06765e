"""The share of duplicates in a corpus, as far as a sample can tell.

A pair is in a sample of share p with probability p squared, so a small sample sees few pairs and the range is wide:

- at least: documents in sampled clusters, less what they would be if each cluster were in the sample whole. It is 1
  minus the upper bound on distinct values of Charikar, Chaudhuri, Motwani and Narasayya 2000 ("Towards estimation
  error guarantees for distinct values"), f1 / p + f2 + f3 + ..., lowered by the spread of the clusters seen;
- at most: pairs, which are never fewer than the documents that go, with their Poisson bound.

A sample that is the whole corpus gives the exact share.
"""

from collections.abc import Sequence

import numpy as np

from mrprep.estimate.ranges import Range, poisson_bounds
from mrprep.estimate.sample import Sample
from mrprep.minhash.search import near_duplicates
from mrprep.order import I64
from mrprep.stages import dedupe

_WHOLE = 0.9999


def share(sample: Sample, texts: Sequence[str], options: dedupe.Options) -> Range:
    """Return the share of the documents that dedupe would take out.

    Args:
        sample: of which the texts are.
        texts: cleaned, of the drawn documents that pass the filter; of long ones their first stretch.
        options: threshold and method of dedupe.
    """
    if len(texts) < 2:
        return Range(0.0, 0.0, 1.0)
    sizes = _cluster_sizes(texts, options)
    drawn = sample.share * sample.read_share
    documents = len(texts)
    removed = float((sizes - 1).sum())
    if drawn >= _WHOLE:
        return Range.exact(removed / documents)
    several = sizes[sizes > 1]
    least, _ = poisson_bounds(several.size)
    seen = float(several.sum() - drawn * several.size) / documents
    low = seen * least / max(1, several.size)
    pairs = int((several * (several - 1) // 2).sum())
    _, most = poisson_bounds(pairs)
    high = min(1.0, most / drawn / documents)  # most / drawn^2 pairs among documents / drawn
    mid = min(max(low, pairs / drawn / documents), high)
    return Range(low, mid, high)


def _cluster_sizes(texts: Sequence[str], options: dedupe.Options) -> I64:
    """Return how many of the texts each cluster has, exact copies and near ones."""
    _, first, which = np.unique(np.array(texts, object), return_index=True, return_inverse=True)
    distinct = [texts[index] for index in first]
    found = near_duplicates(
        distinct, options.threshold, ngram=options.ngram, recall=options.recall, permutations=options.permutations
    )
    sizes: I64 = np.unique(found.labels[which], return_counts=True)[1].astype(np.int64)
    return sizes
