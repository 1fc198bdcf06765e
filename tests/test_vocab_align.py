"""Weights moved to another vocabulary: which piece is which, worked out by hand, and the rows that follow."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from safetensors.numpy import load_file, save_file
from sentencepiece import sentencepiece_model_pb2
from typer.testing import CliRunner

from mrprep.cli.app import app
from mrprep.conversion.matching import match
from mrprep.conversion.vocabulary import align
from mrprep.errors import MrprepError
from mrprep.tokenizers.family import open_tokenizer
from mrprep.tokenizers.protocol import Pieces
from mrprep.training.weights import origin_of

SHARED = Path(__file__).resolve().parents[2] / "shared/corpora/tokenizers"


@dataclass
class Vocabulary:
    """A tokenizer of a few pieces; text is encoded by the longest piece, after ``form`` has changed it."""

    entries: Sequence[tuple[bytes, str]]
    eod_id: int = 0
    bos_id: int | None = None
    pad_id: int | None = None
    unk_id: int | None = None
    form: Any = str

    def pieces(self) -> Pieces:
        names, kinds = zip(*self.entries, strict=True)
        return Pieces(names, kinds, -np.arange(len(names), dtype=np.float64))

    def encode_batch(self, texts: Sequence[str]) -> tuple[Any, Any]:
        ids, starts = [], [0]
        names = {name: i for i, (name, kind) in enumerate(self.entries) if kind not in ("control", "unknown")}
        for text in texts:
            left = self.form(text).encode()
            while left:
                name = max((name for name in names if left.startswith(name)), key=len, default=None)
                ids.append(self.unk_id if name is None else names[name])
                left = left[len(name or b"x") :]
            starts.append(len(ids))
        return np.array(ids, np.int32), np.array(starts)


OLD = Vocabulary(
    [
        (b"<unk>", "unknown"), (b"<s>", "control"), (b"</s>", "control"), (b"A", "byte"), (b"\xe4", "byte"),
        (b"\xb8", "byte"), (b"\xad", "byte"), (b" the", "normal"), (b"the", "normal"), (b"n", "normal"),
        (b"an", "normal"), (b"a", "normal"), (b",", "normal"), (b"\xe5\x9b\xbd", "normal"),
    ],
    eod_id=2, bos_id=1, unk_id=0, form=lambda text: text.replace("，", ",").lower(),
)  # fmt: skip


@pytest.mark.parametrize(
    ("piece", "kind", "told", "sources"),
    [
        (b" the", "normal", "same", (7,)),  # Ġthe and ▁the are both this
        (b"the", "user_defined", "same", (8,)),
        (b"A", "byte", "byte", (3,)),
        (b"A", "normal", "byte", (3,)),  # the A of a byte-level vocabulary, where the old one has <0x41> only
        (b"n", "byte", "byte", (9,)),  # and the other way about
        (b"\xad", "normal", "byte", (6,)),
        ("，".encode(), "normal", "normalised", (12,)),
        (b"An", "normal", "normalised", (10,)),
        ("，the".encode(), "normal", "pieces", (12, 8)),
        (b"anan", "normal", "pieces", (10, 10)),  # not a n a n: the fewest
        ("中国".encode(), "normal", "pieces", (4, 5, 6, 13)),
        (b"\xb8\xad", "normal", "pieces", (5, 6)),  # ends within characters
        (b"xyz", "normal", "none", ()),
        (b"</s>", "control", "special", (2,)),
        (b"<|im_start|>", "control", "none", ()),
        (b"anything", "unused", "none", ()),
    ],
)
def test_pieces_are_known_by_what_they_stand_for(piece: bytes, kind: str, told: str, sources: tuple[int, ...]) -> None:
    new = Vocabulary([(b"<|end|>", "control"), (b"<?>", "unknown"), (piece, kind)], eod_id=0, unk_id=1)
    found = match(OLD, new)  # type: ignore[arg-type]
    assert (found.kinds[2], found.sources[2]) == (told, sources)
    assert found.sources[:2] == ((2,), (0,))  # by their parts, whatever their names


def model(path: Path, texts: Sequence[str], size: int, **options: Any) -> Path:
    sink = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=sink, vocab_size=size, model_type="bpe", byte_fallback=True,
        minloglevel=2, **options,
    )  # fmt: skip
    path.write_bytes(sink.getvalue())
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make an old and a new vocabulary, the new one with other ids and two pieces more, and weights of the old."""
    old = model(tmp_path / "old.model", ["the cat and the hat", "a cat in the 中 国 endless"] * 9, 300)
    proto = sentencepiece_model_pb2.ModelProto.FromString(old.read_bytes())
    piece = sentencepiece_model_pb2.ModelProto.SentencePiece
    more = [piece(piece="中国", score=-99), piece(piece="cathat", score=-98)]
    pieces = [*proto.pieces[:262], *more, *proto.pieces[262:]]
    del proto.pieces[:]
    proto.pieces.extend(pieces)
    (tmp_path / "new.model").write_bytes(proto.SerializeToString())
    weights(tmp_path / "w", np.float32)
    return tmp_path


def weights(folder: Path, kind: Any, rows: int = 300, *, tied: bool = False) -> dict[str, Any]:
    folder.mkdir()
    draw = np.random.default_rng(0)
    arrays = {
        "model.embed_tokens.weight": draw.normal(size=(rows, 4)).astype(kind),
        "lm_head.weight": draw.normal(size=(rows, 4)).astype(kind),
        "model.norm.weight": np.ones(4, kind),
    }
    if tied:
        del arrays["lm_head.weight"]
    save_file(arrays, folder / "model.safetensors")
    config = {"vocab_size": rows, "eos_token_id": [7, 9], "hidden_size": 4, "tie_word_embeddings": tied, "other": 1}
    (folder / "config.json").write_text(json.dumps(config))
    return arrays


def moved(place: Path, out: str = "out", **options: Any) -> tuple[Any, dict[str, Any]]:
    switches = {"new": "pieces", "multiple": 1, "shard_bytes": 1 << 30, **options}
    done = align(place / "old.model", place / "new.model", place / "w", place / out, **switches)
    files = (place / out).glob("*.safetensors")
    return done, {name: array for file in files for name, array in load_file(file).items()}


def test_rows_move_by_piece_and_new_ones_are_means(place: Path) -> None:
    was = load_file(place / "w/model.safetensors")
    old = {p.piece: i for i, p in enumerate(proto_of(place / "old.model").pieces)}
    new = {p.piece: i for i, p in enumerate(proto_of(place / "new.model").pieces)}
    done, now = moved(place, multiple=64)
    assert (done.old, done.new, done.rows, done.dropped) == (300, 302, 320, 0)
    assert done.counts["pieces"] == 2
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        for piece, token in old.items():
            assert (now[name][new[piece]] == was[name][token]).all()
        of_china = (was[name][old["中"]] + was[name][old["国"]]) / 2
        np.testing.assert_allclose(now[name][new["中国"]], of_china, rtol=1e-6)
        np.testing.assert_allclose(now[name][302:], np.tile(was[name].mean(0), (18, 1)), rtol=1e-5)
        assert now[name].dtype == np.float32
    assert (now["model.norm.weight"] == 1).all()
    _, mean = moved(place, "mean", new="mean")
    np.testing.assert_allclose(mean["lm_head.weight"][new["中国"]], was["lm_head.weight"].mean(0), rtol=1e-5)


def proto_of(path: Path) -> Any:
    return sentencepiece_model_pb2.ModelProto.FromString(path.read_bytes())


def test_the_config_and_the_tokenizer_are_those_of_the_new_vocabulary(place: Path) -> None:
    (place / "w/generation_config.json").write_text('{"eos_token_id": 9, "top_p": 0.5}')
    (place / "w/vocab.json").write_text("{}")
    moved(place, multiple=64)
    config = json.loads((place / "out/config.json").read_text())
    tokenizer = open_tokenizer(place / "new.model")
    assert config == {
        "vocab_size": 320, "eos_token_id": tokenizer.eod_id, "bos_token_id": tokenizer.bos_id,
        "pad_token_id": tokenizer.pad_id, "hidden_size": 4, "tie_word_embeddings": False, "other": 1,
    }  # fmt: skip
    assert json.loads((place / "out/generation_config.json").read_text())["eos_token_id"] == tokenizer.eod_id
    assert (place / "out/tokenizer.model").read_bytes() == (place / "new.model").read_bytes()
    assert not (place / "out/vocab.json").exists()
    assert origin_of(place / "out").tokenizer_sha256 == tokenizer.sha256


def test_sharded_tied_and_short_numbers(place: Path) -> None:
    import shutil

    shutil.rmtree(place / "w")
    was = weights(place / "w", np.float16, tied=True)["model.embed_tokens.weight"]
    _, now = moved(place, shard_bytes=100)
    assert len(list((place / "out").glob("model-0000*-of-00002.safetensors"))) == 2
    assert "lm_head.weight" not in now
    new = {p.piece: i for i, p in enumerate(proto_of(place / "new.model").pieces)}
    assert now["model.embed_tokens.weight"].dtype == np.float16
    assert (now["model.embed_tokens.weight"][new["中"]] == was[proto_index(place, "中")]).all()
    shutil.rmtree(place / "w")
    (place / "out").rename(place / "w")  # an index is read as well
    (place / "new.model").rename(place / "old.model")
    (place / "new.model").write_bytes((place / "old.model").read_bytes())
    (place / "w/alignment.json").unlink()
    _, again = moved(place)
    assert (again["model.embed_tokens.weight"] == now["model.embed_tokens.weight"]).all()


def proto_index(place: Path, piece: str) -> int:
    return next(i for i, p in enumerate(proto_of(place / "old.model").pieces) if p.piece == piece)


def test_bf16_is_moved_bit_for_bit_and_means_are_rounded_to_even() -> None:
    from mrprep.conversion.vocabulary import _narrow

    ones = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20])  # exact, tie to even down, tie up, above a tie
    assert _narrow(ones, "BF16").tolist() == [0x3F80, 0x3F80, 0x3F82, 0x3F81]


def test_weights_of_another_vocabulary_are_refused_by_both_sizes(place: Path) -> None:
    import shutil

    shutil.rmtree(place / "w")
    weights(place / "w", np.float32, rows=200)
    with pytest.raises(MrprepError, match=r"a vocabulary of 200 .*one of 300: .*--from"):
        moved(place)
    (place / "w/alignment.json").write_text('{"tokenizer_sha256": "00"}')
    with pytest.raises(MrprepError, match="SHA-256"):
        moved(place)
    assert not (place / "out").exists()


def test_a_vocabulary_that_does_not_fit_names_both_sizes_and_the_command(place: Path) -> None:
    origin = origin_of(place / "w")
    origin.check_vocabulary(300, 300, None, place)
    with pytest.raises(MrprepError, match=r"a vocabulary of 300, .* one of 302: .*mrprep vocab align --from"):
        origin.check_vocabulary(300, 302, "ab", place)
    moved(place, multiple=64)
    aligned, sha256 = origin_of(place / "out"), open_tokenizer(place / "new.model").sha256
    aligned.check_vocabulary(320, 302, sha256, place)
    with pytest.raises(MrprepError, match=r"320, .* 302"):
        aligned.check_vocabulary(320, 302, "ab", place)


def test_the_command_tells_what_matched(place: Path) -> None:
    flags = ["--from", place / "old.model", "--to", place / "new.model", "--weights", place / "w", "--out"]
    told = CliRunner().invoke(app, ["vocab", "align", *map(str, flags), str(place / "a"), "--multiple", "64"])
    assert told.exit_code == 0
    assert "2  made of several old pieces: 中国 = 中 + 国, cathat = " in told.output
    assert "18  padding" in told.output
    told = CliRunner().invoke(app, ["vocab", "align", *map(str, flags), str(place / "b"), "--json"])
    said = json.loads(told.output)
    assert (said["old"], said["new"], said["rows"], said["counts"]["pieces"]) == (300, 302, 302, 2)


def test_a_real_vocabulary_is_its_own() -> None:
    real = open_tokenizer(SHARED / "spm_test_en_unigram1k.model")
    found = match(real, real)
    assert set(found.kinds) == {"same", "special"}
    assert found.sources == tuple((token,) for token in range(1000))


def test_a_byte_level_vocabulary_of_the_real_tokenizers_is_known_in_one_of_sentencepiece(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    texts = ["the cat and the hat", "a cat in the 中 国 endless"] * 9
    old_file = model(tmp_path / "old.model", texts, 300)
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=290, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    bpe.train_from_iterator(texts, trainer)
    bpe.save(str(tmp_path / "tokenizer.json"))
    old, new = open_tokenizer(old_file), open_tokenizer(tmp_path / "tokenizer.json")
    found = match(old, new)
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(old_file))
    names = {theirs.id_to_piece(i).replace("▁", " "): i for i in reversed(range(300))}
    assert set(found.kinds) <= {"same", "byte", "special", "pieces"}
    assert found.sources[new.eod_id] == (old.eod_id,)
    for token in range(bpe.get_vocab_size()):
        text = bpe.decode([token])
        if token != new.eod_id and "\ufffd" not in text:
            wanted = names.get(text, names.get(f"<0x{ord(text):02X}>") if len(text) == 1 else None)
            if wanted is not None:
                assert found.sources[token] == (wanted,), text
            assert "".join(theirs.id_to_piece(i).replace("▁", " ") for i in found.sources[token]) == text or (
                all(theirs.is_byte(i) for i in found.sources[token])
            )
