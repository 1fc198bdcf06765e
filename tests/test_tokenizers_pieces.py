"""Pieces as bytes: put one after the other they are the text, in every family."""

from pathlib import Path

import numpy as np
import pytest

from mrprep.tokenizers.family import open_tokenizer

TOKENIZERS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpora" / "tokenizers"
TEXT = "The quick brown fox — 天地玄黄，宇宙洪荒。 \U0001f600\u0301 \t\n x = 12345  </s><0x41>"


@pytest.mark.parametrize("name", ["llama2_32k.model", "mistral_v3.model", "hf/deepseek_v4.tokenizer.json"])
def test_pieces_of_a_text_are_its_bytes(name: str) -> None:
    tokenizer = open_tokenizer(TOKENIZERS / name)
    pieces = tokenizer.pieces()
    ids, _ = tokenizer.encode_batch([TEXT])
    written = b"".join(pieces.bytes[token] for token in ids.tolist()).decode()
    assert written.removeprefix(" ") == TEXT
    assert {pieces.kinds[token] for token in ids.tolist()} <= {"normal", "byte"}
    assert tokenizer.decode(ids.tolist()) == TEXT
    assert len(pieces.bytes) == len(pieces.kinds) == pieces.scores.size == tokenizer.vocab_size
    for kind, own in tokenizer.special.items():
        assert own == {i for i, found in enumerate(pieces.kinds) if found == kind}
    assert pieces.kinds[tokenizer.eod_id] == "control"


def test_scores_fall_with_the_rank_of_the_merge() -> None:
    pieces = open_tokenizer(TOKENIZERS / "hf/deepseek_v4.tokenizer.json").pieces()
    scores = dict(zip(pieces.bytes, pieces.scores.tolist(), strict=True))
    assert scores[b" t"] == -1.0 and scores[b" a"] == -2.0  # the first two lines of its merges
    assert scores[b"!"] == 0.0
    assert np.all(pieces.scores <= 0)
