"""Documents longer than a batch or a row group: the same sets, the same verdict, and memory that stays flat."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dedupe_helpers import shingle_sets
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.duplicates import set_writer
from mrprep.duplicates.set_writer import SetWriter
from mrprep.duplicates.texts import read_documents
from mrprep.minhash.jaccard import jaccard, jaccard_of_chunks

ROOT = Path(__file__).resolve().parent.parent


@given(
    st.lists(st.lists(st.text("ab 中文", max_size=14), min_size=1, max_size=4), min_size=1, max_size=8),
    st.integers(1, 5),
    st.integers(0, 40),
    st.data(),
)
@settings(max_examples=120, deadline=None)
def test_sets_do_not_depend_on_row_groups_nor_on_the_way_over_the_disk(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[list[str]], group: int, long: int, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("sets")
    texts = [piece for document in pieces for piece in document]
    pq.write_table(pa.table({"text": pa.array(texts, pa.string())}), folder / "text.parquet", row_group_size=group)
    rows = np.array([len(document) for document in pieces], np.int32)
    first = np.cumsum(rows, dtype=np.int64) - rows
    wanted = np.array(data.draw(st.lists(st.booleans(), min_size=len(pieces), max_size=len(pieces))))
    was, set_writer.LONG = set_writer.LONG, long
    try:
        with (folder / "sets").open("wb") as file:
            writer = SetWriter(file, 3, folder)
            for batch in read_documents(folder, first[wanted], rows[wanted]):
                writer.add(batch)
    finally:
        set_writer.LONG = was
    found = np.split(np.fromfile(folder / "sets", np.uint64), np.cumsum(writer.sizes)[:-1]) if writer.sizes.size else []
    expected = []
    for document, is_wanted in zip(pieces, wanted, strict=True):
        if is_wanted:
            expected.append(np.unique(np.concatenate(shingle_sets(document, 3))))
    assert [one.tolist() for one in found] == [one.tolist() for one in expected]
    assert sorted(path.name for path in folder.iterdir()) == ["sets", "text.parquet"]


SETS = st.sets(st.integers(0, 40)).map(sorted)


def chunks(values: list[int], sizes: list[int]) -> list[np.ndarray]:
    cuts = np.cumsum(sizes)
    return [part for part in np.split(np.array(values, np.uint64), cuts[cuts < len(values)]) if part.size]


@given(SETS, SETS, st.lists(st.integers(1, 9)), st.lists(st.integers(1, 9)))
@settings(max_examples=300, deadline=None)
def test_jaccard_by_chunks(one: list[int], other: list[int], cuts: list[int], others: list[int]) -> None:
    expected = jaccard(np.array(one, np.uint64), np.array(other, np.uint64))
    assert jaccard_of_chunks(iter(chunks(one, cuts)), iter(chunks(other, others))) == expected


@pytest.mark.slow
@pytest.mark.parametrize("what", ["two_documents", "pieces"])
def test_memory_stays_under_350_mb(what: str) -> None:
    script = f"from bench.dedupe import peak_of; print(peak_of({what!r}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 350
