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
    varied = _varied(hashes, counts)
    if not varied.all():
        hashes, counts = hashes[np.repeat(varied, counts)], counts[varied]
    return method.sign(hashes, counts), varied, lengths


def _varied(hashes: U64, counts: I64) -> Flags:
    """Mark the documents in which a shingle differs from the one before it."""
    changes = np.zeros(hashes.size + 1, np.int64)
    np.cumsum(hashes[1:] != hashes[:-1], out=changes[1:-1])
    ends = np.cumsum(counts)
    varied: Flags = (counts > 1) & (changes[ends - 1] > changes[ends - counts])
    return varied


def _sign_long(document: Documents, method: Method) -> tuple[U64, Flags, I64]:
    """Do the same for one long document, a window at a time."""
    growing = Growing(method)
    growing.add(document)
    return growing.signature, np.array([growing.varied]), np.array([growing.units])


class Growing:
    """The sketch of one document whose texts come one after the other; memory is that of a window."""

    def __init__(self, method: Method) -> None:
        self._method = method
        self._together = method.sign(np.empty(0, np.uint64), np.zeros(1, np.int64))
        self._least, self._most = (1 << 64) - 1, 0
        self.units = 0

    def add(self, texts: Documents) -> None:
        """Go on with these texts, whichever documents they are said to be of."""
        for window, units in texts.windows(self._method.ngram):
            self.units += units
            if window.size:
                self._together = np.minimum(self._together, self._method.sign(window, np.array([window.size])))
                self._least = min(self._least, int(window.min()))
                self._most = max(self._most, int(window.max()))

    @property
    def varied(self) -> bool:
        """Whether it has two different shingles."""
        return self._least < self._most

    @property
    def signature(self) -> U64:
        """Its signature, uint64[1, permutations]; uint64[0, permutations] of what goes by exact hash only."""
        return self._together if self.varied else self._together[:0]

    def sketch(self) -> Sketch:
        """Return the sketch of all that was added."""
        keys = band_keys(self.signature, self._method.banding)
        return Sketch(np.array([self.units]), np.flatnonzero([self.varied]), keys)
