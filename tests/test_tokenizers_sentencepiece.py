"""Opening SentencePiece models: what is refused and how, and which ids mean what."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from mrprep.errors import MrprepError
from mrprep.tokenizers import model_file
from mrprep.tokenizers.sentencepiece import open_sentencepiece

ALL = ("llama2_32k", "internlm2", "mistral_v3", "chinese_sp_20k", "spm_test_en_unigram1k")
Trained = Callable[..., Path]


@pytest.fixture
def trained(tmp_path: Path) -> Trained:
    def train(**options: object) -> Path:
        model = io.BytesIO()
        defaults = {"vocab_size": 320, "byte_fallback": True, "model_type": "bpe", "hard_vocab_limit": False}
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["some words of text, and some more words"] * 20),
            model_writer=model,
            minloglevel=2,
            **(defaults | options),
        )
        path = tmp_path / "some.model"
        path.write_bytes(model.getvalue())
        return path

    return train


@pytest.mark.parametrize(
    ("name", "eod", "bos", "pad", "unk", "user"),
    [
        ("llama2_32k", 2, 1, 1, None, 0),
        ("internlm2", 2, 1, 1, None, 192),
        ("mistral_v3", 2, 1, 1, None, 20),
        ("chinese_sp_20k", 2, 1, 1, 0, 0),
        ("spm_test_en_unigram1k", 2, 1, 1, 0, 0),
    ],
)
def test_ids_of_real_models(shared: Path, name: str, eod: int, bos: int, pad: int, unk: int | None, user: int) -> None:
    path = shared / "corpora" / "tokenizers" / f"{name}.model"
    tokenizer = open_sentencepiece(path, checked=True)
    assert (tokenizer.eod_id, tokenizer.bos_id, tokenizer.pad_id, tokenizer.unk_id) == (eod, bos, pad, unk)
    assert len(tokenizer.special["user_defined"]) == user
    reference = sentencepiece.SentencePieceProcessor(model_file=str(path))
    assert tokenizer.vocab_size == len(reference)
    assert tokenizer.special["control"] == {i for i in range(len(reference)) if reference.is_control(i)}
    assert tokenizer.special["byte"] == {i for i in range(len(reference)) if reference.is_byte(i)}
    assert [tokenizer.piece(i) for i in (0, 1, 2, 700)] == reference.id_to_piece([0, 1, 2, 700])


@pytest.mark.parametrize("name", ["llama2_32k", "internlm2", "mistral_v3"])
def test_byte_fallback_models_give_the_text_back(shared: Path, name: str) -> None:
    tokenizer = open_sentencepiece(shared / "corpora" / "tokenizers" / f"{name}.model", checked=True)
    text = "Hello,  world\n\n天地玄黄 😀\t\U0010fffe end"
    ids, _ = tokenizer.encode_batch([text])
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode([*ids, tokenizer.eod_id]) == text


def test_no_texts_and_empty_texts(shared: Path) -> None:
    tokenizer = open_sentencepiece(shared / "corpora" / "tokenizers" / "llama2_32k.model", checked=True)
    assert [part.tolist() for part in tokenizer.encode_batch([])] == [[], [0]]
    ids, offsets = tokenizer.encode_batch(["", "a", ""])
    assert offsets.tolist() == [0, 0, ids.size, ids.size]


def test_a_pad_of_its_own_comes_first(trained: Trained) -> None:
    assert open_sentencepiece(trained(pad_id=3)).pad_id == 3


def test_without_pad_and_bos_another_control_piece_pads(trained: Trained) -> None:
    tokenizer = open_sentencepiece(trained(bos_id=-1, eos_id=1, control_symbols=["<x>"]))
    assert tokenizer.bos_id is None
    assert tokenizer.pad_id is not None
    assert tokenizer.piece(tokenizer.pad_id) == "<x>"


def test_without_control_pieces_the_unknown_piece_pads_if_bytes_make_it_unreachable(trained: Trained) -> None:
    assert open_sentencepiece(trained(bos_id=-1, eos_id=1)).pad_id == 0
    assert open_sentencepiece(trained(bos_id=-1, eos_id=1, byte_fallback=False, vocab_size=40)).pad_id is None


def test_eod_may_be_another_control_piece(trained: Trained) -> None:
    tokenizer = open_sentencepiece(trained(control_symbols=["<end>"]), eod="<end>")
    assert tokenizer.piece(tokenizer.eod_id) == "<end>"
    assert tokenizer.facts()["eod_piece"] == "<end>"


@pytest.mark.parametrize(
    ("options", "eod", "message"),
    [
        ({"eos_id": -1}, None, "has no end-of-sentence piece"),
        ({}, "<nothing>", "has no piece <nothing>"),
        ({"user_defined_symbols": ["<end>"]}, "<end>", "can come of plain text"),
        ({}, "s", "can come of plain text"),
        ({}, "<unk>", "can come of plain text"),
        ({}, "<0x0A>", "can come of plain text"),
    ],
)
def test_eod_that_cannot_be(trained: Trained, options: dict[str, object], eod: str | None, message: str) -> None:
    with pytest.raises(MrprepError, match=message):
        open_sentencepiece(trained(**options), eod=eod)


@pytest.mark.parametrize("model_type", ["bpe", "unigram", "word", "char"])
@pytest.mark.parametrize("add_dummy_prefix", [False, True])
def test_no_kind_of_model_gives_eod_for_its_literal(trained: Trained, model_type: str, add_dummy_prefix: bool) -> None:
    path = trained(model_type=model_type, byte_fallback=False, vocab_size=30, add_dummy_prefix=add_dummy_prefix)
    tokenizer = open_sentencepiece(path)
    assert tokenizer.piece(tokenizer.eod_id) == "</s>"
    ids, _ = tokenizer.encode_batch(["</s>", "some </s> words", "</s></s> </s>", "words</s>"])
    assert not tokenizer.special["control"] & set(ids.tolist())


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(MrprepError, match=r"no\.model cannot be read \(No such file"):
        open_sentencepiece(tmp_path / "no.model")
    with pytest.raises(MrprepError, match="cannot be read"):
        open_sentencepiece(tmp_path)


@pytest.mark.parametrize("content", [b"", b"hello, I am no model\n" * 100, b"\0" * 1000, b"\n\xff\xff\xff\xff\x0f" * 9])
@pytest.mark.parametrize("checked", [False, True])
def test_a_file_that_is_no_model(tmp_path: Path, content: bytes, checked: bool) -> None:
    path = tmp_path / "bad\x1b.model"
    path.write_bytes(content)
    with pytest.raises(MrprepError, match=r"bad\\x1b\.model is no SentencePiece model"):
        open_sentencepiece(path, checked=checked)


def test_a_cut_off_model(tmp_path: Path, shared: Path) -> None:
    path = tmp_path / "cut.model"
    path.write_bytes((shared / "corpora" / "tokenizers" / "llama2_32k.model").read_bytes()[:-7])
    with pytest.raises(MrprepError, match="is no SentencePiece model, or a damaged one"):
        open_sentencepiece(path)


def test_a_crash_of_the_library_becomes_a_sentence(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trained()
    monkeypatch.setattr(model_file, "_CHECK", "import os; os.abort()")
    with pytest.raises(MrprepError, match="is no SentencePiece model"):
        open_sentencepiece(path)
    assert open_sentencepiece(path, checked=True).vocab_size > 256


def test_a_hang_of_the_library_becomes_a_sentence(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trained()
    monkeypatch.setattr(model_file, "_CHECK", "import time; time.sleep(60)")
    monkeypatch.setattr(model_file, "CHECK_SECONDS", 0.3)
    with pytest.raises(MrprepError, match="is no SentencePiece model"):
        open_sentencepiece(path)


@pytest.mark.parametrize("name", ALL)
def test_facts_are_plain_and_the_same_wherever_the_file_lies(tmp_path: Path, shared: Path, name: str) -> None:
    path = shared / "corpora" / "tokenizers" / f"{name}.model"
    elsewhere = tmp_path / "other.model"
    elsewhere.write_bytes(path.read_bytes())
    facts = open_sentencepiece(elsewhere, checked=True).facts()
    assert facts == open_sentencepiece(path, checked=True).facts()
    assert "other.model" not in repr(facts)
    assert not any(isinstance(value, np.generic) for value in facts.values())
