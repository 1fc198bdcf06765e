"""MindRecord files: the bytes of FileWriter, read back by MindDataset, and every way it can go wrong."""

import hashlib
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from mrprep.errors import BugError, MrprepError
from mrprep.mindrecord import core, write
from mrprep.mindrecord.checksum import Checksum
from mrprep.mindrecord.columns import columns, merged_boundaries
from mrprep.mindrecord.read import (
    check_rows,
    count_rows,
    read_batches,
    read_row,
    read_rows,
    stored_batches,
)
from mrprep.mindrecord.schema import Schema, index_of, schema
from mrprep.mindrecord.write import Columns, write_rows

FLAT = schema("flat", 16, 128, 1000)
MCORE = schema("mcore", 16, 4, 1000)


def flat_rows(n: int, vocabulary: int = 200_000) -> np.ndarray:
    return np.random.default_rng(n).integers(0, vocabulary, (n, 17), dtype=np.int32)


def mcore_rows(n: int) -> Columns:
    rows = flat_rows(n)
    row = np.repeat(np.arange(n), 2)
    return columns("mcore", rows, row, np.tile([5, 17], n), 4)


def batches(rows: Columns, size: int) -> Iterator[Columns]:
    for start in range(0, len(next(iter(rows.values()))), size):
        yield {name: array[start : start + size] for name, array in rows.items()}


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def by_file_writer(file: Path, form: Schema, rows: Columns) -> None:
    from mindspore.mindrecord import FileWriter

    writer = FileWriter(str(file), shard_num=1)
    writer.set_header_size(form.header)
    writer.set_page_size(form.page)
    fields = {name: {"type": "int32", "shape": [places]} for name, places in form.columns.items()}
    writer.add_schema(fields, "mrprep")
    count = len(next(iter(rows.values())))
    writer.write_raw_data([{name: np.array(rows[name][i]) for name in form.columns} for i in range(count)])
    writer.commit()


@pytest.mark.mindspore
@pytest.mark.parametrize("layout", ["flat", "mcore"])
def test_the_bytes_are_those_of_filewriter(layout: str, tmp_path: Path) -> None:
    form, rows = (FLAT, {"input_ids": flat_rows(3000)}) if layout == "flat" else (MCORE, mcore_rows(1500))
    ours, theirs = (tmp_path / name / "train-00000.mindrecord" for name in ("ours", "theirs"))
    for file in (ours, theirs):
        file.parent.mkdir()
    write_rows(ours, form, batches(rows, 700))
    by_file_writer(theirs, form, rows)
    assert ours.read_bytes() == theirs.read_bytes()
    assert index_of(ours).read_bytes() == index_of(theirs).read_bytes()


@pytest.mark.mindspore
def test_minddataset_gives_what_went_in_over_several_files(tmp_path: Path) -> None:
    rows = flat_rows(1000)
    files = [tmp_path / f"train-{i:05d}.mindrecord" for i in range(3)]
    for file, part in zip(files, np.split(rows, [1, 600]), strict=True):
        write_rows(file, FLAT, batches({"input_ids": part}, 256))
    read = np.concatenate([batch["input_ids"] for batch in read_batches(files, ["input_ids"])])
    assert read.dtype == np.int32
    assert (read == rows).all()
    wanted = [999, 0, 1, 599, 600, 0, 5]
    assert [row["input_ids"].tolist() for row in read_rows(files, ["input_ids"], wanted)] == rows[wanted].tolist()
    many = np.arange(2500) % 1000  # more indices than rows: SubsetSampler alone would stop at 1000
    assert sum(len(batch["input_ids"]) for batch in read_batches(files, ["input_ids"], many)) == 2500


@pytest.mark.mindspore
def test_minddataset_gives_mcore_columns(tmp_path: Path) -> None:
    rows = mcore_rows(100)
    file = tmp_path / "valid-00000.mindrecord"
    write_rows(file, MCORE, batches(rows, 33))
    read = list(read_batches([file], list(MCORE.columns)))
    for name in MCORE.columns:
        found = np.concatenate([batch[name] for batch in read])
        assert found.dtype == np.int32
        assert (found == rows[name]).all()


@pytest.mark.parametrize("index", [-1, 10, 1 << 40])
def test_indices_outside_are_refused_not_wrapped(index: int, tmp_path: Path) -> None:
    file = tmp_path / "train-00000.mindrecord"
    write_rows(file, FLAT, [{"input_ids": flat_rows(10)}])
    with pytest.raises(IndexError, match="there are 10, counted from 0"):
        next(read_rows([file], ["input_ids"], [3, index]))
    with pytest.raises(IndexError, match="there are 10, counted from 0"):
        read_row(file, index, ["input_ids"])


def test_one_row_is_read_without_importing_mindspore(tmp_path: Path) -> None:
    rows = mcore_rows(50)
    file = tmp_path / "train-00000.mindrecord"
    write_rows(file, MCORE, [rows])
    for index in (0, 17, 49):
        found = read_row(file, index, list(MCORE.columns))
        for name in MCORE.columns:
            assert found[name].dtype == np.int32
            assert found[name].tolist() == rows[name][index].tolist()


def by_the_library(file: Path, names: list[str]) -> Iterator[dict[str, bytes]]:
    """Rows as the reader hands them over that MindDataset is made of."""
    reader = core.load().ShardReader()
    core.done(reader.open([str(file)], False, 1, names, []))
    core.done(reader.launch())
    while rows := reader.get_next():
        for blob, _ in rows:
            yield {name: bytes(blob[name]) for name in names}
    reader.close()


@pytest.mark.parametrize("room", [True, False])
def test_the_index_is_the_same_by_way_of_memory_where_nothing_is_left(
    room: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, file = tmp_path / "memory", tmp_path / "train-00000.mindrecord"
    if room:
        memory.mkdir()
    monkeypatch.setattr(write, "_MEMORY", memory)
    write_rows(file, FLAT, [{"input_ids": flat_rows(100)}])
    written = index_of(file).read_bytes()
    index_of(file).unlink()
    write._index_beside(file)
    assert written == index_of(file).read_bytes()
    assert not room or not list(memory.iterdir())


@pytest.mark.parametrize("layout", ["flat", "mcore"])
def test_rows_are_those_that_mindspores_own_reader_gives(layout: str, tmp_path: Path) -> None:
    """Over several pages and several batches."""
    form = schema(layout, 16, 4, 20_000)
    rows = {"input_ids": flat_rows(20_000)} if layout == "flat" else dict(mcore_rows(20_000))
    file = tmp_path / "train-00000.mindrecord"
    written = write_rows(file, form, batches(rows, 999))
    names = list(form.columns)
    theirs = list(by_the_library(file, names))
    sums = Checksum(names)
    for row in theirs:
        sums.update_row(row)
    assert sums.written() == check_rows(file, names) == written
    ours = list(stored_batches(file, names))
    assert len(ours) > 2
    some = np.array([19_999, 3, 3, 4, 5, 12_000, 0])
    picked = next(stored_batches(file, names, some))
    for name in names:
        stored = np.concatenate([batch[name] for batch in ours])
        assert stored.dtype == np.int32
        assert stored.tobytes() == b"".join(row[name] for row in theirs)
        assert picked[name].tobytes() == b"".join(theirs[row][name] for row in some)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data, index: data.write_bytes(data.read_bytes()[: FLAT.header + 20_000]),
        lambda data, index: data.write_bytes(data.read_bytes()[:100]),
        lambda data, index: data.write_bytes(b""),
        lambda data, index: index.write_bytes(index.read_bytes()[:5000]),
        lambda data, index: index.write_bytes(b""),
        lambda data, index: index.unlink(),
    ],
    ids=["file cut in a row", "file cut in its header", "empty file", "index cut", "empty index", "no index"],
)
def test_a_damaged_file_or_index_is_one_sentence(damage: Callable[[Path, Path], object], tmp_path: Path) -> None:
    file = tmp_path / "train-00000.mindrecord"
    write_rows(file, FLAT, batches({"input_ids": flat_rows(1000)}, 100))
    damage(file, index_of(file))
    words = r"^\S+00000\.mindrecord(\.db)? (cannot be read|is no index) .*build again$"
    with pytest.raises(MrprepError, match=words):
        check_rows(file, ["input_ids"])
    with pytest.raises(MrprepError, match=words):
        read_row(file, 9, ["input_ids"])


def test_a_column_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "train-00000.mindrecord"
    write_rows(file, FLAT, [{"input_ids": flat_rows(10)}])
    with pytest.raises(MrprepError, match="has not the columns that its rows should have"):
        check_rows(file, ["labels"])


WRITE = """
import sys
from pathlib import Path
import numpy as np
from mrprep.mindrecord.schema import schema
from mrprep.mindrecord.write import write_rows
file, size = Path(sys.argv[1]), int(sys.argv[2])
rows = np.random.default_rng(5).integers(0, 200_000, (3000, 17), dtype=np.int32)
form = schema("flat", 16, 128, 1000)
write_rows(file, form, ({"input_ids": rows[i : i + size]} for i in range(0, 3000, size)))
assert "mindspore" not in sys.modules
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def test_same_bytes_in_any_process_directory_and_batch_and_no_mindspore_needed(tmp_path: Path) -> None:
    seen = set()
    for where, size, umask in (("a", 3000, 0o022), ("b/c d", 100, 0o077), ("e", 999, 0o002)):
        file = tmp_path / where / "train-00000.mindrecord"
        file.parent.mkdir(parents=True)
        command = [sys.executable, "-c", WRITE, file.name, str(size)]
        environment = {**os.environ, "PYTHONHASHSEED": str(size), "TZ": f"UTC{size % 12}"}
        done = subprocess.run(
            command, cwd=file.parent, env=environment, umask=umask, check=True, capture_output=True, text=True
        )
        assert int(done.stdout) < 250 * 1024
        seen.add((sha(file), sha(index_of(file))))
        assert {path.stat().st_mode & 0o777 for path in (file, index_of(file))} == {0o666 & ~umask}
        for path in (file, index_of(file)):
            assert str(tmp_path).encode() not in path.read_bytes()
    assert len(seen) == 1


def test_a_flipped_byte_is_found_by_the_checksum(tmp_path: Path) -> None:
    file = tmp_path / "train-00000.mindrecord"
    written = write_rows(file, FLAT, [{"input_ids": flat_rows(100)}])
    assert check_rows(file, ["input_ids"]) == written
    data = bytearray(file.read_bytes())
    data[FLAT.header + 200] ^= 1
    file.write_bytes(data)
    assert check_rows(file, ["input_ids"]) != written


def test_small_builds_make_small_files_and_large_rows_fit(tmp_path: Path) -> None:
    small = tmp_path / "train-00000.mindrecord"
    form = schema("flat", 2048, 128, 10)
    write_rows(small, form, [{"input_ids": np.ones((1, 2049), np.int32)}])
    assert small.stat().st_size < 1 << 19
    assert small.stat().st_blocks * 512 < 1 << 16
    large = tmp_path / "train-00001.mindrecord"
    form = schema("flat", 300_000, 128, 3)
    rows = np.random.default_rng(0).integers(-(1 << 31), 1 << 31, (3, 300_001), dtype=np.int32)
    written = write_rows(large, form, [{"input_ids": rows}])
    assert check_rows(large, ["input_ids"]) == written


@pytest.mark.parametrize("seq", [64, 2048, 32_768])
@pytest.mark.parametrize("layout", ["flat", "mcore"])
def test_header_holds_the_pages_of_the_rows_it_was_made_for(layout: str, seq: int, tmp_path: Path) -> None:
    """Rows of ids that take the most bytes, as many as make 12 MB: their pages' entries fit into the header."""
    form = schema(layout, seq, 128, 1)
    places = sum(form.columns.values())
    count = max(4, (12 << 20) // 4 // places)
    form = schema(layout, seq, 128, count)
    rows = {name: np.full((count, places), 1 << 30, np.int32) for name, places in form.columns.items()}
    file = tmp_path / "train-00000.mindrecord"
    write_rows(file, form, batches(rows, 500_000))
    assert count_rows(file) == count
    used = len(file.open("rb").read(form.header).rstrip(b"\0"))
    pages = -(-file.stat().st_size // form.page)
    assert used < 4096 + 192 * (pages + 1) <= form.header


def test_header_grows_with_the_rows_and_ends_somewhere() -> None:
    large = schema("flat", 2048, 128, 1_000_000)
    pages = 1_000_000 / (large.page // (2049 * 17 / 4))
    assert 2 * 192 * pages > large.header > 192 * pages
    with pytest.raises(ValueError, match="too many for one MindRecord file"):
        schema("flat", 2048, 128, 100_000_000)


def test_default_shards_of_any_build_can_be_read_together() -> None:
    """Header and page of a shard of 8 Mi tokens are those of the smallest."""
    for seq in (128, 2048, 65_536):
        few, many = (schema("flat", seq, 128, rows) for rows in (1, 2 * (8 << 20) // seq))
        assert (few.header, few.page) == (many.header, many.page)


@pytest.mark.parametrize("wrong", [np.int64, np.uint16, np.float32])
def test_rows_of_another_dtype_are_an_error_not_a_warning(wrong: type, tmp_path: Path) -> None:
    with pytest.raises(BugError, match="input_ids"):
        write_rows(tmp_path / "train-00000.mindrecord", FLAT, [{"input_ids": np.ones((3, 17), wrong)}])
    with pytest.raises(BugError, match=r"int32\[16\]"):
        write_rows(tmp_path / "train-00001.mindrecord", FLAT, [{"input_ids": np.ones((3, 16), np.int32)}])


def test_a_full_disk_is_a_sentence(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "none", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        with pytest.raises(MrprepError, match=r"no space left on the disk, [0-9.]+ MB free in .*; free some"):
            write_rows(disk / "train-00000.mindrecord", FLAT, batches({"input_ids": flat_rows(400_000)}, 10_000))
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)  # the exception holds the file open


def test_a_file_that_cannot_grow_is_a_sentence(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        with pytest.raises(MrprepError, match=r"cannot be written .*run the same command again"):
            write_rows(tmp_path / "train-00000.mindrecord", FLAT, batches({"input_ids": flat_rows(60_000)}, 1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_missing_index_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "train-00000.mindrecord"
    write_rows(file, FLAT, [{"input_ids": flat_rows(10)}])
    index_of(file).unlink()
    with pytest.raises(MrprepError, match=r"00000.mindrecord.db is no index"):
        count_rows(file)


def test_mcore_columns_by_hand() -> None:
    """S = 8, K = 3; 9 is EOD, 0 is padding, 7 a document that goes on in another row."""
    tokens = np.array(
        [
            [1, 2, 9, 3, 4, 5, 9, 0, 0],  # two documents and padding: the padding is a segment of its own
            [1, 9, 2, 9, 3, 9, 4, 4, 9],  # four documents, room for three
            [7, 7, 7, 7, 7, 7, 7, 9, 1],  # an EOD in the last place of the inputs is left out
            [7, 7, 7, 7, 7, 7, 7, 7, 9],  # an EOD that is only a label
        ],
        np.int32,
    )
    row = np.array([0, 0, 1, 1, 1, 1, 2, 2, 3])
    end = np.array([3, 7, 2, 4, 6, 9, 8, 9, 9])
    found = columns("mcore", tokens, row, end, 3)
    assert found["input_ids"].tolist() == tokens[:, :8].tolist()
    assert found["labels"].tolist() == tokens[:, 1:].tolist()
    assert found["loss_mask"].tolist() == [[1, 1, 1, 1, 1, 1, 0, 0], *[[1] * 8] * 3]
    assert found["position_ids"].tolist() == [
        [0, 1, 2, 0, 1, 2, 3, 0],
        [0, 1, 0, 1, 0, 1, 2, 3],
        [0, 1, 2, 3, 4, 5, 6, 7],
        [0, 1, 2, 3, 4, 5, 6, 7],
    ]
    assert found["actual_seq_len"].tolist() == [[3, 7, 8], [2, 4, 8], [8, 8, 8], [8, 8, 8]]
    assert merged_boundaries(row, end, 8, 3) == 1
    assert list(found) == ["input_ids", "labels", "loss_mask", "position_ids", "actual_seq_len"]
