"""Megatron's .bin and .idx, read by the published layout alone: the documents are those that went into the build."""

import struct
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
from builds import mrprep as run
from interop_builds import small_build

from mrprep.errors import MrprepError
from mrprep.interop.megatron import closed_at, dtype_of
from mrprep.interop.whole import runs_of, scatter

DTYPES = {4: np.dtype("<i4"), 8: np.dtype("<u2")}


def read_indexed(prefix: Path) -> list[list[int]]:
    """Return the documents of an indexed dataset, by Megatron-LM's description of it."""
    index = prefix.with_suffix(".idx").read_bytes()
    assert index[:9] == b"MMIDIDX\x00\x00"
    version, code, sequences, documents = struct.unpack_from("<QBQQ", index, 9)
    assert version == 1
    at = 9 + 8 + 1 + 8 + 8
    lengths = struct.unpack_from(f"<{sequences}i", index, at)
    places = struct.unpack_from(f"<{sequences}q", index, at + 4 * sequences)
    firsts = struct.unpack_from(f"<{documents}q", index, at + 12 * sequences)
    assert len(index) == at + 12 * sequences + 8 * documents
    data, dtype = prefix.with_suffix(".bin").read_bytes(), DTYPES[code]
    read = [np.frombuffer(data, dtype, n, place).tolist() for n, place in zip(lengths, places, strict=True)]
    assert firsts[0] == 0 and firsts[-1] == sequences and sum(lengths) * dtype.itemsize == len(data)
    return [list(chain(*read[a:b])) for a, b in pairwise(firsts)]


@pytest.mark.mindspore
@pytest.mark.parametrize(("layout", "packing"), [("flat", "concat"), ("mcore", "concat"), ("mcore", "bestfit")])
def test_documents_come_out_as_they_went_in(tmp_path: Path, layout: str, packing: str) -> None:
    import sentencepiece

    build = small_build(tmp_path, layout=layout, packing=packing)
    done = run("export", "megatron", build.path, "--out", tmp_path / "megatron", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    encode = sentencepiece.SentencePieceProcessor(model_file=str(build.path / "tokenizer/tokenizer.model")).encode
    tokens = {text.id: [*encode(text.text), build.manifest["tokenizer"]["eod_id"]] for text in build.documents()}
    for split, rows in build.splits.items():
        order = dict.fromkeys(stretch.id for row in range(rows) for stretch in build.provenance(row, split))
        found, wanted = read_indexed(tmp_path / "megatron" / split), [tokens[name] for name in order]
        assert found == wanted if packing == "concat" else sorted(found) == sorted(wanted)
        assert f"{split}: {len(order):,} documents, {sum(map(len, wanted)):,} tokens" in done.stdout
    assert {file.name for file in (tmp_path / "megatron").iterdir()} == {
        f"{split}.{end}" for split in build.splits for end in ("bin", "idx")
    }


def test_pieces_and_windows_come_together_and_a_missing_token_is_told() -> None:
    """Rows of 4: text 5 is cut into windows (0-3, 3-5), the second in an earlier row; text 2 stands between them."""
    rows = np.array([[53, 54, 55, 0], [50, 51, 52, 53], [20, 21, 0, 0]], np.int32)
    lines = {
        "row": [0, 1, 2],
        "at": [0, 0, 0],
        "doc": [5, 5, 2],
        "copy": [0, 0, 0],
        "token": [3, 0, 0],
        "length": [3, 4, 2],
    }
    columns = {name: np.array(column) for name, column in lines.items()}
    runs, ends = runs_of(columns, 4, in_order=False)
    target = np.zeros(ends[-1], np.uint16)
    scatter([rows[:1], rows[1:]], runs, target)
    assert target.tolist() == [20, 21, 50, 51, 52, 53, 54, 55] and ends.tolist() == [2, 8]
    with pytest.raises(MrprepError, match="fewer rows"):
        scatter([rows[:2]], runs, target)
    with pytest.raises(MrprepError, match="are missing"):
        runs_of({**columns, "token": np.array([5, 0, 0])}, 4, in_order=False)


def test_the_width_is_megatrons() -> None:
    assert [dtype_of(size).name for size in (65_499, 65_500, 128_000)] == ["uint16", "int32", "int32"]


def test_a_document_in_pieces_ends_at_its_eod_and_the_last_at_the_end() -> None:
    tokens = np.array([7, 8, 9, 2, 5, 2, 6], np.uint16)
    assert closed_at(tokens, np.array([2, 4, 6, 7]), 2).tolist() == [4, 6, 7]
