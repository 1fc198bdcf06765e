"""YouTokenToMe models: ids worked out by hand, and those of the real package where it is installed."""

import gzip
import os
import random
from pathlib import Path

import orjson
import pytest

from mrprep.errors import MrprepError
from mrprep.tokenizers.choices import Choices
from mrprep.tokenizers.family import content, copy_into, family, open_tokenizer

SHARED = Path(os.path.realpath(Path(__file__).resolve().parent.parent / ".." / "shared"))
CHARACTERS = {"\u2581": 4, "a": 5, "b": 6, "c": 7, "d": 8, "é": 9}
MERGES = "4 5 10\n6 7 11\n10 6 12\n11 11 13\n"  # ▁a, bc, ▁ab, bcbc
SPECIALS = "1 0 2 3\n"  # unknown, padding, BOS, EOS


def _model(path: Path, merges: str = MERGES, specials: str = SPECIALS, shift: int = 0) -> Path:
    lines = "".join(f"{ord(character)} {token - shift}\n" for character, token in CHARACTERS.items())
    path.write_text(f"{len(CHARACTERS)} {len(merges.splitlines())}\n{lines}{merges}{specials}")
    return path


def _encoded(path: Path, text: str) -> list[int]:
    return open_tokenizer(path).encode_batch([text])[0].tolist()


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        (" \n\t", []),
        ("a", [10]),
        ("ab", [12]),
        ("abc", [10, 11]),  # bc comes before ▁ab
        ("bcbcbc", [4, 13, 11]),
        ("aa", [10, 5]),
        ("  a\n\n\tb\x0b\x0cc\r", [10, 4, 6, 4, 7]),
        ("a\u2581b", [10, 4, 6]),  # the mark of a space is a space
        ("a\xa0b\u3000b", [10, 1, 6, 1, 6]),  # these are no white space, and unknown
        ("axyzb xy", [10, 1, 6, 4, 1]),  # a run of unknown characters is one id
        ("é<EOS>\x00", [4, 9, 1]),
    ],
)
def test_ids_by_hand(tmp_path: Path, text: str, ids: list[int]) -> None:
    assert _encoded(_model(tmp_path / "m"), text) == ids


def test_what_it_says_of_itself(tmp_path: Path) -> None:
    tokenizer = open_tokenizer(_model(tmp_path / "m"))
    assert (tokenizer.kind, tokenizer.vocab_size, tokenizer.unk_id) == ("youtokentome-bpe", 14, 1)
    assert (tokenizer.eod_id, tokenizer.bos_id, tokenizer.pad_id) == (3, 2, 0)
    assert open_tokenizer(tmp_path / "m", Choices(eod="<PAD>")).eod_id == 0
    assert tokenizer.special["control"] == {0, 2, 3}
    pieces = tokenizer.pieces()
    assert pieces.bytes[10:] == (b" a", b"bc", b" ab", b"bcbc")
    assert pieces.scores[10:].tolist() == [-1.0, -2.0, -3.0, -4.0]
    assert tokenizer.decode([10, 11, 4, 13, 4, 1, 9, 3]) == "abc bcbc <UNK>é"
    assert tokenizer.facts()["remove_extra_whitespaces"]
    assert "becomes one space" in tokenizer.facts()["note"]


def test_the_mark_of_a_space_with_id_0_is_not_written(tmp_path: Path) -> None:
    """As in the package, for which an id of 0 at the beginning of a word is none."""
    merges = "0 1 6\n2 3 7\n"
    path = _model(tmp_path / "m", merges, "8 -1 -1 9\n", shift=4)
    assert _encoded(path, "a b bc ab") == [6, 2, 7, 6, 2]


def test_the_family_is_told_by_content_and_the_copy_reads_the_same(tmp_path: Path) -> None:
    path = _model(tmp_path / "m")
    assert family(path) == "youtokentome"
    (tmp_path / "copy").mkdir()
    copied = copy_into(path, tmp_path / "copy")
    assert copied.name == "tokenizer.yttm"
    assert content(copied) == content(path)
    assert _encoded(copied, "abc") == [10, 11]


@pytest.mark.parametrize(
    ("merges", "specials", "says"),
    [
        ("4 5 10\n10 6 11\n5 6 12\n4 12 13\n", SPECIALS, "each piece once"),  # ▁ab twice
        (MERGES, "-1 0 2 3\n", "an id for unknown"),
        (MERGES, "1 0 2\n", "no whole"),
        (MERGES, "", "no whole"),
        ("4 5 99\n", SPECIALS, "no whole"),
        ("4 55 10\n", SPECIALS, "no whole"),
        ("4 5 10\n6 7 11\n10 6 12\n11 11 3\n", "1 0 2 13\n", "no special"),
    ],
)
def test_a_broken_model_gets_a_sentence(tmp_path: Path, merges: str, specials: str, says: str) -> None:
    path = _model(tmp_path / "m", merges, specials)
    if says == "no special":  # ids may stand in any order, as long as each is there once
        assert open_tokenizer(path).eod_id == 13
        return
    with pytest.raises(MrprepError, match="no whole YouTokenToMe model"):
        open_tokenizer(path)


def test_a_model_without_an_end_of_sentence_wants_eod(tmp_path: Path) -> None:
    path = _model(tmp_path / "m", MERGES.replace("13", "3"), "1 0 2 -1\n")
    with pytest.raises(MrprepError, match=r"does not say which token ends a text.*<PAD>, <BOS>"):
        open_tokenizer(path)
    assert open_tokenizer(path, Choices(eod="<BOS>")).eod_id == 2


def _texts() -> list[str]:
    dice = random.Random(1)
    letters = list("abcdethe inonerst  \n\t.,的法律第条规定国家\u3000\xa0\u2581\x0b\x0c\x1c\x85😀\U0010ffffé\x00\u0301")
    texts = ["".join(dice.choices(letters, k=dice.randint(0, 60))) for _ in range(2000)]
    texts += [character * n for character in "aeo 的一=-." for n in range(1, 40)]
    for name in ("zh_laws", "en_reuters"):
        with gzip.open(sorted((SHARED / "corpora" / name).glob("*.jsonl.gz"))[-1]) as lines:
            rows = [orjson.loads(line) for _, line in zip(range(40), lines, strict=False)]
        texts += [str(value)[:20_000] for row in rows for value in row.values() if isinstance(value, str)]
    return texts


@pytest.mark.parametrize(
    ("size", "options"), [(3000, {}), (2500, {"pad_id": -1, "bos_id": -1, "unk_id": 2, "eos_id": 5, "coverage": 0.99})]
)
def test_ids_are_the_packages(tmp_path: Path, size: int, options: dict[str, float]) -> None:
    yttm = pytest.importorskip("youtokentome", reason="pip install 'cython<3', then --no-build-isolation youtokentome")
    texts = _texts()
    (tmp_path / "text").write_text("\n".join(texts[2000:]), "utf-8")
    yttm.BPE.train(data=str(tmp_path / "text"), model=str(tmp_path / "m"), vocab_size=size, n_threads=1, **options)
    tokenizer = open_tokenizer(tmp_path / "m")
    ids, offsets = tokenizer.encode_batch(texts)
    for i, expected in enumerate(yttm.BPE(str(tmp_path / "m"), n_threads=1).encode(texts)):
        assert ids[offsets[i] : offsets[i + 1]].tolist() == expected
