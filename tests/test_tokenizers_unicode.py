"""Every code point, alone and between others: gigatoken and the packages cut alike, or the package does it."""

import sys
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from mrprep.tokenizers.family import open_tokenizer
from mrprep.tokenizers.fastpieces import has_unassigned, in_contexts
from mrprep.tokenizers.listed import Listed
from mrprep.tokenizers.protocol import Tokenizer

TOKENIZERS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpora" / "tokenizers"
LIBRARY_ALONE = {"internlm2.model", "chinese_sp_20k.model", "spm_test_en_unigram1k.model"}
"""Models that gigatoken is not used for: nothing to compare."""
REAL = sorted(path.name for path in TOKENIZERS.rglob("*.*") if path.suffix in {".model", ".tiktoken", ".bpe"})
POINTS = [chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]
ASSIGNED = [char for char in POINTS if unicodedata.category(char) != "Cn"]
PRIVATE = slice(None, None, 64)
"""Of the 138,000 code points of private use and of those not assigned, all alike to any pattern, each 64th is taken."""


def test_unassigned_is_what_python_says() -> None:
    assert not has_unassigned("plain ASCII, 世界 \U0001f600 \ue000")
    assert has_unassigned("a\u1acf")
    assert has_unassigned("\U000e0fff")


def exact_of(path: Path, tokenizer: Tokenizer) -> Callable[[str], Sequence[int]]:
    if isinstance(tokenizer, Listed):
        return tokenizer.encoder.load()  # type: ignore[return-value]
    return sentencepiece.SentencePieceProcessor(model_file=str(path)).encode  # type: ignore[no-any-return]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*REAL, "deepseek_v4.tokenizer.json"])
def test_every_code_point(name: str) -> None:
    path = next(TOKENIZERS.rglob(name))
    tokenizer = open_tokenizer(path)
    used = tokenizer.facts()["encoder"]
    assert (used == "gigatoken") == (name not in LIBRARY_ALONE)
    if used != "gigatoken":
        return
    exact = exact_of(path, tokenizer)
    other = [char for char in POINTS if unicodedata.category(char) in {"Cn", "Co"}][PRIVATE]
    plain = [char for char in ASSIGNED if unicodedata.category(char) != "Co"]
    between = [in_contexts(plain[first : first + 64]) for first in range(0, len(plain), 64)]
    for texts in (plain + other, between, [in_contexts([char]) for char in other]):
        ids, offsets = tokenizer.encode_batch(texts)
        bounds = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        found = [ids[start:stop] for start, stop in bounds]
        assert [text for text, mine in zip(texts, found, strict=True) if not np.array_equal(mine, exact(text))] == []
    if isinstance(tokenizer, Listed):
        fast, _ = tokenizer.encoder.opened
        assert fast is not None
        assert not fast.encode(between)[1], "no assigned code point is left to the package"
