"""Training a vocabulary: the same bytes each time, whatever text comes in."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import sentencepiece

from mrprep.errors import MrprepError
from mrprep.tokenizers.sentencepiece import open_sentencepiece
from mrprep.tokenizers.train import BYTES_PER_PIECE, RESERVED, SMALLEST_VOCABULARY, ModelType, train

PROSE = [
    "The quick brown fox jumps over the lazy dog, and the dog does not mind.\n\nIt was 1984.",
    "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。寒来暑往，秋收冬藏。",
    "def area(r):\n    return 3.14159 * r ** 2\n",
] * 30


def _model(path: Path) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_the_same_bytes_in_another_process(tmp_path: Path, model_type: ModelType) -> None:
    train(PROSE, tmp_path / "a.model", vocab_size=500, model_type=model_type)
    (tmp_path / "elsewhere").mkdir()
    code = (
        "from pathlib import Path; from mrprep.tokenizers.train import train; import sys, json;"
        "train(json.load(open(sys.argv[1])), Path(sys.argv[2]), vocab_size=500, model_type=sys.argv[3])"
    )
    (tmp_path / "texts.json").write_text(json.dumps(PROSE), encoding="utf-8")
    other = tmp_path / "elsewhere" / "b.model"
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "texts.json"), str(other), model_type],
        check=True,
        env={"PYTHONHASHSEED": "7", "LC_ALL": "C", "PATH": "", "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
    )
    sums = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / "a.model", other)}
    assert len(sums) == 1


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_every_text_comes_back_and_nothing_is_unknown(tmp_path: Path, model_type: ModelType) -> None:
    train(PROSE, tmp_path / "a.model", vocab_size=400, model_type=model_type)
    tokenizer = open_sentencepiece(tmp_path / "a.model")
    assert (tokenizer.bos_id, tokenizer.eod_id, tokenizer.pad_id, tokenizer.unk_id) == (1, 2, 3, None)
    for text in (*PROSE[:3], "  leading", "trailing  ", "\n\n\t", "鿿 😀 \0 ▅ \u2028", "</s><pad>"):
        ids, _ = tokenizer.encode_batch([text])
        assert tokenizer.decode(ids) == text
        assert not {0, 1, 2, 3} & set(ids.tolist())


def test_digits_are_split(tmp_path: Path) -> None:
    train(["1984 1984 1984 1984 "] * 100, tmp_path / "a.model", vocab_size=400, model_type="bpe")
    assert [
        piece.lstrip("▁") for piece in _model(tmp_path / "a.model").encode("1984 1984", out_type=str) if piece != "▁"
    ] == list("19841984")


def test_a_default_vocabulary_is_lowered_with_a_note(tmp_path: Path) -> None:
    done = train(PROSE, tmp_path / "a.model", vocab_size=None, model_type="bpe")
    size = sum(len(text.encode()) for text in PROSE)
    assert done.vocab_size <= max(SMALLEST_VOCABULARY, RESERVED + size // BYTES_PER_PIECE)
    assert done.vocab_size == len(_model(tmp_path / "a.model"))
    assert f"{done.vocab_size:,} pieces instead of 32,000" in done.note
    assert done.sample_bytes == size


def test_a_vocabulary_asked_for_is_kept_while_the_text_has_pieces_for_it(tmp_path: Path) -> None:
    done = train(PROSE, tmp_path / "a.model", vocab_size=400, model_type="bpe")
    assert (done.vocab_size, done.asked, done.note) == (400, 400, "")
    short = train(["tiny"], tmp_path / "b.model", vocab_size=5000, model_type="bpe")
    assert short.vocab_size == len(_model(tmp_path / "b.model")) < 5000
    assert "instead of 5,000" in short.note


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
@pytest.mark.parametrize("texts", [["a"], ["a\n"], [" "], ["天"], ["ab" * 40_000], ["hello"] * 2, ["😀😀"]])
def test_hardly_any_text_trains(tmp_path: Path, model_type: ModelType, texts: list[str]) -> None:
    train(texts, tmp_path / "a.model", vocab_size=None, model_type=model_type)
    tokenizer = open_sentencepiece(tmp_path / "a.model")
    assert tokenizer.decode(tokenizer.encode_batch(texts)[0]) == "".join(texts)


@pytest.mark.parametrize("texts", [[], [""], ["", ""]])
def test_no_text_is_a_sentence(tmp_path: Path, texts: list[str]) -> None:
    with pytest.raises(MrprepError, match="no text is left to train a tokenizer on"):
        train(texts, tmp_path / "a.model", vocab_size=None, model_type="bpe")


@pytest.mark.parametrize("texts", [["\0"], ["▅▅"]])
def test_text_that_the_trainer_cannot_read_at_all_is_a_sentence(tmp_path: Path, texts: list[str]) -> None:
    with pytest.raises(MrprepError, match="no text is left to train a tokenizer on"):
        train(texts, tmp_path / "a.model", vocab_size=None, model_type="bpe")


def test_a_failure_of_the_trainer_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(MrprepError, match="SentencePiece cannot be trained on this text"):
        train(["\n\n"], tmp_path / "a.model", vocab_size=None, model_type="bpe")


def test_a_line_with_unreadable_characters_is_not_lost(tmp_path: Path) -> None:
    done = train(["watermelon▅watermelon\0watermelon"] * 50, tmp_path / "a.model", vocab_size=400, model_type="bpe")
    assert done.unreadable == 100
    assert _model(tmp_path / "a.model").encode("watermelon", out_type=str) == ["watermelon"]


def test_a_very_long_line_is_not_lost(tmp_path: Path) -> None:
    train(["x", "watermelon " * 20_000], tmp_path / "a.model", vocab_size=400, model_type="bpe")
    assert len(_model(tmp_path / "a.model").encode("watermelon watermelon")) <= 3


def test_more_characters_than_the_vocabulary_holds(tmp_path: Path) -> None:
    texts = ["".join(map(chr, range(0x4E00, 0x4E00 + 3000))), "天地玄黄" * 200]
    done = train(texts, tmp_path / "a.model", vocab_size=500, model_type="bpe")
    assert done.vocab_size == 500
    assert done.characters == (500 - RESERVED) // 2
    assert len(_model(tmp_path / "a.model").encode("天地玄黄")) <= 2
    assert len(_model(tmp_path / "a.model").encode(chr(0x4E00 + 2900))) == 3


def test_rare_characters_are_written_as_bytes(tmp_path: Path) -> None:
    done = train([*PROSE * 5, "鬱"], tmp_path / "a.model", vocab_size=1500, model_type="bpe")
    pieces = {_model(tmp_path / "a.model").id_to_piece(i) for i in range(done.vocab_size)}
    assert "鬱" not in pieces
    assert "寒" in pieces
