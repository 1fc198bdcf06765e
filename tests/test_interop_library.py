"""mrprep from Python: what the functions return is what lies in the build, in the trainer's order."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest
from interop_builds import small_build, texts

import mrprep
from mrprep import order
from mrprep.errors import MrprepError, UsageError

SEQ = 32


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> mrprep.OpenBuild:
    return small_build(tmp_path_factory.mktemp("flat"))


def test_importing_loads_nothing_heavy_and_the_stub_names_what_there_is() -> None:
    code = "import sys, mrprep; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pyarrow", "pydantic", "mindspore", "mrprep.interop"} & set(loaded)
    stub = ast.parse(Path(mrprep.__file__).with_suffix(".pyi").read_text())
    named = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert {*named, "__version__"} == set(mrprep.__all__) == set(dir(mrprep))
    with pytest.raises(AttributeError, match="no attribute 'buidl'"):
        _ = mrprep.buidl


def test_documents_are_those_that_stay(flat: mrprep.OpenBuild) -> None:
    found = list(flat.documents())
    assert sorted(text.text for text in found) == sorted(texts(120))
    assert {text.path for text in found} == {"a.txt"}
    assert found[0].line == 1 and found[1].line == 3 and len({text.id for text in found}) == 120


@pytest.mark.mindspore
def test_each_row_is_made_of_the_stretches_its_provenance_names(flat: mrprep.OpenBuild) -> None:
    import sentencepiece

    model = str(flat.path / "tokenizer/tokenizer.model")
    encode = sentencepiece.SentencePieceProcessor(model_file=model).encode
    tokens = {text.id: [*encode(text.text), flat.manifest["tokenizer"]["eod_id"]] for text in flat.documents()}
    assert set(flat.splits) == {"train", "valid"}
    for number, row in islice(enumerate(flat.rows()), 0, None, 7):
        ids = row["input_ids"].tolist()
        for stretch in flat.provenance(number):
            wanted = tokens[stretch.id][stretch.token : stretch.token + stretch.length]
            assert ids[stretch.at : stretch.at + stretch.length] == wanted
    assert number + 7 > flat.splits["train"] - 1
    chosen = [row["input_ids"] for row in flat.rows("valid", [1, 0])]
    assert np.array_equal(chosen, list(islice((row["input_ids"] for row in flat.rows("valid")), 2))[::-1])
    with pytest.raises(MrprepError, match=r"no test split \(train, valid\)"):
        flat.rows("test")
    rows = flat.splits["train"]
    assert flat.provenance(rows - 1)
    for row in (-1, rows, 99_999):
        with pytest.raises(IndexError, match=rf"row {row} of train asked for, there are {rows}") as caught:
            flat.provenance(row)
        assert isinstance(caught.value, mrprep.MrprepError)
        with pytest.raises(MrprepError, match=rf"rows {row} to {row} asked for, there are {rows}"):
            next(flat.rows("train", [row]))


def wanted_rows(build: mrprep.OpenBuild, seed: int, epoch: int, batch: int, rank: int, ranks: int) -> np.ndarray:
    """Return the rows of an epoch by the definition in order.py, from the rows in file order."""
    rows = np.stack([row["input_ids"] for row in build.rows()])
    return rows[order.rows(seed, epoch, len(rows), batch * ranks, rank, ranks, 0)].reshape(-1, batch, SEQ + 1)


@pytest.mark.mindspore
def test_the_dataset_gives_each_rank_the_rows_of_the_trainer(flat: mrprep.OpenBuild) -> None:
    for rank in range(2):
        wanted = wanted_rows(flat, 5, 1, 4, rank, 2)
        for start in (0, 3):
            data = mrprep.dataset(flat.path, batch=4, ranks=2, rank=rank, seed=5, epoch=1, start=start)
            assert data.get_dataset_size() == len(wanted) - start
            found = [row for (row,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
            assert np.array_equal(found, wanted[start:])
    with pytest.raises(MrprepError, match="take a smaller batch"):
        mrprep.dataset(flat.path, batch=100_000)
    with pytest.raises(MrprepError, match="rank 2 of 2"):
        mrprep.dataset(flat.path, batch=1, ranks=2, rank=2)
    with pytest.raises(MrprepError, match=r"start 10000: .* start is 0 to \d+"):
        mrprep.dataset(flat.path, batch=4, start=10_000)
    with pytest.raises(MrprepError, match="epoch -1, start 0: epochs are counted from 0"):
        mrprep.dataset(flat.path, batch=4, epoch=-1)


def test_without_torch_the_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "mrprep.interop.torch_rows", raising=False)
    with pytest.raises(MrprepError, match="pip install torch"):
        _ = mrprep.TorchRows


def ids(batches: Iterator[dict]) -> list[list]:
    return [batch["input_ids"].tolist() for batch in batches]


@pytest.mark.mindspore
def test_torch_reads_the_same_rows_in_the_same_order_and_goes_on_where_it_was(flat: mrprep.OpenBuild) -> None:
    pytest.importorskip("torch")
    data = mrprep.TorchRows(flat.path, batch=4, ranks=2, rank=1, seed=5)
    first, second = (wanted_rows(flat, 5, epoch, 4, 1, 2).tolist() for epoch in (0, 1))
    assert len(data) == len(first)
    assert ids(iter(data)) == first and ids(iter(data)) == second
    data.set_epoch(0)
    some = ids(islice(iter(data), 3))
    held = data.state_dict()
    again = mrprep.TorchRows(flat.path, batch=4, ranks=2, rank=1, seed=5)
    again.load_state_dict(held)
    assert some + ids(iter(again)) == first and ids(iter(again)) == second
    halves = [mrprep.TorchRows(flat.path, batch=2, ranks=4, rank=rank, seed=5) for rank in (1, 3)]
    for half in halves:
        half.load_state_dict(held)
    both = [list(chain(*zip(*pair, strict=True))) for pair in zip(*map(ids, map(iter, halves)), strict=True)]
    assert both == first[3:]
    with pytest.raises(MrprepError, match=r"of other rows \(seed\)"):
        mrprep.TorchRows(flat.path, batch=4, ranks=2, seed=6).load_state_dict(held)


@pytest.mark.mindspore
@pytest.mark.parametrize("workers", [0, 2, 3])
def test_workers_of_a_loader_change_nothing(flat: mrprep.OpenBuild, workers: int) -> None:
    data_module = pytest.importorskip("torch.utils.data")
    data = mrprep.TorchRows(flat.path, batch=4, seed=5)
    wanted = wanted_rows(flat, 5, 0, 4, 0, 1).tolist()
    found = list(data_module.DataLoader(data, batch_size=None, num_workers=workers))
    assert [batch["step"] for batch in found] == list(range(len(wanted))) and ids(iter(found)) == wanted
    data.load_state_dict(data.state_dict(5))
    assert ids(iter(data_module.DataLoader(data, batch_size=None, num_workers=workers))) == wanted[5:]


def test_mistakes_are_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(MrprepError, match="not a finished build"):
        mrprep.open_build(tmp_path)
    with pytest.raises(UsageError, match="seq"):
        mrprep.build(tmp_path, tmp_path / "out", options={"pack": {"seq": 0}})
    with pytest.raises(UsageError, match="no inputs"):
        mrprep.build([], tmp_path / "out")
