"""Compressed files: members, padding, damage; nothing before the damage is lost."""

import bz2
import functools
import gzip
import io
import lzma
import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from sources_tools import read_bytes

from mrprep.sources.files import DamagedError
from mrprep.sources.found import Found
from mrprep.sources.streams import decompressed


def zst(data: bytes) -> bytes:
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": lambda data: bz2.compress(data, 1),
    "xz": lambda data: lzma.compress(data, preset=1),
    "zst": zst,
}
WORDS = random.Random(5).choices([f"word{i}" for i in range(3000)], k=60_000)
TEXT = "\n".join(" ".join(WORDS[i : i + 10]) for i in range(0, len(WORDS), 10)).encode()


def unpack(data: bytes, codec: str) -> tuple[bytes, str]:
    out, found = bytearray(), Found()
    try:
        for block in decompressed(io.BytesIO(data), len(data), codec, found):
            assert 0 < len(block) <= 1 << 20
            out += block
    except DamagedError as error:
        return bytes(out), str(error)
    return bytes(out), found.problem


@functools.cache
def packed_text(codec: str) -> bytes:
    return COMPRESS[codec](TEXT)


@pytest.mark.parametrize("codec", COMPRESS)
def test_members(codec: str) -> None:
    pack = COMPRESS[codec]
    one, two, empty = pack(TEXT[:5000]), pack(TEXT[5000:]), pack(b"")
    assert unpack(one + two, codec) == (TEXT, "")
    assert unpack(empty + one + empty + empty + two + empty, codec) == (TEXT, "")
    assert unpack(one + bytes(512) + two + bytes(7), codec) == (TEXT, "")
    assert unpack(empty, codec) == (b"", "")
    assert unpack(b"", codec) == (b"", "")
    assert unpack(b"".join(pack(TEXT[i : i + 100]) for i in range(0, 30_000, 100)), codec) == (TEXT[:30_000], "")


@pytest.mark.parametrize("codec", COMPRESS)
def test_trailing_garbage_is_told_and_costs_nothing(codec: str) -> None:
    out, problem = unpack(packed_text(codec) + b"garbage", codec)
    assert out == TEXT
    assert "something else" in problem


@pytest.mark.parametrize("codec", COMPRESS)
@pytest.mark.parametrize("share", [0.5, 0.9, 0.9999])
def test_truncation_keeps_all_that_can_be_unpacked(codec: str, share: float) -> None:
    packed = packed_text(codec)
    out, problem = unpack(packed[: int(len(packed) * share)], codec)
    assert "ends in the middle" in problem
    assert TEXT.startswith(out)
    blocks = {"gz": 70_000, "xz": 70_000, "bz2": 100_000, "zst": 140_000}  # what the format packs together
    assert len(out) >= share * len(TEXT) - blocks[codec]


@pytest.mark.parametrize("codec", ["gz", "zst"])
def test_a_wrong_checksum_costs_no_text(codec: str) -> None:
    packed = bytearray(packed_text(codec))
    packed[-7 if codec == "gz" else -1] ^= 1
    out, problem = unpack(bytes(packed), codec)
    assert out == TEXT
    assert "damaged" in problem


def test_bz2_and_xz_keep_the_blocks_before_the_damage() -> None:
    for codec in ("bz2", "xz"):
        packed = bytearray(packed_text(codec))
        packed[-100] ^= 1
        out, problem = unpack(bytes(packed), codec)
        assert problem
        assert len(out) >= len(TEXT) - 100_000
        assert TEXT.startswith(out[: len(TEXT) - 100_000])


def test_zst_skippable_frames_and_long_windows() -> None:
    skip = struct.pack("<II", 0x184D2A53, 5) + b"hello"
    assert unpack(skip + zst(TEXT) + skip + zst(b"end"), "zst") == (TEXT + b"end", "")
    for log in (27, 28, 31):
        options = {zstd.CompressionParameter.window_log: log, zstd.CompressionParameter.content_size_flag: 0}
        packer = zstd.ZstdCompressor(options=options)
        assert unpack(packer.compress(TEXT) + packer.flush(), "zst") == (TEXT, "")


@pytest.mark.parametrize("inner", COMPRESS)
def test_what_is_packed_twice_is_told(tmp_path: Path, inner: str) -> None:
    reading = read_bytes(tmp_path, gzip.compress(COMPRESS[inner](b'{"text":"a"}\n')), "a.jsonl.gz")
    assert reading.problems == [f"is packed twice, with {inner} data inside: unpack it once"]
    assert not reading.bad


@pytest.mark.parametrize("named", COMPRESS)
def test_the_content_decides_not_the_name(tmp_path: Path, named: str) -> None:
    line = b'{"text":"a"}\n'
    for packed in [line, *(pack(line) for pack in COMPRESS.values())]:
        assert read_bytes(tmp_path, packed, f"a.jsonl.{named}").texts == ["a"]
    reading = read_bytes(tmp_path, b"\x89PNG\0\0" + bytes(range(256)), f"a.jsonl.{named}")
    assert reading.problems == [f"is no {named} file, nor plain text"]


@pytest.mark.parametrize("codec", COMPRESS)
def test_packed_data_under_a_plain_name_is_told(tmp_path: Path, codec: str) -> None:
    reading = read_bytes(tmp_path, COMPRESS[codec](b'{"text":"a"}\n'), "a.jsonl")
    assert reading.problems == [f"is {codec} data under a plain name: add .{codec} to it"]


def test_the_half_line_before_damage_is_no_document(tmp_path: Path) -> None:
    rows = b"".join(b'{"text":"line %d"}\n' % i for i in range(50_000))
    packed = gzip.compress(rows)
    reading = read_bytes(tmp_path, packed[: len(packed) // 2], "a.jsonl.gz")
    assert reading.texts == [f"line {i}" for i in range(len(reading.texts))]
    assert len(reading.texts) > 20_000
    assert not reading.bad
    assert reading.problems == ["ends in the middle of its gz data"]


def test_a_little_file_that_unpacks_to_much_is_read_by_blocks() -> None:
    packed = zst(bytes(1 << 28))
    assert sum(map(len, decompressed(io.BytesIO(packed), len(packed), "zst", Found()))) == 1 << 28


def test_many_small_members_are_judged_together(tmp_path: Path) -> None:
    text = "这是一个用来测试的中文句子，里面有很多字。\n" * 20
    raw = b"plain words first\n" + text.encode("gb18030")
    packed = b"".join(gzip.compress(raw[i : i + 10]) for i in range(0, len(raw), 10))
    assert read_bytes(tmp_path, packed, "a.txt.gz").texts == ["plain words first\n" + text]
    pretty = b"".join(gzip.compress(line) for line in (b"{\n", b'"text": "a"\n', b"}\n"))
    assert "pretty-printed" in read_bytes(tmp_path, pretty, "a.jsonl.gz").problems[0]


@pytest.mark.parametrize("documents", ["file", "line", "blank-line"])
def test_text_before_damage_is_kept_up_to_its_last_whole_line(tmp_path: Path, documents: str) -> None:
    packed = bytearray(gzip.compress(b"one\ntwo\nthr"))
    packed[-7] ^= 1
    reading = read_bytes(tmp_path, bytes(packed), "a.txt.gz", documents=documents)
    assert "".join(reading.texts).replace("\n", "") == "onetwo"
    assert "damaged" in reading.problems[0]
    reading = read_bytes(tmp_path, gzip.compress(b"one\ntwo\nthr") + b"junk", "a.txt.gz", documents=documents)
    assert "".join(reading.texts).replace("\n", "") == "onetwothr"
    assert "something else" in reading.problems[0]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.99])
def test_one_flipped_bit_of_bz2_alters_no_text(share: float) -> None:
    packed = bytearray(packed_text("bz2"))
    packed[int(len(packed) * share)] ^= 0x10
    out, problem = unpack(bytes(packed), "bz2")
    assert "damaged" in problem
    assert "altered" not in problem
    assert TEXT.startswith(out)
    assert len(out) >= share * len(TEXT) - 210_000  # the block that is hit, of 100 KB, and uneven ones


@pytest.mark.parametrize("codec", ["gz", "xz", "zst"])
def test_text_before_damage_is_said_to_be_in_doubt(codec: str) -> None:
    packed = bytearray(packed_text(codec))
    packed[len(packed) // 2] ^= 0x10
    out, problem = unpack(bytes(packed), codec)
    assert out
    assert "may be altered" in problem


def test_bz2_of_endless_repeats_is_read_by_blocks() -> None:
    packed = bz2.compress(bytes(70 << 20), 1)
    assert sum(map(len, decompressed(io.BytesIO(packed), len(packed), "bz2", Found()))) == 70 << 20
