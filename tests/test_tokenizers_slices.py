"""Ids of long documents: the texts of their slices and pieces are the text of all at once, wherever they are cut."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mrprep.stages import imported
from mrprep.tokenizers import slices
from mrprep.tokenizers.family import open_tokenizer
from mrprep.tokenizers.protocol import Tokenizer

TOKENIZERS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpora" / "tokenizers"
TEXT = "  The  quick brown fox — 天地玄黄，宇宙洪荒。 \U0001f600\u0301龘𠮷 \t\n x = 12345  </s><0x41>" * 9


@pytest.fixture(params=["llama2_32k.model", "chinese_sp_20k.model", "hf/deepseek_v4.tokenizer.json"], scope="module")
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return open_tokenizer(TOKENIZERS / request.param)


@pytest.mark.parametrize("size", [6, 40, 10**6])
def test_slices_and_pieces_are_the_text_of_all_at_once(
    tokenizer: Tokenizer, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "_SLICE_IDS", size)
    monkeypatch.setattr(slices, "MAX_PIECE_BYTES", 5 * size)
    cutter, draws = slices.Slices(tokenizer), np.random.default_rng(size)
    anything = draws.integers(0, tokenizer.vocab_size, 500)
    for ids in (tokenizer.encode_batch([TEXT])[0], anything):
        whole, found, begins = tokenizer.decode(ids.tolist()), "", True
        assert cutter.text(ids, begins=True) == whole
        left = ids
        while left.size:
            end = cutter.piece_end(left)
            piece = cutter.text(left[:end], begins=begins)
            assert end == 1 or cutter._sizes[left[:end]].sum() <= 5 * size
            found, left, begins = found + piece, left[end:], False
        assert found == whole


def test_a_document_has_the_same_pieces_whatever_rows_it_came_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imported, "MAX_PIECE_IDS", 50)
    monkeypatch.setattr(slices, "MAX_PIECE_IDS", 50)
    tokenizer = open_tokenizer(TOKENIZERS / "llama2_32k.model")
    cutter, bos = slices.Slices(tokenizer), tokenizer.bos_id
    ids = np.append([bos, bos], tokenizer.encode_batch([TEXT])[0]).astype(np.int64)

    def pieces(cuts: list[int]) -> Iterator[list[int]]:
        begun = imported._Begun(0, 0, bos)
        for stretch in np.split(ids, cuts):
            begun.add(stretch)
            yield from (piece.ids.tolist() for piece in begun.pieces(cutter, ended=False))
        yield from (piece.ids.tolist() for piece in begun.pieces(cutter, ended=True))

    whole = list(pieces([]))
    assert np.concatenate(whole).tolist() == ids[1:].tolist()
    assert len(whole) > 5 and max(map(len, whole)) <= 50
    for cuts in ([0, 0, 1, 2, 60], [50, 51, 52, 101], list(range(len(ids)))):
        assert list(pieces(cuts)) == whole
