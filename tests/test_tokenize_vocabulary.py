"""The vocabulary phase: a model given, or one trained on what survives."""

import hashlib
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from mrprep.builddir.tables import TextPart
from mrprep.errors import MrprepError
from mrprep.stages import tokenize
from mrprep.stages.tokenize import Options, VocabularyUnit, train_vocabulary


def _parts(root: Path, parts: list[list[str]]) -> tuple[TextPart, ...]:
    out, base = [], 0
    for k, texts in enumerate(parts):
        path = root / f"part{k}"
        path.mkdir(parents=True)
        ids = pa.array(range(base, base + len(texts)), pa.uint64())
        pq.write_table(pa.table({"id": ids, "text": pa.array(texts, pa.string())}), path / "text.parquet")
        out.append(TextPart(path, base, len(texts)))
        base += len(texts)
    return tuple(out)


def _facts(out: Path) -> dict[str, object]:
    found: dict[str, object] = orjson.loads((out / "facts.json").read_bytes())
    return found


TEXTS = [f"{i} green bottles hanging on the wall, 十個綠瓶" for i in range(50)]


def test_a_given_model_is_copied_and_described(tmp_path: Path, shared: Path) -> None:
    model = shared / "corpora" / "tokenizers" / "llama2_32k.model"
    train_vocabulary(VocabularyUnit((), None, Options(model=model), 1), tmp_path)
    assert (tmp_path / "tokenizer.model").read_bytes() == model.read_bytes()
    facts = _facts(tmp_path)
    assert facts["sha256"] == hashlib.sha256(model.read_bytes()).hexdigest()
    assert (facts["vocab_size"], facts["eod_id"], facts["pad_id"]) == (32_000, 2, 1)
    assert "training" not in facts


def test_the_model_depends_on_the_documents_not_on_their_parts(tmp_path: Path) -> None:
    for name, parts in (("a", [TEXTS]), ("b", [TEXTS[:13], [], TEXTS[13:]])):
        (tmp_path / name / "out").mkdir(parents=True)
        unit = VocabularyUnit(_parts(tmp_path / name, parts), None, Options(sample_bytes=1000), 1)
        train_vocabulary(unit, tmp_path / name / "out")
    for file in ("tokenizer.model", "facts.json"):
        assert (tmp_path / "a" / "out" / file).read_bytes() == (tmp_path / "b" / "out" / file).read_bytes()
    assert 1000 <= _facts(tmp_path / "a" / "out")["training"]["sample_bytes"] < 1100  # type: ignore[index]


def test_it_is_trained_on_survivors_alone(tmp_path: Path) -> None:
    parts = _parts(tmp_path, [["aaaa bbbb " * 20, "zzzz " * 50]])
    np.save(tmp_path / "verdict.npy", np.array([-1, 0], np.int64))
    train_vocabulary(VocabularyUnit(parts, tmp_path / "verdict.npy", Options(), 1), tmp_path)
    from sentencepiece import SentencePieceProcessor

    model = SentencePieceProcessor(model_file=str(tmp_path / "tokenizer.model"))
    pieces = "".join(model.id_to_piece(i) for i in range(260, len(model)))
    assert "a" in pieces
    assert "z" not in pieces


def test_no_survivors_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(MrprepError, match="no text is left"):
        train_vocabulary(VocabularyUnit(_parts(tmp_path, [[]]), None, Options(), 1), tmp_path)


def test_bos_wanted_of_a_model_without_one(tmp_path: Path) -> None:
    import io

    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["some words"]),
        model_writer=model,
        vocab_size=20,
        bos_id=-1,
        eos_id=1,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    path = tmp_path / "m.model"
    path.write_bytes(model.getvalue())
    with pytest.raises(MrprepError, match="has no BOS piece"):
        train_vocabulary(VocabularyUnit((), None, Options(model=path, add_bos=True), 1), tmp_path)


def test_settings_hold_a_model_by_its_content(tmp_path: Path, shared: Path) -> None:
    model = shared / "corpora" / "tokenizers" / "spm_test_en_unigram1k.model"
    elsewhere = tmp_path / "same.model"
    elsewhere.write_bytes(model.read_bytes())
    assert tokenize.settings(Options(model=model)) == tokenize.settings(Options(model=elsewhere))
    assert tokenize.settings(Options()) != tokenize.settings(Options(model=model))
    assert tokenize.settings(Options()) != tokenize.settings(Options(vocab_size=1000))
    with pytest.raises(MrprepError, match="cannot be read"):
        tokenize.settings(Options(model=tmp_path / "none.model"))


@pytest.mark.parametrize("wrong", [{"vocab_size": 100}, {"model_type": "word"}, {"sample_bytes": 0}, {"unknown": 1}])
def test_options_that_cannot_be(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Options(**wrong)  # type: ignore[arg-type]
