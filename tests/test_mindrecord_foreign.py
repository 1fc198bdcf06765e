"""Files of others: damaged ones and those with another file's index are told of, whatever the library does."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from mrprep.errors import MrprepError
from mrprep.mindrecord.apart import Reader
from mrprep.mindrecord.foreign import describe, read_ragged
from mrprep.mindrecord.schema import index_of

pytestmark = pytest.mark.mindspore
ROWS = [np.random.default_rng(n).integers(0, 1 << 17, 20 + n % 7, np.int32) for n in range(50)]


def write(file: Path, rows: list[np.ndarray], shards: int = 1) -> None:
    """Write rows of any length with MindSpore's own writer."""
    from mindspore.mindrecord import FileWriter

    writer = FileWriter(str(file), shards)
    writer.set_header_size(1 << 16)
    writer.set_page_size(1 << 16)
    writer.add_schema({"input_ids": {"type": "int32", "shape": [-1]}, "name": {"type": "string"}}, "rows")
    writer.write_raw_data([{"input_ids": row, "name": str(n)} for n, row in enumerate(rows)])
    writer.commit()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("foreign")
    write(folder / "a.mindrecord", ROWS)
    write(folder / "b.mindrecord", ROWS[::-1])
    write(folder / "c.mindrecord", ROWS, shards=4)
    return folder


def copy(written: Path, out: Path) -> Path:
    shutil.copytree(written, out)
    return out / "a.mindrecord"


def test_healthy_files_pass_and_are_read_in_any_order_and_by_turns(written: Path) -> None:
    rows, columns = describe(written / "a.mindrecord")
    assert (rows, list(columns)) == (50, ["input_ids"])
    assert sum(describe(file)[0] for file in sorted(written.glob("c.mindrecord?"))) == 50
    one = read_ragged(written / "a.mindrecord", "input_ids")
    other = read_ragged(written / "b.mindrecord", "input_ids", [3, 1, 49])
    assert np.array_equal(next(one), ROWS[0])
    assert [row.tolist() for row in other] == [ROWS[n].tolist() for n in (46, 48, 0)]
    assert [row.tolist() for row in one] == [row.tolist() for row in ROWS[1:]]


@pytest.mark.parametrize("ending", ["", ".db"])
def test_files_that_are_swapped_are_told_of(written: Path, tmp_path: Path, ending: str) -> None:
    file = copy(written, tmp_path / "x")
    shutil.copyfile(written / f"b.mindrecord{ending}", f"{file}{ending}")
    with pytest.raises(MrprepError, match=r"its \.db does not fit it"):
        describe(file)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda file: index_of(file).unlink(), "the .db, is missing"),
        (lambda file: index_of(file).write_bytes(b"SQLite format 3"), "its .db is damaged"),
        (lambda file: file.write_bytes(b"rubbish" * 1000), "it is damaged, or another format"),
        (lambda file: file.write_bytes(file.read_bytes()[: (1 << 16) + 40]), "does not fit it"),
    ],
    ids=["no index", "bad index", "rubbish", "cut short"],
)
def test_damaged_files_are_told_of(written: Path, tmp_path: Path, damage, words: str) -> None:
    file = copy(written, tmp_path / "x")
    damage(file)
    with pytest.raises(MrprepError, match="cannot be read as MindRecord") as told:
        describe(file)
    assert words in str(told.value)


def test_bytes_at_random_in_a_header_crash_nothing(written: Path, tmp_path: Path) -> None:
    """The library crashes over a third of such files; each is described, or refused in a sentence."""
    rng, said, sound = np.random.default_rng(0), [], (written / "a.mindrecord").read_bytes()
    for number in range(30):
        file = copy(written, tmp_path / str(number))
        data = bytearray(sound)
        for at in rng.integers(8, 600, 3).tolist():
            data[at] = int(rng.integers(32, 127))
        file.write_bytes(data)
        try:
            describe(file)
        except MrprepError as error:
            said.append(str(error))
    assert any("library crashed or hung over it" in text for text in said)
    assert all("cannot be read" in text for text in said)


def test_a_process_that_is_killed_is_a_sentence_and_the_next_file_is_read(written: Path) -> None:
    reader = Reader()
    assert reader.facts(written / "a.mindrecord")["rows"] == 50
    assert reader._process is not None
    reader._process.kill()
    reader._process.wait()
    with pytest.raises(MrprepError, match="cannot be read"):
        reader.facts(written / "a.mindrecord")
    assert reader.facts(written / "b.mindrecord")["rows"] == 50
