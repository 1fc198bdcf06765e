"""tokenizer.json of Llama 2: the ids of its SentencePiece model. Normalisation and ignore_merges of small files."""

import gzip
import os
from pathlib import Path
from typing import Any

import orjson
import pytest
import sentencepiece
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.tokenizers import bytelevel
from mrprep.tokenizers.family import open_tokenizer
from mrprep.tokenizers.protocol import Tokenizer

SHARED = Path(os.path.realpath(Path(__file__).resolve().parent.parent / ".." / "shared"))
LLAMA = SHARED / "corpora" / "tokenizers" / "llama2_32k.model"
OPEN = {  # how the file of meta-llama opens a text, and how transformers 5 writes it
    "prepend": {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
    },
    "metaspace": {
        "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False},
    },
}


def llama_json(opening: str) -> dict[str, Any]:
    """Return Llama 2's model as a tokenizer.json: every pair that makes a piece, by its score (transformers' rule)."""
    model = sentencepiece.SentencePieceProcessor(model_file=str(LLAMA))
    vocab = {model.id_to_piece(i): i for i in range(len(model))}
    merges = []
    for piece, token in vocab.items():
        pairs = [(piece[:i], piece[i:]) for i in range(1, len(piece)) if piece[:i] in vocab and piece[i:] in vocab]
        merges += [(-model.get_score(token), pair) for pair in sorted(pairs, key=lambda p: (vocab[p[0]], vocab[p[1]]))]
    merges.sort(key=lambda merge: merge[0])
    special = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False) | {"special": True}
    steps = [{"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    return {
        **OPEN[opening],
        "added_tokens": [{"id": i, "content": text, **special} for i, text in enumerate(("<unk>", "<s>", "</s>"))],
        "decoder": {
            "type": "Sequence",
            "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, *steps],
        },
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": vocab,
            "merges": [pair for _, pair in merges],
        },
    }


@pytest.fixture(scope="module", params=list(OPEN))
def llama(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokenizer, str]:
    path = tmp_path_factory.mktemp("llama") / "tokenizer.json"
    path.write_bytes(orjson.dumps(llama_json(request.param)))
    return open_tokenizer(path), request.param


@pytest.fixture(scope="module")
def model() -> Tokenizer:
    return open_tokenizer(LLAMA, checked=True)


def _texts() -> list[str]:
    texts = ["", "a", "</s><s><unk><0x41> a", "\n", "x  y   z\t\t", "\u2581a \u2581", "\x00", "𠮷é\u0301\ufeff"]
    for name, count in (("zh_laws", 3), ("en_reuters", 20), ("zh_poetry", 20)):
        with gzip.open(next((SHARED / "corpora" / name).glob("*.jsonl.gz"))) as lines:
            rows = [orjson.loads(line) for _, line in zip(range(count), lines, strict=False)]
        texts += [str(value)[:3000] for row in rows for value in row.values() if isinstance(value, str)]
    return texts


def _same(llama: tuple[Tokenizer, str], model: Tokenizer, texts: list[str]) -> None:
    """Metaspace puts no mark before a text that begins with one: such lose their first space against the model."""
    tokenizer, opening = llama
    if opening == "metaspace":
        texts = [text.lstrip(" \u2581") for text in texts]
    for own, expected in zip(tokenizer.encode_batch(texts), model.encode_batch(texts), strict=True):
        assert own.tolist() == expected.tolist()


def test_ids_are_those_of_the_model_on_corpora(llama: tuple[Tokenizer, str], model: Tokenizer) -> None:
    tokenizer, opening = llama
    texts = _texts()
    _same(llama, model, texts)
    assert (tokenizer.eod_id, tokenizer.bos_id, tokenizer.unk_id) == (2, 1, None)
    for text in texts:
        written = text.replace("\u2581", " ")
        lost = " " if opening == "metaspace" and written.startswith(" ") else ""
        assert lost + tokenizer.decode(tokenizer.encode_batch([text])[0].tolist()) == written


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), max_size=4))
def test_ids_are_those_of_the_model_on_any_text(
    llama: tuple[Tokenizer, str], model: Tokenizer, texts: list[str]
) -> None:
    _same(llama, model, texts)


def _byte_level(path: Path, **model: Any) -> Path:
    """Write a byte-level file by hand: the 256 bytes, ``ab`` by a merge, ``xyz`` that no merge makes."""
    vocab = {letter: i for i, letter in enumerate(bytelevel.letters())} | {"ab": 256, "xyz": 257}
    content = {
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "added_tokens": [{"id": 258, "content": "</s>", "special": True}],
        "model": {"type": "BPE", "vocab": vocab, "merges": [["a", "b"]], **model},
    }
    added = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    content["added_tokens"][0] |= added  # type: ignore[index]
    path.write_bytes(orjson.dumps(content))
    return path


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_a_whole_word_is_its_piece_where_merges_are_ignored(tmp_path: Path, ignore_merges: bool) -> None:
    path = _byte_level(tmp_path / "t.json", ignore_merges=ignore_merges)
    tokenizer, backend = open_tokenizer(path), tokenizers.Tokenizer.from_file(str(path))
    x, y, z, space = (ord(letter) for letter in "xyz ")
    whole = [257] if ignore_merges else [x, y, z]
    assert tokenizer.encode_batch(["ab"])[0].tolist() == [256]
    assert tokenizer.encode_batch(["xyz"])[0].tolist() == whole
    assert tokenizer.encode_batch(["xyz xyzx"])[0].tolist() == [*whole, space, x, y, z, x]
    for text in ("xyz", "ab xyz", "xyzxyz\nxyz", *_texts()[-3:]):
        assert tokenizer.encode_batch([text])[0].tolist() == backend.encode(text, add_special_tokens=False).ids


def test_text_is_brought_to_nfc(tmp_path: Path) -> None:
    tokenizer = open_tokenizer(_byte_level(tmp_path / "t.json"))
    assert tokenizer.facts()["normalization"] == "NFC"
    ids = tokenizer.encode_batch(["e\u0301 \u212b"])[0].tolist()
    assert ids == list("é Å".encode())  # U+212B is a letter A with a ring, by its canonical form
    assert tokenizer.decode(ids) == "é Å"
