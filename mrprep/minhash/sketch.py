"""Documents -> what near-duplicate search keeps of them: their lengths, and the band keys of most."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mrprep.minhash.bands import Banding, band_keys
from mrprep.minhash.documents import Documents
from mrprep.minhash.signatures import Kernel, signatures
from mrprep.order import I64, U64

Flags = npt.NDArray[np.bool_]


class Sketch(NamedTuple):
    """Of ``d`` documents, of which ``k`` have two different shingles or more: the rest go by exact hash only."""

    units: I64
    """int64[d], units in each."""
    banded: I64
    """int64[k], which documents have band keys."""
    keys: U64
    """uint64[bands, k], their keys."""


class Method(NamedTuple):
    """What decides the numbers."""

    banding: Banding
    ngram: int = 5
    seed: int = 1
    kernel: Kernel = "rensa"

    def sign(self, hashes: U64, counts: I64) -> U64:
        """Return signatures that are as long as the bands need them."""
        return signatures(hashes, counts, self.banding.bands * self.banding.rows, self.seed, self.kernel)


def sketch(documents: Documents, method: Method) -> Sketch:
    """Sketch documents, in about 20 MB beside their texts and the sketch."""
    units, banded = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    keys = [np.empty((method.banding.bands, 0), np.uint64)]
    for first, batch in documents.batches():
        signs, varied, lengths = (_sign_long if batch.long else _sign)(batch, method)
        units.append(lengths)
        banded.append(np.flatnonzero(varied) + first)
        keys.append(band_keys(signs, method.banding))
    return Sketch(np.concatenate(units), np.concatenate(banded), np.concatenate(keys, axis=1))


def _sign(batch: Documents, method: Method) -> tuple[U64, Flags, I64]:
    """Return the signatures of the documents with two different shingles or more, which these are, and lengths."""
    hashes, counts, lengths = batch.shingles(method.ngram)
    varied = counts > 1
    hashes, counts = hashes[np.repeat(varied, counts)], counts[varied]
    starts = np.cumsum(counts) - counts
    if starts.size:
        differ = np.minimum.reduceat(hashes, starts) != np.maximum.reduceat(hashes, starts)
        hashes, counts = hashes[np.repeat(differ, counts)], counts[differ]
        varied[varied] = differ
    return method.sign(hashes, counts), varied, lengths


def _sign_long(document: Documents, method: Method) -> tuple[U64, Flags, I64]:
    """Do the same for one long document, a window at a time."""
    together = method.sign(np.empty(0, np.uint64), np.zeros(1, np.int64))
    ends: set[int] = set()
    length = 0
    for window, units in document.windows(method.ngram):
        length += units
        if window.size:
            together = np.minimum(together, method.sign(window, np.array([window.size])))
            ends |= {int(window.min()), int(window.max())}
    varied = np.array([len(ends) > 1])
    return together[varied], varied, np.array([length])
