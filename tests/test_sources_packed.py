"""Stretches of one large compressed file of lines: what they give together is what the plain file gives."""

import bz2
import gzip
import lzma
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from sources_tools import Reading, read_path, units_of

from mrprep.sources import packed

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}


def lines(count: int, chance: random.Random) -> list[bytes]:
    kinds = [b'{"text":"%s"}', b"broken %s", b'{"text":"%s long' + b"x" * 300 + b'"}', b""]
    return [kind % chance.randbytes(20).hex().encode() if kind else kind for kind in chance.choices(kinds, k=count)]


def told(reading: Reading) -> list[object]:
    found = [(item.place.offset, item.place.line) for item in [*reading.documents, *reading.bad]]
    return [reading.texts, reading.reasons, sorted(found), reading.problems]


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("end", [b"\n", b""])
def test_stretches_give_what_the_plain_file_gives(tmp_path: Path, ending: str, end: bytes) -> None:
    data = b"\n".join(lines(400, random.Random(ending))) + end
    (tmp_path / "plain.jsonl").write_bytes(data)
    (tmp_path / f"packed.jsonl.{ending}").write_bytes(PACK[ending](data))
    for unit in (500, 1000, 5000):
        spans = [span for spans in units_of(tmp_path / f"packed.jsonl.{ending}", unit) for span in spans]
        assert len(spans) == min(packed._MOST[ending], len(data) // unit)
        stretches = read_path(tmp_path / f"packed.jsonl.{ending}", unit)
        assert told(stretches) == told(read_path(tmp_path / "plain.jsonl"))


def test_a_wrong_guess_costs_balance_and_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"\n".join(lines(400, random.Random(1)))
    (tmp_path / "plain.jsonl").write_bytes(data)
    (tmp_path / "packed.jsonl.zst").write_bytes(zstd.compress(data))
    plain = told(read_path(tmp_path / "plain.jsonl"))
    for guess in (2000, len(data) // 2, 4 * len(data)):
        monkeypatch.setattr(packed, "_decompressed_size", lambda _, guess=guess: guess)
        assert told(read_path(tmp_path / "packed.jsonl.zst", 1000)) == plain


def test_damage_is_told_once_and_what_comes_before_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_decompressed_size", lambda _: 144_000)
    chance = random.Random(2)
    rows = [b'{"text":"%s"}' % chance.randbytes(30).hex().encode() for _ in range(2000)]
    whole = gzip.compress(b"\n".join(rows))
    (tmp_path / "a.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    at_once, cut = (read_path(tmp_path / "a.jsonl.gz", unit) for unit in (1 << 21, 5000))
    assert len(cut.notes) > 4 and cut.texts == at_once.texts and 900 < len(cut.texts) < 1100
    assert cut.problems == at_once.problems == ["ends in the middle of its gz data"]
    (tmp_path / "b.jsonl.gz").write_bytes(whole + b"something else")
    assert read_path(tmp_path / "b.jsonl.gz", 5000).problems == ["has bytes after its gz data that are something else"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.txt.gz", b"a text\n" * 9000),
        ("gb.jsonl.gz", '{"text":"这是一个用来测试的中文句子"}\n'.encode("gb18030") * 900),
        ("array.jsonl.gz", b"[" + b'{"text": "a"},\n' * 900 + b"{}]"),
    ],
)
def test_what_is_no_file_of_utf8_lines_stays_whole(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(gzip.compress(data, 0))
    assert [span.whole for spans in units_of(tmp_path / name, 500) for span in spans] == [True]
