"""Ids by gigatoken against ids by sentencepiece on real models; what is left to sentencepiece."""

import dataclasses
import gzip
import io
import random
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow.parquet as pq
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.tokenizers.fastbpe import PROBES, SPACE, FastBpe, open_fast
from mrprep.tokenizers.model_file import ModelFile, PieceType, read_model
from mrprep.tokenizers.protocol import Tokenizer
from mrprep.tokenizers.sentencepiece import open_sentencepiece

FAST = ("llama2_32k", "mistral_v3")
SLOW = ("internlm2", "chinese_sp_20k", "spm_test_en_unigram1k")


def _path(shared: Path, name: str) -> Path:
    return shared / "corpora" / "tokenizers" / f"{name}.model"


@cache
def _open(path: Path) -> tuple[Tokenizer, Any]:
    return open_sentencepiece(path, checked=True), sentencepiece.SentencePieceProcessor(model_file=str(path))


def _differences(path: Path, texts: Iterable[str]) -> list[str]:
    """Return the texts whose ids are not what sentencepiece alone gives for them."""
    texts = list(texts)
    tokenizer, reference = _open(path)
    ids, offsets = tokenizer.encode_batch(texts)
    expected = reference.encode(texts)
    return [
        text
        for text, start, stop, want in zip(texts, offsets[:-1], offsets[1:], expected, strict=True)
        if ids[start:stop].tolist() != want
    ]


def _corpora(shared: Path) -> Iterator[str]:
    corpora = shared / "corpora"
    for file in (
        sorted((corpora / "zh_laws").glob("*.jsonl.gz"))[:1] + sorted((corpora / "en_reuters").glob("*.jsonl.gz"))[:1]
    ):
        with gzip.open(file) as lines:
            yield from (orjson.loads(line)["text"] for line, _ in zip(lines, range(200), strict=False))
    yield from pq.read_table(next((corpora / "en_python_doc").glob("*.parquet")))["text"].to_pylist()[:20]
    yield from pq.read_table(next((corpora / "zh_classics").glob("*.parquet")))["text"].to_pylist()[:10]
    yield next((corpora / "en_gutenberg").rglob("*.md")).read_text(encoding="utf-8")[:100_000]


@pytest.fixture(scope="module", params=[*FAST, *SLOW])
def path(request: pytest.FixtureRequest, shared: Path) -> Path:
    return _path(shared, request.param)


@pytest.fixture(scope="module", params=FAST)
def fast_path(request: pytest.FixtureRequest, shared: Path) -> Path:
    return _path(shared, request.param)


def test_real_text_gives_the_ids_of_sentencepiece(path: Path, shared: Path) -> None:
    assert _differences(path, _corpora(shared)) == []


@pytest.mark.parametrize(
    ("name", "encoder"), [*((n, "gigatoken") for n in FAST), *((n, "sentencepiece") for n in SLOW)]
)
def test_which_models_are_encoded_by_what(shared: Path, name: str, encoder: str) -> None:
    facts = _open(_path(shared, name))[0].facts()
    assert facts["encoder"] == encoder
    assert bool(facts["encoder_note"]) == (encoder == "sentencepiece")


def test_texts_of_all_of_unicode(fast_path: Path) -> None:
    tokenizer, reference = _open(fast_path)
    character = st.one_of(
        st.characters(exclude_categories=["Cs"]), st.sampled_from("  \n\t\0▁=-<>s/0x哈　\u200d\ufe0f\u0301\U0001f468")
    )

    @settings(max_examples=400, deadline=None, database=None)
    @given(st.lists(st.text(character, max_size=40), max_size=8))
    def same(texts: list[str]) -> None:
        ids, offsets = tokenizer.encode_batch(texts)
        assert ids.dtype == np.int32
        assert offsets.dtype == np.int64
        assert offsets.tolist() == np.cumsum([0, *map(len, reference.encode(texts))]).tolist()
        assert ids.tolist() == [token for text in texts for token in reference.encode(text)]

    same()


def test_texts_made_of_pieces(fast_path: Path) -> None:
    """Random rows of pieces, and pieces repeated and cut off: what random characters never reach."""
    model = read_model(fast_path)
    plain = [piece for piece, kind in zip(model.pieces, model.types, strict=True) if kind != PieceType.BYTE]
    rng = random.Random(0)

    def text() -> str:
        first, other = rng.choice(plain).replace(SPACE, " "), rng.choice(plain)
        row = "".join(rng.choice(plain) for _ in range(rng.randrange(12))).replace(SPACE, " ")
        again = first * rng.randrange(1, 9) + first[: rng.randrange(len(first) + 1)]
        return rng.choice([row, again, other + again, row + again + other])

    assert _differences(fast_path, (text() for _ in range(20_000))) == []


def test_runs_of_every_character_that_has_pieces_for_runs(fast_path: Path) -> None:
    """The argument of the module about runs: every run alone, and between the pieces that could take an end of it."""
    model = read_model(fast_path)
    plain = [p for p, kind in zip(model.pieces, model.types, strict=True) if kind == PieceType.NORMAL and len(p) > 1]
    runs = {p[0]: len(p) for p in sorted(plain, key=len) if p == p[0] * len(p) and len(p) > 2}
    assert {SPACE, "="} <= runs.keys()
    rng = random.Random(0)
    texts = []
    for char, longest in runs.items():
        left = [p.rstrip(char) for p in plain if p.endswith(char) and p.strip(char)]
        right = [p.lstrip(char) for p in plain if p.startswith(char) and p.strip(char)]
        for n in range(1, 2 * longest + 3):
            texts.append(char * n)
            texts += [rng.choice(left or [""]) + char * n + rng.choice(right or [""]) for _ in range(60)]
    assert _differences(fast_path, (text.replace(SPACE, " ") for text in texts)) == []


LITERALS = (
    "</s>",
    "<s>",
    "<unk>",
    "<pad>",
    "<|im_end|>",
    "<0x0A>",
    "[INST]",
    "[REFERENCE_DOC_3]",
    "[UNUSED_TOKEN_145]",
)


@pytest.mark.parametrize("literal", LITERALS)
def test_literals_of_special_pieces_never_become_control_ids(path: Path, literal: str) -> None:
    tokenizer, _ = _open(path)
    texts = [literal, f"a{literal}b", f"one {literal} two", literal * 3, f"{literal}\n"]
    ids, _ = tokenizer.encode_batch(texts)
    assert not tokenizer.special["control"] & set(ids.tolist())
    assert tokenizer.eod_id not in ids
    assert _differences(path, texts) == []


@pytest.mark.parametrize("text", ["a" * 1_000_000, "AGCT" * 250_000, "天地玄黄" * 250_000, " " * 1_000_000])
def test_a_million_characters_without_a_break_take_seconds(shared: Path, text: str) -> None:
    path = _path(shared, "llama2_32k")
    tokenizer, reference = _open(path)
    start = time.process_time()
    ids, _ = tokenizer.encode_batch([text])
    assert time.process_time() - start < 5
    assert ids.tolist() == reference.encode(text)


def _model(**changes: object) -> ModelFile:
    """A model of a few letters whose merges are all distinct."""
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    normal = ["ab", "abab", "ababab", "a", "b", SPACE]
    model = ModelFile(
        sha256="",
        model_type="bpe",
        pieces=("<unk>", "<s>", "</s>", *bytes_, *normal),
        scores=(*[0.0] * 259, *(-float(i) for i in range(len(normal)))),
        types=(2, 3, 3, *[6] * 256, *[1] * len(normal)),
        byte_fallback=True,
        charsmap=False,
        normalization="identity",
        add_dummy_prefix=True,
        remove_extra_whitespaces=False,
        escape_whitespaces=True,
        whitespace_as_suffix=False,
    )
    return dataclasses.replace(model, **changes)


def _with(piece: str, score: float, kind: PieceType) -> dict[str, object]:
    model = _model()
    return {"pieces": (*model.pieces, piece), "scores": (*model.scores, score), "types": (*model.types, kind)}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_type": "unigram"}, "no BPE"),
        ({"byte_fallback": False}, "byte fallback"),
        ({"charsmap": True}, "rewrites"),
        ({"remove_extra_whitespaces": True}, "rewrites"),
        ({"escape_whitespaces": False}, "spaces"),
        ({"whitespace_as_suffix": True}, "spaces"),
        (_with("c", -9.0, PieceType.UNUSED), "unused"),
        (_with("\0", -9.0, PieceType.NORMAL), "unused"),
        (_with("ab", -9.0, PieceType.NORMAL), "twice"),
        (_with("ba", -1.0, PieceType.NORMAL), "one score"),
        (_with("x y", 0.0, PieceType.USER_DEFINED), "special piece"),
        (_with(f"{SPACE}x", 0.0, PieceType.CONTROL), "special piece"),
        ({"pieces": ("ba", *_model().pieces[1:])}, "special piece"),
    ],
)
def test_a_model_that_is_not_proven_equal_is_refused(changes: dict[str, object], reason: str) -> None:
    fast, why = open_fast(Path("none.model"), _model(**changes), None)
    assert fast is None
    assert reason in why


def _trained(**options: object) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["hello there world, hahahahahaha ababababababab"] * 50),
        model_writer=model,
        vocab_size=330,
        model_type="bpe",
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def test_a_text_that_can_be_merged_in_two_ways_is_left_to_sentencepiece(tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    path.write_bytes(_trained())
    model = read_model(path)
    assert "hahaha" in model.pieces
    fast, why = open_fast(path, model, sentencepiece.SentencePieceProcessor(model_file=str(path)))
    assert isinstance(fast, FastBpe), why
    _, flagged = fast.encode(["hello", "xhahahahahax", "haha"])
    assert flagged == [1]
    rng = random.Random(1)
    texts = ("".join(rng.choice(["ha", "h", "a", "ab", "b", " "]) for _ in range(30)) for _ in range(5000))
    assert _differences(path, texts) == []


def test_probes_that_differ_send_the_model_to_sentencepiece(shared: Path) -> None:
    class Other:
        def encode(self, text: str, return_type: str) -> list[int]:
            return [1]

    path = _path(shared, "llama2_32k")
    fast, why = open_fast(path, read_model(path), Other())
    assert fast is None
    assert "disagree" in why


def test_probes_hold_what_they_promise() -> None:
    joined = "".join(PROBES)
    assert "" in PROBES
    for needed in ("<s>", "\0", "天", "😀", "\u2581", " " * 40, "<0x41>", "\ufeff"):
        assert needed in joined
