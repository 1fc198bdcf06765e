"""What the tests and the benchmark of deduplication share: the truth by brute force, and phases run in process."""

import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mrprep.builddir.tables import TEXT, TextPart
from mrprep.minhash.clusters import components
from mrprep.minhash.documents import Documents
from mrprep.minhash.jaccard import jaccard
from mrprep.minhash.sets import shingle_sets as sets_of
from mrprep.stages import dedupe


class InProcess:
    """A RunPhase that runs unit after unit."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __call__(
        self,
        name: str,
        units: Sequence[Any],
        function: Callable[[Any, Path], None],
        *,
        settings: Any,
        weights: Any = None,
        writer: bool = False,
    ) -> list[Path]:
        outs = [self.root / name / f"{index:05d}" for index in range(len(units))]
        for unit, out in zip(units, outs, strict=True):
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir(parents=True)
            function(unit, out)
        return outs


def write_parts(
    root: Path,
    texts: Sequence[str],
    options: dedupe.Options,
    *,
    parts: int = 1,
    ids: Any = None,
    group_rows: int = 1000,
) -> list[TextPart]:
    """Lay out texts as the read phase does; documents of several rows (equal ids) must not cross parts."""
    ids = np.arange(len(texts), dtype=np.uint64) if ids is None else np.asarray(ids, np.uint64)
    out = []
    for number in range(parts):
        low, high = len(texts) * number // parts, len(texts) * (number + 1) // parts
        path = root / f"read/{number:05d}"
        path.mkdir(parents=True)
        column = pa.array(texts[low:high], pa.string())
        blank = {f.name: pa.nulls(high - low, f.type) if f.nullable else None for f in TEXT}
        columns = [_column(field, high - low, ids[low:high], column, blank) for field in TEXT]
        pq.write_table(pa.table(columns, schema=TEXT), path / "text.parquet", row_group_size=group_rows)
        sketches = dedupe.sketches(options)
        sketches.add(column, ids[low:high])
        sketches.save(path)
        out.append(TextPart(path, low, high - low))
    return out


def _column(field: pa.Field, rows: int, ids: Any, texts: pa.Array, blank: dict[str, Any]) -> pa.Array:
    if field.name in ("text", "id"):
        return texts if field.name == "text" else pa.array(ids)
    if pa.types.is_dictionary(field.type):
        return pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(rows, np.int32)), pa.array(["x"], field.type.value_type)
        )
    return blank[field.name] if field.nullable else pa.array(np.zeros(rows), field.type)


def sketch(texts: pa.Array, ids: Any, options: dedupe.Options) -> Any:
    """Return the arrays of the sketch of texts in one batch."""
    sketches = dedupe.sketches(options)
    sketches.add(texts, ids)
    return sketches.arrays()


def deduped(root: Path, texts: Sequence[str], options: dedupe.Options | None = None, **kwargs: Any) -> Path:
    """Run the whole stage over texts; return the directory with the verdict."""
    options = options or dedupe.Options()
    return dedupe.run(InProcess(root), write_parts(root, texts, options, **kwargs), options)


def shingle_sets(texts: Sequence[str], ngram: int = 5) -> list[Any]:
    """Return the shingles of each text, sorted and unique."""
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)])
    found = list(sets_of(Documents(b"".join(data), offsets, np.arange(len(texts))), ngram))
    sizes = np.concatenate([sizes for _, sizes in found])
    return np.split(np.concatenate([hashes for hashes, _ in found]), np.cumsum(sizes)[:-1])


def all_pairs(sets: Sequence[Any], threshold: float) -> dict[tuple[int, int], float]:
    """Return every pair of sets of two or more whose Jaccard reaches the threshold, with it, missing none.

    Prefix filtering (Bayardo, Ma, Srikant 2007): with elements ordered by rarity, such a pair shares one of the
    first ``size - ceil(threshold * size) + 1`` elements of each.
    """
    from scipy import sparse

    sizes = np.array([len(s) for s in sets])
    flat = np.concatenate(sets)
    _, element, counts = np.unique(flat, return_inverse=True, return_counts=True)
    owner = np.repeat(np.arange(len(sets)), sizes)
    order = np.lexsort((element, counts[element], owner))
    within = np.arange(flat.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    prefix = sizes - np.ceil(threshold * sizes - 1e-9).astype(int) + 1
    chosen = order[within < prefix[owner]]
    chosen = chosen[counts[element[chosen]] > 1]
    shape = (len(sets), counts.size)
    matrix = sparse.csr_matrix((np.ones(chosen.size, np.int32), (owner[chosen], element[chosen])), shape)
    shared = sparse.triu(matrix @ matrix.T, 1).tocoo()
    out = {}
    for one, other in zip(shared.row.tolist(), shared.col.tolist(), strict=True):
        low, high = sorted((sizes[one], sizes[other]))
        if low >= 2 and low >= threshold * high:
            similarity = jaccard(sets[one], sets[other])
            if similarity >= threshold:
                out[one, other] = similarity
    return out


def quality(texts: Sequence[str], sets: Sequence[Any], out: Path, threshold: float = 0.8) -> dict[str, Any]:
    """Compare a verdict over texts of one row each with the truth."""
    verdict = np.load(out / "verdict.npy")
    pairs = all_pairs(sets, threshold)
    seen: dict[str, int] = {}
    copies = [(seen.setdefault(text, number), number) for number, text in enumerate(texts)]
    edges = np.array([*pairs, *((a, b) for a, b in copies if a != b)], np.int64).reshape(-1, 2)
    truth = components(len(texts), edges)
    removed = np.flatnonzero(verdict >= 0)
    direct = sum((min(d, verdict[d]), max(d, verdict[d])) in pairs or texts[d] == texts[verdict[d]] for d in removed)
    found = np.where(verdict >= 0, verdict, np.arange(len(texts)))
    clusters = np.flatnonzero(np.bincount(truth, minlength=len(texts)) > 1)
    kept = np.bincount(truth[verdict < 0], minlength=len(texts))[clusters]
    joined = sum(found[a] == found[b] for a, b in pairs)
    return {
        "documents": len(texts),
        "pairs": len(pairs),
        "joined": joined / max(1, len(pairs)),
        "removed": removed.size,
        "direct": direct / max(1, removed.size),
        "outside": int((truth[found] != truth).sum()),
        "clusters": clusters.size,
        "one survivor": float((kept == 1).mean()) if clusters.size else 1.0,
        "none left": int((kept == 0).sum()),
    }


def edited(text: str, share: float, rng: random.Random) -> str:
    """Replace that share of the characters by others of the text."""
    chars = list(text)
    places = [at for at, char in enumerate(chars) if "一" <= char <= "鿿"]
    for at in rng.sample(places, int(len(places) * share)):
        chars[at] = chars[rng.choice(places)]
    return "".join(chars)
