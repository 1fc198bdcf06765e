"""tokenizer.json and rank files: the ids of the real packages, no control ids from text, texts back as they were."""

import gzip
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import tiktoken
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public

from mrprep import extras
from mrprep.errors import MrprepError
from mrprep.tokenizers import bytelevel, patterns
from mrprep.tokenizers.choices import Choices
from mrprep.tokenizers.family import content, copy_into, family, open_tokenizer
from mrprep.tokenizers.panics import panics_as_errors
from mrprep.tokenizers.protocol import Tokenizer

SHARED = Path(os.path.realpath(Path(__file__).resolve().parent.parent / ".." / "shared"))
HF = SHARED / "corpora" / "tokenizers" / "hf"
DEEPSEEK, QWEN, GPT2 = HF / "deepseek_v4.tokenizer.json", HF / "qwen.tiktoken", HF / "gpt2_vocab.bpe"
EOS = "<｜end▁of▁sentence｜>"
QWEN_PATTERN = (  # of Qwen's tokenization_qwen.py
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _reference(name: str) -> Any:
    """Return the encoder of the real package, opened its own way."""
    if name == "deepseek":
        backend = tokenizers.Tokenizer.from_file(str(DEEPSEEK))
        return lambda text: backend.encode(text, add_special_tokens=False).ids
    if name == "qwen":
        ranks = tiktoken.load.load_tiktoken_bpe(str(QWEN))
        return tiktoken.Encoding("q", pat_str=QWEN_PATTERN, mergeable_ranks=ranks, special_tokens={}).encode_ordinary
    ranks = tiktoken.load.data_gym_to_mergeable_bpe_ranks(str(GPT2), str(HF / "gpt2_encoder.json"))
    special = {"<|endoftext|>": 50_256}
    pattern = openai_public.r50k_pat_str
    return tiktoken.Encoding("g", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special).encode_ordinary


@pytest.fixture(scope="module", params=["deepseek", "qwen", "gpt2"])
def pair(request: pytest.FixtureRequest) -> tuple[Tokenizer, Any]:
    path = {"deepseek": DEEPSEEK, "qwen": QWEN, "gpt2": GPT2}[request.param]
    return open_tokenizer(path), _reference(request.param)


def _slices() -> list[str]:
    texts = []
    for name, count in (("zh_laws", 3), ("en_reuters", 20), ("zh_poetry", 20)):
        file = next((SHARED / "corpora" / name).glob("*.jsonl.gz"))
        with gzip.open(file) as lines:
            rows = [orjson.loads(line) for _, line in zip(range(count), lines, strict=False)]
        texts += [str(value)[:3000] for row in rows for value in row.values() if isinstance(value, str)]
    book = next((SHARED / "corpora" / "en_gutenberg").rglob("*.md"))
    return [*texts, book.read_text(errors="replace")[:20_000]]


def test_ids_are_the_packages_on_corpora(pair: tuple[Tokenizer, Any]) -> None:
    tokenizer, reference = pair
    texts = _slices()
    ids, offsets = tokenizer.encode_batch(texts)
    assert len(texts) > 40
    assert tokenizer.facts()["encoder"] == "gigatoken"
    for i, text in enumerate(texts):
        own = ids[offsets[i] : offsets[i + 1]].tolist()
        assert own == list(reference(text))
        assert tokenizer.decode(own) == text


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), max_size=4))
def test_ids_are_the_packages_on_any_text(pair: tuple[Tokenizer, Any], texts: list[str]) -> None:
    tokenizer, reference = pair
    ids, offsets = tokenizer.encode_batch(texts)
    for i, text in enumerate(texts):
        own = ids[offsets[i] : offsets[i + 1]].tolist()
        assert own == list(reference(text))
        assert tokenizer.decode(own) == text


def test_code_points_newer_than_unicode_14_are_the_packages(pair: tuple[Tokenizer, Any]) -> None:
    """gigatoken takes U+1ACF, of Unicode 17, for a mark; the packages do not yet."""
    tokenizer, reference = pair
    text = "a\u1acf1\u1acf \u1acf\u1acf.\u1acf\n\u1acf"
    assert tokenizer.encode_batch([text])[0].tolist() == list(reference(text))


def test_no_special_token_comes_of_text(pair: tuple[Tokenizer, Any]) -> None:
    tokenizer, _ = pair
    pieces = tokenizer.pieces()
    control = [pieces.bytes[i].decode() for i in sorted(tokenizer.special["control"])]
    text = "a ".join(control)
    ids, _ = tokenizer.encode_batch([text])
    assert control
    assert not set(ids.tolist()) & (tokenizer.special["control"] | {tokenizer.eod_id, tokenizer.pad_id})
    assert tokenizer.decode(ids.tolist()) == text


def test_added_tokens_match_when_asked() -> None:
    text = f"x<｜fim▁hole｜>y<｜place▁holder▁no▁0｜>{EOS}"
    backend = tokenizers.Tokenizer.from_file(str(DEEPSEEK))
    hole, holder = (backend.token_to_id(name) for name in ("<｜fim▁hole｜>", "<｜place▁holder▁no▁0｜>"))
    for choice, expected in (("none", set()), ("plain", {hole}), ("all", {hole, holder})):
        tokenizer = open_tokenizer(DEEPSEEK, Choices(added_tokens=choice))  # type: ignore[arg-type]
        ids = tokenizer.encode_batch([text])[0].tolist()
        assert set(ids) & {hole, holder, tokenizer.eod_id} == expected
        assert tokenizer.decode(ids) == text


def test_the_patterns_are_tiktokens() -> None:
    for name in ("cl100k", "o200k"):
        source = Path(openai_public.__file__).read_text()
        _, encoding = patterns.ENCODINGS[name]
        if name == "cl100k":
            assert encoding.pattern in source
        else:
            assert all(part in source for part in (r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*"))
            tail = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
            assert encoding.pattern.count(tail) == 2
    assert patterns.ENCODINGS["gpt2"][1].pattern == openai_public.r50k_pat_str


def _small(folder: Path, model: str, *, special: list[str], **config: object) -> Path:
    """Train a small tokenizer.json with the package itself."""
    made: Any
    if model == "unigram":
        made = tokenizers.Tokenizer(tokenizers.models.Unigram())
        made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        made.decoder = tokenizers.decoders.Metaspace()
        trainer: Any = tokenizers.trainers.UnigramTrainer(
            vocab_size=4000, special_tokens=special, unk_token="<unk>", show_progress=False
        )
    else:
        made = tokenizers.Tokenizer(tokenizers.models.BPE())
        made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = tokenizers.decoders.ByteLevel()
        letters = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=400, special_tokens=special, initial_alphabet=letters, show_progress=False
        )
    made.train_from_iterator(_slices()[:30], trainer)
    path = folder / "some.json"
    made.save(str(path))
    if config:
        (folder / "tokenizer_config.json").write_bytes(orjson.dumps(config))
    return path


def test_unigram_has_no_control_ids_and_the_packages_ids_elsewhere(tmp_path: Path) -> None:
    path = _small(tmp_path, "unigram", special=["<unk>", "</s>", "<pad>"])
    tokenizer, backend = open_tokenizer(path), tokenizers.Tokenizer.from_file(str(path))
    assert (tokenizer.kind, tokenizer.unk_id) == ("huggingface-unigram", 0)
    texts = [" ".join(text.split(" ")) for text in _slices()]
    ids, offsets = tokenizer.encode_batch(texts)
    for i, text in enumerate(texts):
        assert ids[offsets[i] : offsets[i + 1]].tolist() == backend.encode(text, add_special_tokens=False).ids
    ids, _ = tokenizer.encode_batch(["a</s>b<pad></s>"])
    assert not set(ids.tolist()) & {tokenizer.eod_id, tokenizer.pad_id}
    assert tokenizer.eod_id == backend.token_to_id("</s>")


def test_eod_is_found_by_the_configuration_then_by_name(tmp_path: Path) -> None:
    path = _small(tmp_path, "bpe", special=["[A]", "[B]", "[C]"])
    with pytest.raises(MrprepError, match=r"does not say which token ends a text.*--eod.*\[A\], \[B\], \[C\]"):
        open_tokenizer(path)
    assert open_tokenizer(path, Choices(eod="[B]")).eod_id == 1
    with pytest.raises(MrprepError, match=r"has no added token \[D\]"):
        open_tokenizer(path, Choices(eod="[D]"))
    config = {"eos_token": {"content": "[C]"}, "pad_token": "[A]", "bos_token": "[B]"}
    (tmp_path / "tokenizer_config.json").write_bytes(orjson.dumps(config))
    tokenizer = open_tokenizer(path)
    assert (tokenizer.eod_id, tokenizer.pad_id, tokenizer.bos_id) == (2, 0, 1)
    copied = copy_into(path, tmp_path / "copy") if (tmp_path / "copy").mkdir() is None else path
    assert copied.name == "tokenizer.json"
    assert open_tokenizer(copied).eod_id == 2
    assert content(copied) == content(path)
    assert len(content(path).split("+")) == 2


def test_a_truncating_file_cuts_no_text(tmp_path: Path) -> None:
    path = _small(tmp_path, "bpe", special=["</s>"])
    backend = tokenizers.Tokenizer.from_file(str(path))
    whole = backend.encode("one two three four five", add_special_tokens=False).ids
    backend.enable_truncation(3)
    backend.enable_padding(length=64)
    backend.save(str(path))
    assert open_tokenizer(path).encode_batch(["one two three four five"])[0].tolist() == whole


def test_the_family_is_told_by_content(tmp_path: Path) -> None:
    for source, expected in (
        (DEEPSEEK, "huggingface"),
        (QWEN, "tiktoken"),
        (GPT2, "merges"),
        (SHARED / "corpora/tokenizers/llama2_32k.model", "sentencepiece"),
    ):
        shutil.copyfile(source, tmp_path / "any.bin")
        assert family(tmp_path / "any.bin") == expected


def test_unknown_ranks_want_a_pattern(tmp_path: Path) -> None:
    lines = QWEN.read_bytes().splitlines(keepends=True)[:1000]
    (tmp_path / "few.tiktoken").write_bytes(b"".join(lines))
    with pytest.raises(MrprepError, match=r"1,000 ranks, which is no encoding known here.*pattern"):
        open_tokenizer(tmp_path / "few.tiktoken")
    tokenizer = open_tokenizer(tmp_path / "few.tiktoken", Choices(eod="<|end|>", pattern=r"\S+|\s+"))
    assert (tokenizer.eod_id, tokenizer.vocab_size) == (1000, 1001)
    facts = tokenizer.facts()
    assert (facts["encoder"], facts["encoder_note"]) == ("tiktoken", "gigatoken does not know its pattern")
    text = "Hello, 世界 <|end|>"
    ids = tokenizer.encode_batch([text])[0].tolist()
    assert tokenizer.decode(ids) == text
    assert 1000 not in ids
    config = {"added_tokens_decoder": {"x": 1, "7": {}, "1500": {"content": "<e>"}}}
    (tmp_path / "tokenizer_config.json").write_bytes(orjson.dumps(config))
    assert open_tokenizer(tmp_path / "few.tiktoken", Choices(eod="<e>", pattern="qwen")).eod_id == 1500
    (tmp_path / "tokenizer_config.json").unlink()
    for pattern, expected in (("(", "is no regular expression"), (r"(?:a|a)+(?<=b)c", r"fails \(.*begins 'aaaa")):
        tokenizer = open_tokenizer(tmp_path / "few.tiktoken", Choices(eod="<e>", pattern=pattern))
        with pytest.raises(MrprepError, match=expected):
            tokenizer.encode_batch(["a" * 40 + "b"])
    (tmp_path / "few.tiktoken").write_bytes(b"".join([*lines, b"YWFhYWFhYWE= 99999999999\n"]))
    with pytest.raises(MrprepError, match="no whole file of ranks"):
        open_tokenizer(tmp_path / "few.tiktoken", Choices(pattern="qwen"))
    (tmp_path / "few.tiktoken").write_bytes(b"".join(lines[5:]))
    with pytest.raises(MrprepError, match="no whole file of ranks"):
        open_tokenizer(tmp_path / "few.tiktoken", Choices(pattern="qwen"))


def test_broken_files_get_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    for text, expected in (
        ('{"model": {"type": "BPE", "vocab": {"a"', "damaged"),
        ('{"a": 1}', "damaged"),
        ('{"model": {"type": "WordPiece", "vocab": {"a": 0}}, "added_tokens": []}', "is a WordPiece model"),
        ('{"model": {"vocab": {"a": 0}, "merges": []}, "decoder": {"type": "ByteLevel"}}', "no piece for some bytes"),
        ('{"model": {"vocab": {"a": 99999999999}}, "decoder": {"type": "ByteLevel"}}', "damaged"),
        ('{"model": {"vocab": {"a": 0, "b": 0}}, "decoder": {"type": "ByteLevel"}}', "damaged"),
        ('{"model": {"vocab": {"a": 0}, "merges": [[1, 2]]}, "decoder": {"type": "ByteLevel"}}', "damaged"),
        ('{"model": {"vocab": {"a": 0}}, "decoder": {"type": "Sequence"}}', "damaged"),
        ('{"model": {"vocab": {"a": 0}}, "added_tokens": [{"id": 0, "content": "</s>"}]}', "damaged"),
        ('{"model": {"type": "Unigram", "unk_id": 7, "vocab": [["a", -1.0]]}}', "damaged"),
    ):
        path.write_text(text)
        with pytest.raises(MrprepError, match=expected):
            open_tokenizer(path)


def test_a_panic_is_an_error_like_others() -> None:
    panic: type[BaseException] = type("PanicException", (BaseException,), {})
    with pytest.raises(ValueError, match="index out of bounds"), panics_as_errors():
        raise panic("index out of bounds")
    with pytest.raises(KeyboardInterrupt), panics_as_errors():
        raise KeyboardInterrupt


def test_a_missing_package_is_named_when_texts_are_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    tokenizer = open_tokenizer(GPT2)
    assert tokenizer.decode([15496, 995]) == "Hello world"  # needs no package
    with pytest.raises(MrprepError, match=r"pip install 'mrprep\[tiktoken\]'"):
        tokenizer.encode_batch(["x"])


def test_letters_are_the_packages_alphabet() -> None:
    assert set(bytelevel.letters()) == set(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    assert bytelevel.raw("Ġhello") == b" hello"
    assert np.array_equal(np.frombuffer(bytelevel.raw("".join(bytelevel.letters())) or b"", np.uint8), np.arange(256))
