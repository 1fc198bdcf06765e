"""Files of anyone are read as MindSpore reads them; damaged ones, and those with another's index, are told of."""

import shutil
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.errors import MrprepError
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


@pytest.mark.parametrize("stretch", [(8, 600), (1 << 16, (1 << 16) + 5000)], ids=["header", "rows"])
def test_bytes_at_random_crash_nothing(written: Path, tmp_path: Path, stretch: tuple[int, int]) -> None:
    """MindRecord's library crashes over a third of such headers; here each is read, or refused in a sentence."""
    rng, said, sound = np.random.default_rng(0), [], (written / "a.mindrecord").read_bytes()
    for number in range(60):
        file = copy(written, tmp_path / str(number))
        data = bytearray(sound)
        for at in rng.integers(*stretch, 3).tolist():
            data[at] = int(rng.integers(32, 127))
        file.write_bytes(data)
        try:
            for column in describe(file)[1]:
                assert len(list(read_ragged(file, column))) == 50
        except MrprepError as error:
            said.append(str(error))
    assert 5 < len(said) < 60
    assert all("cannot be read as MindRecord" in text for text in said)


def test_wrong_numbers_in_an_index_crash_nothing(written: Path, tmp_path: Path) -> None:
    for number in range(12):
        file = copy(written, tmp_path / str(number))
        table = sqlite3.connect(index_of(file))
        column = ("PAGE_ID_BLOB", "PAGE_OFFSET_BLOB", "PAGE_OFFSET_BLOB_END")[number % 3]
        value = (-1, 7, 1 << 62, "x")[number % 4]
        table.execute(f"UPDATE INDEXES SET {column} = ? WHERE ROW_ID = ?", (value, number + 1))
        table.commit()
        table.close()
        with pytest.raises(MrprepError, match="cannot be read as MindRecord"):
            list(read_ragged(file, "input_ids"))


def test_another_version_of_the_format_is_a_sentence(written: Path, tmp_path: Path) -> None:
    file = copy(written, tmp_path / "x")
    file.write_bytes(file.read_bytes().replace(b'"version":"3.0"', b'"version":"2.0"'))
    with pytest.raises(MrprepError, match="of a version of the format that is not read"):
        describe(file)


_KINDS = {
    "int32": st.integers(-(1 << 31), (1 << 31) - 1),
    "int64": st.integers(-(1 << 63), (1 << 63) - 1),
    "float32": st.floats(width=32, allow_nan=False),
}
_EDGES = st.sampled_from([0, 127, 128, -128, -129, 32767, 32768, -32768, -32769])


def _arrays(kind: str) -> st.SearchStrategy[list[list[float]]]:
    numbers = _KINDS[kind] if kind == "float32" else st.one_of(_EDGES, _KINDS[kind])
    return st.lists(st.lists(numbers, min_size=1, max_size=20), min_size=1, max_size=12)


@settings(max_examples=12, deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcd"), st.sampled_from(sorted(_KINDS)), min_size=1),
    st.sets(st.sampled_from(["name", "bytes", "number"])),
    st.data(),
)
def test_columns_of_any_kind_are_what_mindspore_reads(kinds: dict[str, str], others: set[str], data) -> None:
    """Arrays of several types, side by side with strings, bytes and numbers, against MindDataset and what went in."""
    import mindspore.dataset as ds
    from mindspore.mindrecord import FileWriter

    arrays = {name: data.draw(_arrays(kind)) for name, kind in kinds.items()}
    count = min(map(len, arrays.values()))
    held = {"name": ("string", "x"), "bytes": ("bytes", b"y" * count), "number": ("int32", 5)}
    rows = [
        {name: np.array(arrays[name][n], kind) for name, kind in kinds.items()} | {key: held[key][1] for key in others}
        for n in range(count)
    ]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "a.mindrecord"
        writer = FileWriter(str(file), 1)
        writer.set_header_size(1 << 16)
        writer.set_page_size(1 << 16)
        fields = {name: {"type": kind, "shape": [-1]} for name, kind in kinds.items()}
        writer.add_schema(fields | {key: {"type": held[key][0]} for key in others}, "rows")
        writer.write_raw_data(rows)
        writer.commit()
        integers = [name for name, kind in kinds.items() if kind != "float32"]
        assert describe(file) == (count, {name: fields[name] for name in sorted(integers)})
        dataset = ds.MindDataset(str(file), columns_list=sorted(kinds), shuffle=False, num_parallel_workers=1)
        theirs = list(dataset.create_dict_iterator(num_epochs=1, output_numpy=True))
        for name in integers:
            ours = [row.tolist() for row in read_ragged(file, name)]
            assert ours == [row[name].tolist() for row in theirs] == arrays[name][:count]
            turned = [row.tolist() for row in read_ragged(file, name, [count - 1, 0, 0])]
            assert turned == [ours[-1], ours[0], ours[0]]
