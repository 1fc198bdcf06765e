"""Files of stretches between blank lines that are cut into spans, which give what the file read at once gives."""

import bz2
import gzip
import random
from pathlib import Path

import pytest
from backports import zstd
from sources_tools import Reading, read_path, units_of

from mrprep.sources import packed

BLANK = [b"", b"\r", b" \t", b" \r", b"\v\f", b"\t\v \f\r"]
FULL = [b"a", b"two words\r", b" led by a space", "不空的一行\r".encode(), b"\xc2\xa0", b"\xff", b"x" * 90]


def slow(data: bytes) -> list[tuple[str, int, int]]:
    """Return text, offset and line of each stretch, by walking over all lines."""
    found: list[tuple[list[bytes], int, int]] = []
    offset, open_ = 0, False
    for number, line in enumerate(data.split(b"\n"), 1):
        bare = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        blank = all(byte in b" \t\r\n\v\f" for byte in bare)
        if not blank:
            if not open_:
                found.append(([], offset, number))
            found[-1][0].append(bare)
        open_ = not blank
        offset += len(line) + 1
    return [(b"\n".join(lines).removesuffix(b"\r").decode("utf-8", "replace"), at, n) for lines, at, n in found]


def made(seed: int, blank: float) -> bytes:
    chance = random.Random(seed)
    rows = [chance.choice(BLANK if chance.random() < blank else FULL) for _ in range(chance.randrange(60))]
    return chance.choice([b"", b"\xef\xbb\xbf"]) + b"\n".join(rows) + chance.choice([b"", b"\n", b"\n\n"])


def told(reading: Reading) -> list[tuple[str, int, int]]:
    assert not reading.bad and not reading.problems
    return [(d.text, d.place.offset, d.place.line) for d in reading.documents]


@pytest.mark.parametrize("blank", [0.0, 0.1, 0.5, 0.9])
def test_spans_give_the_stretches_of_the_whole(tmp_path: Path, blank: float) -> None:
    path = tmp_path / "a.txt"
    for seed in range(40):
        data = made(seed, blank)
        path.write_bytes(data)
        for unit in (1, 2, 7, 40, 300, 1 << 21):
            assert told(read_path(path, unit, documents="blank-line", encoding="utf-8")) == slow(data), (seed, unit)


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("zst", zstd.compress), ("bz2", bz2.compress)])
def test_packed_files_are_cut_too(tmp_path: Path, ending: str, pack: object) -> None:
    data = b"".join(made(seed, 0.3) + b"\n" for seed in range(40)).replace(b"\xff", b"y")
    path = tmp_path / f"a.txt.{ending}"
    path.write_bytes(pack(data))  # type: ignore[operator]
    spans = [span for unit in units_of(path, 500, documents="blank-line") for span in unit]
    assert len(spans) == min(packed._MOST[ending], len(data) // 500)
    assert told(read_path(path, 500, documents="blank-line")) == slow(data)


def test_what_is_wrong_with_a_packed_file_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_decompressed_size", lambda _: 16_000)
    chance = random.Random(3)
    for blank in (0.0, 0.02, 0.3):
        rows = [b"" if chance.random() < blank else chance.randbytes(15).hex().encode() for _ in range(500)]
        whole = gzip.compress(b"\n".join(rows))
        for kept in (len(whole) // 3, len(whole) // 2, len(whole) - 20):
            path = tmp_path / "a.txt.gz"
            path.write_bytes(whole[:kept])
            at_once, cut = (read_path(path, unit, documents="blank-line") for unit in (1 << 21, 1000))
            assert len(cut.notes) == 8 and cut.texts == at_once.texts and cut.texts
            assert cut.problems == at_once.problems == ["ends in the middle of its gz data"]
        path.write_bytes(whole + b"something else")
        assert len(read_path(path, 1000, documents="blank-line").problems) == 1


def test_other_encodings_are_not_cut(tmp_path: Path) -> None:
    data = "这是一个用来测试的中文句子，里面有很多字。\n\n".encode("gb18030") * 20
    (tmp_path / "a.txt").write_bytes(data)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(data, 0))
    units = units_of(tmp_path, 64, documents="blank-line")
    assert [span.whole for unit in units for span in unit] == [True, True]
    assert len(read_path(tmp_path, 64, documents="blank-line").documents) == 40
