"""Batches of texts as they are written -> ``documents.npy`` and ``bands.npy`` of a part."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from mrprep.duplicates.layout import DOCUMENT
from mrprep.duplicates.texts import flat
from mrprep.minhash.documents import Documents
from mrprep.minhash.sketch import Growing, Method, Sketch
from mrprep.minhash.sketch import sketch as sketch_documents
from mrprep.order import I64, U64

Arrays = Mapping[str, npt.NDArray[Any]]


class Sketches:
    """Sketches documents whose rows come in batches; the last document of a batch may go on in the next.

    Memory is a batch, and some 130 bytes a document: a text of any length stays flat.

    Args:
        method: of sketching; None sketches nothing.
    """

    def __init__(self, method: Method | None) -> None:
        self._method = method
        self._done: list[Arrays] = []
        self._last: _Last | None = None

    def add(self, texts: pa.Array | pa.ChunkedArray, ids: U64) -> None:
        """Sketch string[n] with the document ids uint64[n]; rows of equal ids that follow each other are one."""
        if self._method is None or not ids.size:
            return
        data, offsets = flat(texts)
        first = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
        if self._last is not None and self._last.id == ids[0]:
            end = int(first[1]) if first.size > 1 else ids.size
            self._last.add(data, offsets[: end + 1])
            first = first[1:]
        if first.size:
            self._close()
            self._done.append(_whole(data, offsets[first[0] : first[-1] + 1], first[:-1] - first[0], self._method))
            self._last = _Last(int(ids[first[-1]]), self._method)
            self._last.add(data, offsets[first[-1] :])

    def arrays(self) -> Arrays:
        """Return ``documents`` (DOCUMENT[d]) and ``bands`` (uint64[bands, k], the keys of those marked ``banded``)."""
        assert self._method is not None
        self._close()
        none = _whole(b"", np.zeros(1, np.int64), np.empty(0, np.int64), self._method)
        return {name: np.concatenate([none[name], *(one[name] for one in self._done)], axis=-1) for name in none}

    def save(self, out: Path) -> None:
        """Write the arrays."""
        if self._method is not None:
            for name, array in self.arrays().items():
                np.save(out / f"{name}.npy", array)

    def _close(self) -> None:
        if self._last is not None:
            self._done.append(self._last.arrays())
        self._last = None


class _Last:
    """The last document so far."""

    def __init__(self, identity: int, method: Method) -> None:
        self.id = identity
        self._sketch = Growing(method)
        self._hash = xxhash.xxh3_128()
        self._rows = 0

    def add(self, data: bytes | memoryview, offsets: I64) -> None:
        self._hash.update(data[int(offsets[0]) : int(offsets[-1])])
        self._sketch.add(Documents(data, offsets, np.zeros(1, np.int64)))
        self._rows += offsets.size - 1

    def arrays(self) -> Arrays:
        return _arrays(self._sketch.sketch(), self._hash.digest(), np.array([self._rows]))


def _whole(data: bytes | memoryview, offsets: I64, first: I64, method: Method) -> Arrays:
    """Sketch documents of which all rows are there: int64[d], the first row of each."""
    hashes = b"".join(
        xxhash.xxh3_128_digest(data[start:stop]) for start, stop in pairwise(offsets[[*first, -1]].tolist())
    )
    return _arrays(
        sketch_documents(Documents(data, offsets, first), method), hashes, np.diff(first, append=offsets.size - 1)
    )


def _arrays(found: Sketch, hashes: bytes, rows: I64) -> Arrays:
    documents = np.zeros(rows.size, DOCUMENT)
    documents["exact"] = np.frombuffer(hashes, ">u8").reshape(-1, 2)
    documents["units"], documents["rows"] = found.units, rows
    documents["banded"][found.banded] = True
    return {"documents": documents, "bands": found.keys}
