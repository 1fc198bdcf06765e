"""The tokenize phase of one part, against a slow obvious way to do it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.builddir.tables import TOKEN_ENTRY, TextPart
from mrprep.errors import BugError
from mrprep.order import shuffle_keys
from mrprep.stages import tokenize
from mrprep.stages.tokenize import TokenizeUnit, tokenize_unit
from mrprep.tokenizers import assemble
from mrprep.tokenizers.copies import copies, keys

Row = tuple[int, str, str]
"""Document id, source, text."""


def _part(path: Path, rows: list[Row], base: int = 0, group: int = 3) -> TextPart:
    path.mkdir(exist_ok=True)
    ids, sources, texts = zip(*rows, strict=True) if rows else ((), (), ())
    table = pa.table(
        {
            "id": pa.array(ids, pa.uint64()),
            "source": pa.array(sources, pa.dictionary(pa.int32(), pa.string())),
            "text": pa.array(texts, pa.string()),
        }
    )
    pq.write_table(table, path / "text.parquet", row_group_size=group)
    return TextPart(path, base, len(rows))


def _run(unit: TokenizeUnit, out: Path) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    out.mkdir(exist_ok=True)
    tokenize_unit(unit, out)
    return np.load(out / "tokens.npy"), np.load(out / "docs.npy"), orjson.loads((out / "counts.json").read_bytes())


@pytest.fixture(scope="module")
def llama(shared: Path) -> Path:
    return shared / "corpora" / "tokenizers" / "llama2_32k.model"


ROWS: list[Row] = [
    (11, "a", "Hello, world"),
    (12, "b", "first piece "),
    (12, "b", "second piece"),
    (12, "b", ""),
    (13, "a", ""),
    (14, "a", "天地玄黄 </s> 宇宙"),
    (15, "b", "dropped"),
    (16, "a", "last"),
]


def test_by_hand(tmp_path: Path, llama: Path) -> None:
    verdict = tmp_path / "verdict.npy"
    np.save(verdict, np.array([7, 7, -1, -1, -1, -1, -1, -1, 0, -1], np.int64))
    unit = TokenizeUnit(_part(tmp_path / "p", ROWS, base=2), verdict, llama, seed=5)
    tokens, docs, counts = _run(unit, tmp_path / "out")
    reference = sentencepiece.SentencePieceProcessor(model_file=str(llama))
    a, b1, b2, c, d = (reference.encode(ROWS[i][2]) for i in (0, 1, 2, 5, 7))
    assert tokens.dtype == np.uint16
    assert tokens.tolist() == [*a, 2, *b1, *b2, 2, *c, 2, *d, 2]
    assert docs.dtype == TOKEN_ENTRY
    found = {int(e["doc"]): (int(e["start"]), int(e["length"]), bool(e["ends"]), int(e["copy"])) for e in docs}
    lengths = [len(a) + 1, len(b1), len(b2) + 1, len(c) + 1, len(d) + 1]
    starts = np.cumsum([0, *lengths]).tolist()
    assert found == {
        doc: (start, length, doc != 3, 0) for doc, start, length in zip([2, 3, 4, 7, 9], starts, lengths, strict=False)
    }
    text = {"a": ["Hello, world", "天地玄黄 </s> 宇宙", "last"], "b": ["first piece ", "second piece"]}
    assert counts == {
        "kept": 5,
        "encoded": 4,
        "sampled_out": 0,
        "empty": 1,
        "rows": {"encoded": 5, "sampled_out": 0, "empty": 2, "copies": 5},
        "documents": 4,
        "pieces": 5,
        "tokens": tokens.size,
        "eod": 4,
        "bos": 0,
        "unknown": 0,
        "bytes": len("".join(text["a"] + text["b"]).encode()),
        "by_source": {
            "a": {
                "documents": 3,
                "tokens": lengths[0] + lengths[3] + lengths[4],
                "bytes": len("".join(text["a"]).encode()),
            },
            "b": {"documents": 1, "tokens": lengths[1] + lengths[2], "bytes": len("".join(text["b"]).encode())},
        },
    }


@st.composite
def _documents(draw: st.DrawFn) -> list[Row]:
    texts = st.text(st.sampled_from("ab 天😀\n"), max_size=6)
    documents = draw(st.lists(st.tuples(st.sampled_from("abc"), st.lists(texts, min_size=1, max_size=3)), max_size=8))
    return [(1000 + 7 * i, source, text) for i, (source, pieces) in enumerate(documents) for text in pieces]


@settings(max_examples=60, deadline=None, database=None)
@given(
    rows=_documents(),
    group=st.integers(1, 5),
    add_bos=st.booleans(),
    weights=st.sampled_from([{}, {"a": 2.0}, {"a": 0.5, "b": 1.5}, {"a": 0.0, "c": 2.25}]),
    gone=st.sets(st.integers(0, 7)),
    batch=st.sampled_from([1, 5, 1 << 20]),
)
def test_any_part_gives_what_a_loop_over_its_texts_gives(
    tmp_path_factory: pytest.TempPathFactory,
    llama: Path,
    rows: list[Row],
    group: int,
    add_bos: bool,
    weights: dict[str, float],
    gone: set[int],
    batch: int,
) -> None:
    root = tmp_path_factory.mktemp("unit")
    alive = [(row[0] - 1000) // 7 not in gone for row in rows]
    np.save(root / "verdict.npy", np.where(alive, -1, 0).astype(np.int64))
    unit = TokenizeUnit(
        _part(root / "p", rows, group=group), root / "verdict.npy", llama, 9, tuple(weights.items()), add_bos
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assemble, "BATCH_BYTES", batch)
        tokens, docs, counts = _run(unit, root / "out")

    encode = sentencepiece.SentencePieceProcessor(model_file=str(llama)).encode
    expected, n_empty, n_out = [], 0, 0
    kept = [(i, *row) for i, row in enumerate(rows) if alive[i]]
    for document in dict.fromkeys(row[1] for row in kept):
        pieces = [(i, encode(text)) for i, own, _, text in kept if own == document]
        source = next(row[2] for row in kept if row[1] == document)
        times = int(copies(9, np.array([document], np.uint64), np.array([weights.get(source, 1.0)]))[0])
        pieces = [(i, ids) for i, ids in pieces if ids]
        n_out += times == 0
        n_empty += times > 0 and not pieces
        for copy in range(times):
            key = int(shuffle_keys(9, np.array([document], np.uint64), copy)[0])
            for k, (i, ids) in enumerate(pieces):
                head, tail = [1] * (add_bos and k == 0), [2] * (k == len(pieces) - 1)
                expected.append((key, i, copy, [*head, *ids, *tail], bool(tail)))
    found = [
        (
            int(e["key"]),
            int(e["doc"]),
            int(e["copy"]),
            tokens[e["start"] : e["start"] + e["length"]].tolist(),
            bool(e["ends"]),
        )
        for e in docs
    ]
    assert found == sorted(expected)
    assert counts["tokens"] == sum(len(ids) for _, _, _, ids, _ in expected)
    assert counts["eod"] == counts["documents"] == sum(ends for *_, ends in expected)
    assert (counts["empty"], counts["sampled_out"]) == (n_empty, n_out)
    assert counts["kept"] == len({row[1] for row in kept})
    assert tokens.size == sum(len(ids) for _, _, copy, ids, _ in expected if copy == 0)


def test_copies_follow_their_weights() -> None:
    ids = np.arange(20_000, dtype=np.uint64)
    for weight in (0.0, 0.25, 0.999, 1.0, 1.5, 3.0):
        drawn = copies(1, ids, np.full(ids.size, weight))
        assert set(drawn.tolist()) <= {int(weight), int(weight) + 1}
        assert drawn.mean() == pytest.approx(weight, abs=0.015)
    half = np.full(ids.size, 0.5)
    assert copies(1, ids, half).tolist() == copies(1, ids, half).tolist()
    assert copies(1, ids, half).tolist() != copies(2, ids, half).tolist()
    assert abs(np.corrcoef(copies(1, ids, half), shuffle_keys(1, ids).astype(float))[0, 1]) < 0.03


def test_the_key_of_a_copy_is_that_of_order() -> None:
    ids = np.array([3, 4, 3, 3], np.uint64)
    copy = np.array([0, 1, 1, 2])
    expected = [int(shuffle_keys(8, ids[i : i + 1], int(copy[i]))[0]) for i in range(4)]
    assert keys(8, ids, copy).tolist() == expected


def test_unknown_tokens_are_counted_once_a_copy(tmp_path: Path, shared: Path) -> None:
    model = shared / "corpora" / "tokenizers" / "spm_test_en_unigram1k.model"
    rows = [(1, "a", "some words 天"), (2, "a", "none here"), (3, "b", "天 and 地"), (4, "b", " ")]
    unit = TokenizeUnit(_part(tmp_path / "p", rows), None, model, 1, (("a", 2.0),))
    _, _, counts = _run(unit, tmp_path / "out")
    encode = sentencepiece.SentencePieceProcessor(model_file=str(model)).encode
    assert counts["unknown"] == 2 * encode(rows[0][2]).count(0) + encode(rows[2][2]).count(0) > 0
    assert counts["empty"] == 1, "this model's normaliser leaves nothing of a blank text"


def test_a_wide_vocabulary_is_written_as_int32(tmp_path: Path, shared: Path) -> None:
    model = shared / "corpora" / "tokenizers" / "internlm2.model"
    unit = TokenizeUnit(_part(tmp_path / "p", [(1, "a", "我们")]), None, model, 1)
    tokens, _, _ = _run(unit, tmp_path / "out")
    assert tokens.dtype == np.int32
    assert tokens.tolist() == [*sentencepiece.SentencePieceProcessor(model_file=str(model)).encode("我们"), 2]
    assert tokens.max() > 65_535


def test_a_part_without_rows_and_one_without_survivors(tmp_path: Path, llama: Path) -> None:
    np.save(tmp_path / "verdict.npy", np.zeros(1, np.int64))
    for unit in (
        TokenizeUnit(_part(tmp_path / "p", []), None, llama, 1),
        TokenizeUnit(_part(tmp_path / "q", [(1, "a", "x")]), tmp_path / "verdict.npy", llama, 1),
    ):
        tokens, docs, counts = _run(unit, tmp_path / "out")
        assert (tokens.size, docs.size, counts["documents"], counts["kept"]) == (0, 0, 0, 0)
        assert tokens.dtype == np.uint16


def test_the_files_are_the_same_each_time(tmp_path: Path, llama: Path) -> None:
    unit = TokenizeUnit(_part(tmp_path / "p", ROWS), None, llama, seed=5)
    for out in ("one", "two"):
        _run(unit, tmp_path / out)
    for name in ("tokens.npy", "docs.npy", "counts.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_counts_that_do_not_add_up_are_a_bug(tmp_path: Path, llama: Path) -> None:
    from mrprep.tokenizers.sentencepiece import open_sentencepiece

    part = _part(tmp_path / "p", ROWS)
    tokenizer = open_sentencepiece(llama, checked=True)
    written = assemble.write_tokens(
        part, None, tokenizer, tmp_path / "t.npy", weights={"a": 2.0}, seed=1, add_bos=False
    )
    docs = assemble.entries(written, 1)
    with pytest.raises(BugError, match="written"):
        tokenize.count(written, docs[1:], add_bos=False)
    lost = replace(written, rows=replace(written.rows, start=np.full_like(written.rows.start, -1)))
    assert tokenize.count(lost, docs[:0], add_bos=False)["empty"] == 6
