"""What duplicates cost a corpus: their share within and between sources, and the largest clusters."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from mrprep.builddir.tables import TextPart
from mrprep.duplicates.layout import HELD, Corpus, Records
from mrprep.duplicates.texts import sources_of
from mrprep.order import I64
from mrprep.printable import printable

LARGEST = 20
_EXCERPT = 80


def report(corpus: Corpus, ranked: Records, table: Records) -> dict[str, Any]:
    """Return plain values: ``sources``, ``largest``, and the totals of all sources.

    A source has its documents and units (words, or characters of scripts without spaces), how many of them were
    removed, and for documents of which source or earlier build: within itself, ``between`` and ``held``. Of the
    largest clusters each has how many were removed, of how many units, and the document that stays.

    Args:
        corpus: what was deduplicated.
        ranked: RANKED[documents].
        table: the removed documents of this build, with ``doc`` and ``survivor``.
    """
    names, source = _sources(corpus, ranked)
    own = ranked["priority"] != HELD
    sizes = {"documents": np.ones(own.size, np.int64), "units": ranked["units"]}
    sums = {what: np.bincount(source[own], size[own], len(names)) for what, size in sizes.items()}
    gone = {what: np.bincount(source[table["doc"]], size[table["doc"]], len(names)) for what, size in sizes.items()}
    pairs = Counter(zip(source[table["doc"]].tolist(), source[table["survivor"]].tolist(), strict=True))
    held = len(corpus.held)
    sources: dict[str, dict[str, Any]] = {
        name: {
            **{what: int(sums[what][number]) for what in sizes},
            "removed": int(gone["documents"][number]),
            "removed_units": int(gone["units"][number]),
            "within": pairs[number, number],
            "between": {names[to]: n for (of, to), n in sorted(pairs.items()) if of == number != to and to >= held},
            "held": {names[to]: n for (of, to), n in sorted(pairs.items()) if of == number and to < held},
        }
        for number, name in enumerate(names)
        if number >= held
    }
    counted = ("documents", "units", "removed", "removed_units")
    totals = {what: sum(each[what] for each in sources.values()) for what in counted}
    return {**totals, "sources": sources, "largest": _largest(corpus, ranked, table)}


def _sources(corpus: Corpus, ranked: Records) -> tuple[list[str], I64]:
    """Return the names of earlier builds and then of sources, and which of them each document is of."""
    names = {(True, name): number for number, (name, _) in enumerate(corpus.held)}
    of_rows = [np.empty(0, np.int64)]
    builds = [number for number, (_, parts) in enumerate(corpus.held) for _ in range(parts)]
    of_rows += [np.full(part.rows, build) for part, build in zip(corpus.parts, builds, strict=False)]
    for part in corpus.parts[corpus.held_parts :]:
        own, codes = sources_of(part)
        of_rows.append(np.array([names.setdefault((False, name), len(names)) for name in own], np.int64)[codes])
    return [name for _, name in names], np.concatenate(of_rows)[ranked["ordinal"]]


def _largest(corpus: Corpus, ranked: Records, table: Records) -> list[dict[str, Any]]:
    survivors, which, counts = np.unique(table["survivor"], return_inverse=True, return_counts=True)
    units = np.bincount(which, ranked["units"][table["doc"]], survivors.size)
    order = np.lexsort((survivors, -units, -counts))[:LARGEST]
    return [
        {
            "removed": int(counts[at]),
            "removed_units": int(units[at]),
            **_place(corpus, int(ranked["ordinal"][survivors[at]])),
        }
        for at in order
    ]


def _place(corpus: Corpus, row: int) -> dict[str, Any]:
    """Return where a row comes from and how it begins."""
    number = max(i for i, part in enumerate(corpus.parts) if part.base <= row and part.rows)
    builds: Sequence[str] = [name for name, parts in corpus.held for _ in range(parts)]
    found = _row(corpus.parts[number], row - corpus.parts[number].base)
    return {
        "against": builds[number] if number < len(builds) else None,
        "source": found["source"],
        "path": printable(found["path"], 4096),
        "line": found["line"],
        "text": printable(found["text"][:_EXCERPT]),
    }


def _row(part: TextPart, row: int) -> dict[str, Any]:
    with pq.ParquetFile(part.path / "text.parquet") as file:
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if row < rows:
                columns = ["source", "path", "line", "text"]
                found: dict[str, Any] = file.read_row_group(group, columns).slice(row, 1).to_pylist()[0]
                return found
            row -= rows
    raise ValueError(f"{part.path} has fewer rows than it says")
