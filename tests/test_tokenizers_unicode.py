"""Every code point between others: gigatoken and the packages cut alike, but for those newer than Unicode 14."""

import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from mrprep.tokenizers.family import open_tokenizer
from mrprep.tokenizers.fastpieces import has_unassigned, in_contexts
from mrprep.tokenizers.listed import Listed

HF = Path(__file__).resolve().parent.parent.parent / "shared" / "corpora" / "tokenizers" / "hf"
ASSIGNED = [chr(point) for point in range(sys.maxunicode + 1) if unicodedata.category(chr(point)) not in ("Cn", "Cs")]


def test_unassigned_is_what_python_says() -> None:
    assert not has_unassigned("plain ASCII, 世界 \U0001f600 \ue000")
    assert has_unassigned("a\u1acf")
    assert has_unassigned("\U000e0fff")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["deepseek_v4.tokenizer.json", "qwen.tiktoken", "gpt2_vocab.bpe"])
def test_every_assigned_code_point(name: str) -> None:
    tokenizer = open_tokenizer(HF / name)
    assert isinstance(tokenizer, Listed)
    fast, _ = tokenizer.encoder.opened
    assert fast is not None
    exact = tokenizer.encoder.load()
    texts = [in_contexts(ASSIGNED[first : first + 64]) for first in range(0, len(ASSIGNED), 64)]
    found, flagged = fast.encode(texts)
    assert not flagged
    assert [i for i, text in enumerate(texts) if not np.array_equal(found[i], list(exact(text)))] == []
