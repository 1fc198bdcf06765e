"""`mrprep tokenizer compare`: its figures against the packages themselves."""

import json
from pathlib import Path

import sentencepiece
import tiktoken
import tiktoken.load
from typer.testing import CliRunner

from mrprep.cli.app import app

TOKENIZERS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpora" / "tokenizers"
GPT2, LLAMA = TOKENIZERS / "hf/gpt2_vocab.bpe", TOKENIZERS / "llama2_32k.model"
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
