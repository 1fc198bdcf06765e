"""Shards of others into builds: documents and ids come out as they went in, whatever way the rows were cut."""

from pathlib import Path

import numpy as np
import pytest
from builds import mrprep as run
from interop_builds import small_build

import mrprep

SEQ = 32


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> mrprep.OpenBuild:
    return small_build(tmp_path_factory.mktemp("known"))


@pytest.fixture(scope="module")
def documents(known: mrprep.OpenBuild) -> list[list[int]]:
    import sentencepiece

    model = str(known.path / "tokenizer/tokenizer.model")
    encode = sentencepiece.SentencePieceProcessor(model_file=model).encode
    return [encode(text.text) for text in known.documents()]


def write(folder: Path, columns: dict[str, np.ndarray], kind: str = "int32") -> Path:
    """Write rows with MindSpore's own FileWriter, as the converters of others do, into two files."""
    from mindspore.mindrecord import FileWriter

    folder.mkdir()
    rows = len(columns["input_ids"])
    for number, some in enumerate(np.array_split(np.arange(rows), 2)):
        writer = FileWriter(str(folder / f"old{number}.mindrecord"), shard_num=1)
        writer.add_schema({name: {"type": kind, "shape": [array.shape[1]]} for name, array in columns.items()}, "old")
        writer.write_raw_data([{name: array[i].astype(kind) for name, array in columns.items()} for i in some])
        writer.commit()
    return folder


def imported(build: mrprep.OpenBuild, files: list[Path], out: Path, *more: object) -> list[list[int]]:
    """Import files; return the documents of the new rows by their ids, EOD taken off."""
    model = build.path / "tokenizer/tokenizer.model"
    done = run("import", "mindrecord", *files, "--tokenizer", model, "--out", out, "--seq", 50, "--jobs", 1, *more)
    assert done.returncode == 0, done.stderr
    assert "is not known" in done.stdout
    assert run("export", "megatron", out, "--out", f"{out}.meg", "--jobs", 1).returncode == 0
    from test_interop_megatron import read_indexed

    found = [
        document for split in mrprep.open_build(out).splits for document in read_indexed(Path(f"{out}.meg") / split)
    ]
    assert all(document[-1] == build.manifest["tokenizer"]["eod_id"] for document in found)
    return sorted(document[:-1] for document in found)


@pytest.mark.mindspore
def test_rows_of_our_own_come_back_as_the_same_documents(
    known: mrprep.OpenBuild, documents: list[list[int]], tmp_path: Path
) -> None:
    out = tmp_path / "again"
    assert imported(known, [known.path / "train", known.path / "valid"], out) == sorted(documents)
    assert run("verify", out).returncode == 0
    assert sorted(text.text for text in mrprep.open_build(out).documents()) == sorted(
        text.text for text in known.documents()
    )
    stretch = mrprep.open_build(out).provenance(3)[0]
    assert stretch.where.split(":")[0] in {f"{split}-0000{n}.mindrecord" for split in known.splits for n in range(3)}


@pytest.mark.mindspore
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_inputs_and_labels_of_rows_that_stand_apart(
    known: mrprep.OpenBuild, documents: list[list[int]], tmp_path: Path, kind: str
) -> None:
    """Rows of S + 1 padded at the end, as inputs and shifted labels: what a row cuts is two documents."""
    eod, pad = (known.manifest["tokenizer"][name] for name in ("eod_id", "pad_id"))
    wanted, rows = [], []
    for document in documents[:40]:
        whole = [*document, eod]
        rows += [(whole[start : start + SEQ + 1] + [pad] * SEQ)[: SEQ + 1] for start in range(0, len(whole), SEQ + 1)]
        wanted += [document[start : start + SEQ + 1] for start in range(0, len(document), SEQ + 1)]
    ids = np.array(rows)
    old = write(tmp_path / "old", {"input_ids": ids[:, :-1], "labels": ids[:, 1:]}, kind)
    assert imported(known, [old], tmp_path / "new", "--valid", 0) == sorted(filter(None, wanted))


@pytest.mark.mindspore
def test_a_stream_cut_into_rows_is_joined_and_duplicates_go(
    known: mrprep.OpenBuild, documents: list[list[int]], tmp_path: Path
) -> None:
    eod = known.manifest["tokenizer"]["eod_id"]
    stream = [token for document in documents[:30] + documents[:10] for token in (*document, eod)]
    rows = np.array((stream + [eod] * 2 * SEQ)[: -(-len(stream) // (2 * SEQ + 2)) * (2 * SEQ + 2)]).reshape(-1, SEQ + 1)
    half = len(rows) // 2
    old = write(tmp_path / "old", {"input_ids": rows})
    wanted = sorted(documents[:30] + documents[:10])
    found = imported(known, [old], tmp_path / "new", "--joined", "--valid", 0)
    cut = sum(map(len, found)) - sum(map(len, wanted))
    assert cut == 0 and len(found) - len(wanted) == (0 if rows[half - 1, -1] == eod else 1)  # the end of the first file
    fewer = imported(known, [old], tmp_path / "fewer", "--joined", "--dedupe", "--valid", 0)
    assert len(found) - len(fewer) in {9, 10} and len(set(map(tuple, fewer))) == len(fewer)


@pytest.mark.mindspore
def test_what_cannot_be_imported_is_told(known: mrprep.OpenBuild, tmp_path: Path) -> None:
    model = known.path / "tokenizer/tokenizer.model"
    (tmp_path / "none").mkdir()
    done = run("import", "mindrecord", tmp_path / "none", "--tokenizer", model, "--out", tmp_path / "a")
    assert done.returncode == 1 and "holds no MindRecord file" in done.stderr
    other = write(tmp_path / "other", {"input_ids": np.full((4, 9), 5000)})
    done = run("import", "mindrecord", other, "--tokenizer", model, "--out", tmp_path / "b", "--jobs", 1)
    assert done.returncode == 1 and "row 0 holds id 5000, the tokenizer has" in done.stderr
