"""`--memory`: how many workers it lets run, what it refuses, and that it decides no byte."""

from pathlib import Path

import numpy as np
import pytest
from builds import build, hashes, mrprep

from mrprep.builddir.mapped import let_go, mapped, zeros
from mrprep.cli.size import parse_size
from mrprep.cli.where import where
from mrprep.duplicates.shingle_files import ShingleFiles
from mrprep.engine import memory
from mrprep.errors import UsageError
from mrprep.request import RunOptions

SAMPLES = Path(__file__).resolve().parent.parent / "samples/corpus"


def test_workers_are_as_many_as_fit() -> None:
    assert [memory.workers_in(size * 10**6, 64) for size in (600, 999, 1000, 4000)] == [1, 1, 2, 9]
    assert RunOptions(jobs=3, memory=4 * 10**9).workers == 3
    with pytest.raises(UsageError, match="599MB cannot be kept: 600MB is the least"):
        RunOptions(jobs=1, memory=599 * 10**6)
    with pytest.raises(UsageError, match="--memory 599999999 bytes cannot be kept: 600MB"):
        RunOptions(jobs=1, memory=parse_size("599999999", "--memory"))


@pytest.mark.parametrize(
    ("text", "size"),
    [("1e9", 10**9), ("1GB", 10**9), ("1TB", 10**12), ("1.5 t", 15 * 10**11), ("2TiB", 2 << 40), ("4096", 4096)],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text, "--memory") == size


@pytest.mark.parametrize("text", ["abc", "0.5", "1e999", "0e5", "1PB", "-1GB"])
def test_what_is_no_size_is_told_with_its_option(text: str) -> None:
    with pytest.raises(UsageError, match=f"^--shard-size '{text}' is no size above 0: write it like 64MB"):
        parse_size(text, "--shard-size")
    with pytest.raises(UsageError, match=f"^--memory '{text}' is no size"):
        where(1, text, "processes", None)


def test_without_it_a_share_of_the_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_LIMITS", (str(limit),))
    limit.write_text("2000000000\n")
    assert RunOptions(jobs=64).workers == 3  # 1.6 GB: 0.2 and three times 0.4
    limit.write_text("100000000\n")
    assert RunOptions(jobs=64).workers == 1


def test_the_least_and_plenty_give_the_same_bytes(tmp_path: Path) -> None:
    refused = mrprep("build", SAMPLES, "--out", tmp_path / "no", "--memory", "300MB")
    assert refused.returncode == 2 and "600MB is the least" in refused.stderr
    assert not list(tmp_path.iterdir())
    build(SAMPLES, tmp_path / "least", "--memory", "600MB")
    build(SAMPLES, tmp_path / "plenty", "--memory", "8GB", "--jobs", 2)
    assert hashes(tmp_path / "least") == hashes(tmp_path / "plenty")


def test_pages_that_are_given_back_keep_what_was_written(tmp_path: Path) -> None:
    array = zeros(tmp_path / "a.npy", np.int64, 1 << 20)
    array[5::7] = np.arange(array.size)[5::7]
    let_go(array)
    assert array[5::7].tolist() == list(range(5, array.size, 7)) and not array[6::7].any()
    del array
    assert int(mapped(tmp_path / "a.npy")[12]) == 12
    assert zeros(tmp_path / "none.npy", np.int64, 0).size == mapped(tmp_path / "none.npy").size == 0


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.uint16),
        np.arange(6).reshape(2, 3),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.zeros((0, 4), np.float32),
        np.ones(5, np.dtype([("key", "<u8"), ("ends", "?")])),
    ],
    ids=["flat", "rows", "columns", "empty", "fields"],
)
def test_mapped_is_what_numpy_loads(array: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", array)
    found, loaded = mapped(tmp_path / "a.npy"), np.load(tmp_path / "a.npy", mmap_mode="r")
    assert (found.dtype, found.shape, found.strides) == (loaded.dtype, loaded.shape, loaded.strides)
    assert found.tolist() == array.tolist()
    assert not found.flags.writeable


def test_mapped_refuses_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(b"rubbish")
    with pytest.raises(ValueError, match=r"no \.npy"):
        mapped(tmp_path / "a.npy")


def test_comparing_holds_no_pages_of_the_sets(tmp_path: Path) -> None:
    sets, size = 32, 1 << 18
    np.arange(sets * size, dtype=np.uint64).tofile(tmp_path / "shingles.u64")
    np.save(tmp_path / "documents.npy", np.arange(sets))
    np.save(tmp_path / "starts.npy", np.arange(sets + 1) * size)
    shingles = ShingleFiles([tmp_path], np.arange(sets))
    before = _file_pages()
    pairs = np.column_stack([np.arange(sets - 1), np.arange(1, sets)])
    assert not shingles.jaccard(pairs).any()
    assert shingles.jaccard(np.array([[3, 3]]))[0] == 1
    assert _file_pages() - before < sets * size * 8 // 2


def _file_pages() -> int:
    """Return the bytes of files that this process has in memory."""
    told = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in told.splitlines() if line.startswith("RssFile"))) << 10
