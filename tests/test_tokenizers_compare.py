"""`mrprep tokenizer compare`: its figures against the packages themselves."""

import json
from pathlib import Path

import pytest
import sentencepiece
import tiktoken
import tiktoken.load
from typer.testing import CliRunner

from mrprep.cli.app import app, run

TOKENIZERS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpora" / "tokenizers"
GPT2, LLAMA = TOKENIZERS / "hf/gpt2_vocab.bpe", TOKENIZERS / "llama2_32k.model"
Capture = pytest.CaptureFixture[str]
TEXTS = ["The cat sat on the mat.", "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。", "x = 1"]


def test_figures_are_the_packages(tmp_path: Path) -> None:
    corpus = tmp_path / "some.jsonl"
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    result = CliRunner().invoke(app, ["tokenizer", "compare", str(GPT2), str(LLAMA), "--on", str(corpus), "--json"])
    found = json.loads(result.stdout)
    ranks = tiktoken.load.data_gym_to_mergeable_bpe_ranks(str(GPT2), str(GPT2.with_name("gpt2_encoder.json")))
    llama = sentencepiece.SentencePieceProcessor(model_file=str(LLAMA))
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
    gpt2 = tiktoken.Encoding("g", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    counts = [[len(gpt2.encode_ordinary(text)), len(llama.encode(text))] for text in TEXTS]
    size = sum(len(text.encode()) for text in TEXTS)
    assert result.exit_code == 0
    assert (found["documents"], found["bytes"]) == (3, size)
    for number, row in enumerate(found["tokenizers"]):
        tokens = sum(count[number] for count in counts)
        assert row["tokens"] == tokens
        assert row["bytes_per_token"] == size / tokens
        assert row["unknown"] == 0
    plain = {
        llama.id_to_piece(i).replace("\u2581", " ").encode()
        for i in range(len(llama))
        if not (llama.is_control(i) or llama.is_byte(i) or llama.is_unknown(i))
    }
    own = {piece for piece in ranks if len(piece) > 1 or piece[0] < 0x80}
    assert found["overlap"][0]["share"] == len(plain & own) / min(len(plain), len(own))
    most = found["differ_most"][0]
    assert most["place"] == "some.jsonl:2"
    assert most["tokens"] == counts[1]


def test_of_three_all_pairs_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one text\n")
    files = [str(TOKENIZERS / name) for name in ("spm_test_en_unigram1k.model", "chinese_sp_20k.model")]
    files.append(files[0])
    result = CliRunner().invoke(app, ["tokenizer", "compare", *files, "--on", str(tmp_path / "a.txt"), "--json"])
    pairs = json.loads(result.stdout)["overlap"]
    assert [pair["of"] for pair in pairs] == [files[:2], [files[0]] * 2, files[1:]]
    assert pairs[0]["share"] == pairs[2]["share"] < pairs[1]["share"] == 1


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none", None, "cannot be read (No such file or directory): name a SentencePiece or YouTokenToMe .model, "),
        ("a.model", b"", "is no SentencePiece model, or a damaged one: name a SentencePiece or YouTokenToMe .model, "),
        ("a.jsonl", b'{"text": "a"}\n{}\n', "is no tokenizer.json, or a damaged one: name a SentencePiece or YouTok"),
        ("encoder.json", b'{"a": 0}', "holds ids alone, as the encoder.json or vocab.json of a vocab.bpe does: name "),
    ],
)
def test_what_is_no_tokenizer_is_a_sentence(
    tmp_path: Path, capsys: Capture, name: str, content: bytes | None, says: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    (tmp_path / "a.txt").write_text("one text\n")
    assert run(["tokenizer", "compare", str(tmp_path / name), str(LLAMA), "--on", str(tmp_path / "a.txt")]) == 1
    assert f"{name} {says}" in capsys.readouterr().err


def test_one_file_and_a_corpus_without_text_are_sentences(tmp_path: Path, capsys: Capture) -> None:
    assert run(["tokenizer", "compare", str(LLAMA), "--on", str(tmp_path)]) == 2
    assert "name two or more" in capsys.readouterr().err
    for place in (str(tmp_path), str(LLAMA)):
        assert run(["tokenizer", "compare", str(LLAMA), str(LLAMA), "--on", place]) == 1
        assert f"mrprep: {place} holds no text to compare on: name a file" in capsys.readouterr().err
