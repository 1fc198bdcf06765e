"""Which documents of a stretch are removed and for whom: exact copies, near duplicates and contained ones together.

What near duplicates say is laid out on disk by document, 16 bytes each, so memory is the stretch.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mrprep.builddir.mapped import let_go, mapped, zeros
from mrprep.duplicates.layout import CONTAINED, REMOVED, Found, Records
from mrprep.duplicates.ranks import COPIES
from mrprep.order import I64

KINDS = ("exact", "near", "chain", "contained")
TABLE = np.dtype([*CONTAINED.descr, ("kind", "<i4")])


class Removals:
    """Answers for one stretch of documents after the other.

    A copy goes where the document that stands for its text goes: it is ``exact`` when that one is kept, else
    ``near``, ``contained`` or ``chain`` (below the threshold, joined through others) as that one is. Whoever went
    for a document that stands inside another goes for that other, through a chain; they are not compared.
    """

    def __init__(
        self, found: Found, compared: Sequence[Path], contained: Path | None, threshold: float, scratch: Path
    ) -> None:
        """Lay out what was found.

        Args:
            found: whose copies go with the documents that stand for them.
            compared: directories of ``removed.npy``, of documents that stand for their own text.
            contained: directory of ``contained.npy``, of those that near duplicates have left.
            threshold: at or above it a near duplicate is direct.
            scratch: directory for two files of 8 bytes a document.
        """
        self._copy_of = mapped(found.copies / COPIES)
        self._inside = np.load(contained / "contained.npy") if contained else np.empty(0, CONTAINED)
        self._threshold = threshold
        self._survivor = zeros(scratch / "survivor.npy", np.int64, self._copy_of.size)
        """One more than the survivor; 0 of what stays."""
        self._jaccard = zeros(scratch / "jaccard.npy", np.float64, self._copy_of.size)
        for path in compared:
            near = np.load(path / "removed.npy")
            assert near.dtype == REMOVED
            self._survivor[near["doc"]] = near["survivor"] + 1
            self._jaccard[near["doc"]] = near["jaccard"]
            let_go(self._survivor, self._jaccard)

    def of(self, begin: int, end: int) -> Records:
        """Return TABLE[n], the removed of the documents from ``begin`` to before ``end``, in their order."""
        first = np.asarray(self._copy_of[begin:end])
        near = self._survivor[first]
        survivor = np.where(near > 0, near - 1, first)
        jaccard = np.where(near > 0, self._jaccard[first], 1.0)
        share = np.zeros(first.size)
        at, goes_on = self._stands_inside(survivor)
        survivor[goes_on], jaccard[goes_on] = self._inside["survivor"][at], np.nan
        at, contained = self._stands_inside(first)
        jaccard[contained], share[contained] = self._inside["jaccard"][at], self._inside["share"][at]
        let_go(self._copy_of, self._survivor, self._jaccard)
        gone = np.flatnonzero(survivor != np.arange(begin, end))
        is_contained = np.zeros(first.size, bool)
        is_contained[contained] = True
        table = np.zeros(gone.size, TABLE)
        table["doc"], table["survivor"], table["jaccard"] = begin + gone, survivor[gone], jaccard[gone]
        table["share"] = share[gone]
        exact, near_, chain, inside = range(len(KINDS))
        cases = [(survivor == first)[gone], is_contained[gone], table["jaccard"] >= self._threshold]
        table["kind"] = np.select(cases, [exact, inside, near_], chain)
        return table

    def _stands_inside(self, documents: I64) -> tuple[I64, I64]:
        """Return where in the table of contained documents those stand that are in it, and which these are."""
        if not self._inside.size:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        at = np.minimum(np.searchsorted(self._inside["doc"], documents), self._inside.size - 1)
        which = np.flatnonzero(self._inside["doc"][at] == documents)
        return at[which], which
