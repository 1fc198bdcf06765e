"""Shingles -> MinHash signatures (Broder 1997), by one of two kernels.

``rensa`` (RMinHash, its algorithm 2: three rounds of buckets, minima for those that stay empty) costs some 3 ns a
shingle, and 35 ns a number and text, for it gives numbers out as Python integers; ``datasketch`` (its affine64
scheme) is the reference and costs about 150 ns a shingle. Both are minima over a set, so repeated shingles
do no harm and the elementwise minimum of two signatures is that of the union. They do not mix.
"""

from array import array
from typing import Literal

import numpy as np

from mrprep.order import I64, U64

Kernel = Literal["rensa", "datasketch"]
RENSA_ALGORITHM = 2
"""The rensa algorithm whose signatures are meant; others give other numbers."""
_ROWS = 128
"""Texts at a time: their Python integers stay in cache, and from 256 texts on rensa would start threads of its own."""


def signatures(hashes: U64, counts: I64, permutations: int, seed: int = 1, kernel: Kernel = "rensa") -> U64:
    """Return the signature of each set of shingles, uint64[t, permutations]; of an empty set all ones.

    Args:
        hashes: uint64[s], the shingles of all texts in order.
        counts: int64[t], how many each text has.
        permutations: length of a signature.
        seed: of the permutations.
        kernel: which library computes them.
    """
    kernels = {"rensa": _rensa, "datasketch": _datasketch}
    return kernels[kernel](hashes, counts, permutations, seed)


def _rensa(hashes: U64, counts: I64, permutations: int, seed: int) -> U64:
    from rensa import RMinHash

    if RMinHash.ALGORITHM_VERSION != RENSA_ALGORITHM:
        raise ImportError(f"rensa with algorithm {RENSA_ALGORITHM} is needed, not {RMinHash.ALGORITHM_VERSION}")
    bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
    out = np.empty((counts.size, permutations), np.uint64)
    for row in range(0, counts.size, _ROWS):
        inner = bounds[row : row + _ROWS + 1]
        flat = hashes[int(inner[0]) : int(inner[-1])]
        matrix = RMinHash.digest_matrix_from_flat_token_hashes(flat, inner - inner[0], permutations, seed)
        numbers = array("I")
        for signature in matrix.to_rows():
            numbers.fromlist(signature)
        out[row : row + _ROWS] = np.frombuffer(numbers, np.uint32).reshape(-1, permutations)
    return out


def _datasketch(hashes: U64, counts: I64, permutations: int, seed: int) -> U64:
    from datasketch import MinHash

    out = np.empty((counts.size, permutations), np.uint64)
    blank = MinHash(permutations, seed, hashfunc=int, scheme="affine64")
    for row, own in enumerate(np.split(hashes, np.cumsum(counts)[:-1]) if counts.size else []):
        sketch = blank.copy()
        sketch.update_batch(own)
        out[row] = sketch.hashvalues
    return out
