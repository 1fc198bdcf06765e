"""The sample a vocabulary is trained on, against a slow obvious way to draw it."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.builddir.tables import TextPart
from mrprep.order import shuffle_keys
from mrprep.tokenizers import sample as room
from mrprep.tokenizers.sample import sample


def _parts(root: Path, texts: list[str], ids: list[int], sizes: list[int], group: int) -> list[TextPart]:
    parts, start = [], 0
    for k, size in enumerate(sizes):
        path = root / str(k)
        path.mkdir(exist_ok=True)
        rows = slice(start, start + size)
        table = pa.table({"id": pa.array(ids[rows], pa.uint64()), "text": pa.array(texts[rows], pa.string())})
        pq.write_table(table, path / "text.parquet", row_group_size=group)
        parts.append(TextPart(path, start, table.num_rows))
        start += size
    return parts


def _slowly(texts: list[str], ids: list[int], alive: list[bool], limit: int, seed: int) -> list[str]:
    keys = shuffle_keys(seed ^ room._SALT, np.array(ids, np.uint64)).tolist()
    ranked = sorted((keys[i], ids[i], i) for i in range(len(ids)) if alive[i])
    taken, total = [], 0
    for _, own, row in ranked:
        if total >= limit:
            break
        taken.append((own, row))
        total += len(texts[row].encode())
    return [texts[row] for _, row in sorted(taken)]


@settings(max_examples=40, deadline=None, database=None)
@given(
    seed=st.integers(0, 5),
    n=st.integers(0, 60),
    limit=st.integers(1, 3000),
    cut=st.integers(0, 60),
    group=st.integers(1, 9),
)
def test_it_is_what_a_sort_of_all_rows_gives(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n: int, limit: int, cut: int, group: int
) -> None:
    rng = np.random.default_rng(seed)
    ids = np.repeat(rng.integers(0, 2**64, n, np.uint64), rng.integers(1, 3, n)).tolist()[:n]
    texts = [f"{i}天" * int(rng.integers(0, 60)) for i in range(n)]
    alive = rng.random(n) < 0.7
    root = tmp_path_factory.mktemp("sample")
    verdict = root / "verdict.npy"
    np.save(verdict, np.where(alive, -1, 0).astype(np.int64))
    sizes = [min(cut, n), n - min(cut, n)]
    parts = _parts(root, texts, ids, sizes, group)
    assert sample(parts, verdict, limit=limit, seed=seed) == _slowly(texts, ids, alive.tolist(), limit, seed)
    assert sample(parts, None, limit=limit, seed=seed) == _slowly(texts, ids, [True] * n, limit, seed)


def test_another_seed_draws_another_sample(tmp_path: Path) -> None:
    parts = _parts(tmp_path, [f"text {i}" for i in range(500)], list(range(500)), [500], 50)
    drawn = [tuple(sample(parts, None, limit=400, seed=seed)) for seed in range(3)]
    assert len(set(drawn)) == 3
    assert all(350 < sum(map(len, texts)) < 450 for texts in drawn)


def test_a_book_gives_its_beginning_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LONGEST", 10)
    parts = _parts(tmp_path, ["天" * 50, "short"], [1, 2], [2], 2)
    assert sample(parts, None, limit=1000, seed=1) == ["天" * 10, "short"]


def test_row_groups_without_a_candidate_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["some text of forty characters or thereabout"] * 4000
    parts = _parts(tmp_path, texts, list(range(4000)), [4000], 10)
    read = []
    whole = pq.ParquetFile.read_row_group

    def counting(self: pq.ParquetFile, group: int, columns: list[str]) -> pa.Table:
        read.extend(columns)
        return whole(self, group, columns)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counting)
    sample(parts, None, limit=500, seed=1)
    assert read.count("id") == 400
    assert read.count("text") < 100
