"""Fuzz the readers by coverage: no bytes may make one raise, hang, lose a line of jsonl, or depend on the cuts.

python bench/fuzz_readers.py FORMAT -max_total_time=60 : FORMAT is one of FORMATS, all else goes to libFuzzer, which
stops at the first failure and writes its input to a file; give that file after FORMAT to run it again. Needs
``pip install atheris``, which is no dependency of the project. What a run learns is kept for the next one, in
mrprep-fuzz in the folder for temporary files.

An input is two bytes that say how to read, then the bytes of the file.
"""

import bz2
import gzip
import lzma
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import atheris
import pyarrow as pa
import pyarrow.parquet as pq
from backports import zstd

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
with atheris.instrument_imports(include=["mrprep.sources"]):
    from sources_tools import Reading, read_path

    from mrprep.sources import charsets  # noqa: F401  (loaded late otherwise, and then not instrumented)

FORMATS = ("jsonl", "json", "txt", "jsonl.gz", "jsonl.zst", "txt.bz2", "txt.xz", "parquet", "arrow")
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstd.compress,
    "bz2": partial(bz2.compress, compresslevel=1),
    "xz": partial(lzma.compress, preset=0),
}
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress, "zst": zstd.decompress, "bz2": bz2.decompress, "xz": lzma.decompress,
}  # fmt: skip
NOT_PACKED = (zlib.error, lzma.LZMAError, zstd.ZstdError, OSError, EOFError, ValueError, MemoryError)
WHOLE = 1 << 40
LIMITS = ["-max_len=4096", "-timeout=20", "-rss_limit_mb=3000"]

TEXTS = [
    b'{"text":"one"}\n{"text":"\xe4\xb8\xad\xe6\x96\x87\\u4e09\\ud800"}\r\n\n{"text":null}\n{"text":NaN\n{"a":1}\n',
    b'\xef\xbb\xbf{"meta":{"body":"b"},"text":"t"}\n{"meta":{"body":2}}\n[1]\n"x"\n1e999',
    b'[{"text":"one"},\n {"text":"two","n":[1,{"a":"]"}]}, null]',
    b'{\n  "text": "pretty"\n}\n',
    b"one\n\n\ntwo\r\nthree \xff\n\x0b\n",
    '{"text":"中文,文字"}\n'.encode("gb18030") * 9,
    '{"text":"one, two"}\n'.encode("utf-16"),
    b"~{<:Ky2;S{#,NpJ)l6HK!#~}\n",
]
COLUMNS = [
    pa.array(["one", None, "三"] * 4),
    pa.array([b"\xff", b"two"] * 6),
    pa.array(["a", "b"] * 6).dictionary_encode(),
]


def parquet_seeds() -> Iterator[bytes]:
    for column in COLUMNS:
        table = pa.table({"text": column, "meta": pa.array([{"body": "b"}, None] * 6), "n": range(12)})
        for options in ({}, {"compression": "none", "use_dictionary": False}, {"data_page_version": "2.0"}):
            sink = pa.BufferOutputStream()
            pq.write_table(table, sink, row_group_size=5, store_schema=False, **options)
            yield sink.getvalue().to_pybytes()


def arrow_seeds() -> Iterator[bytes]:
    for column in COLUMNS:
        table = pa.table({"text": column, "meta": pa.array([{"body": "b"}, None] * 6), "n": range(12)})
        for new in (pa.ipc.new_stream, pa.ipc.new_file):
            for codec in (None, "lz4", "zstd"):
                sink = pa.BufferOutputStream()
                with new(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
                    writer.write_table(table, max_chunksize=5)
                yield sink.getvalue().to_pybytes()


SEEDS = {"parquet": parquet_seeds, "arrow": arrow_seeds}


def seeds(codec: str, name: str) -> Iterator[bytes]:
    for index, data in enumerate(SEEDS[name]() if name in SEEDS else TEXTS):
        packed = PACK[codec](data) if codec else data
        yield bytes([40, index]) + packed
        yield bytes([255, index + 6]) + (packed + packed if codec else packed)


def options_of(choice: int) -> dict[str, Any]:
    return {
        "documents": ("file", "line", "blank-line")[choice % 3],
        "encoding": ("auto", "utf-8")[choice // 3 % 2],
        "text": (("text",), ("text", "meta.body"))[choice // 6 % 2],
        "score": (None, "n", "meta.body")[choice // 12 % 3],
    }


def check_cuts(whole: Reading, cut: Reading, name: str) -> None:
    """Demand the same of both; a whole table ends at its first damage, a cut one goes on after it."""
    assert bool(whole.problems) == bool(cut.problems), (whole.problems, cut.problems)
    if name in SEEDS and whole.problems:
        return
    assert whole.documents == cut.documents
    assert whole.bad == cut.bad
    assert {note.problem for note in whole.notes} == {note.problem for note in cut.notes}
    assert sum(note.replaced for note in whole.notes) == sum(note.replaced for note in cut.notes)


def check_lines(data: bytes, reading: Reading, codec: str) -> None:
    """Demand a document or a bad record of every line that is not blank."""
    try:
        data = UNPACK[codec](data) if codec else data
    except NOT_PACKED:
        return
    encoding = reading.notes[0].encoding
    if encoding != "utf-8":
        data = data.decode(encoding, "replace").encode("utf-8", "replace")
    lines = [i for i, line in enumerate(data.split(b"\n"), 1) if line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n")]
    assert sorted(item.place.line for item in [*reading.documents, *reading.bad]) == lines


def checker(path: Path, name: str, codec: str) -> Callable[[bytes], None]:
    """Return what reads one input, whole and cut, through a file at ``path``."""

    def check(data: bytes) -> None:
        if len(data) < 2:
            return
        share, choice, data = data[0], data[1], data[2:]
        path.write_bytes(data)
        whole = read_path(path, WHOLE, **options_of(choice))
        assert len(whole.notes) == 1
        check_cuts(whole, read_path(path, 1 + len(data) * share // 256, **options_of(choice)), name)
        if name == "jsonl" and not whole.problems:
            check_lines(data, whole, codec)

    return check


def mutator(codec: str) -> Callable[[bytes, int, int], bytes]:
    """Return what changes an input: every other time what is packed in it, which no checksum then gives away."""

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        if seed % 2:
            try:
                plain = UNPACK[codec](data[2:])
            except NOT_PACKED:
                plain = b""
            if 0 < len(plain) <= max_size:
                return (data[:2] + PACK[codec](atheris.Mutate(plain, max_size)))[:max_size]
        return atheris.Mutate(data, max_size)

    return mutate


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in FORMATS:
        sys.exit(f"usage: {sys.argv[0]} {{{','.join(FORMATS)}}} [libFuzzer options or an input]")
    name, _, codec = sys.argv[1].partition(".")
    home = Path(tempfile.gettempdir()) / "mrprep-fuzz" / sys.argv[1]
    corpus = home / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for index, seed in enumerate(seeds(codec, name)):
        (corpus / f"seed-{index}").write_bytes(seed)
    given = sys.argv[2:]
    inputs = [] if any(not each.startswith("-") for each in given) else [str(corpus)]
    check = checker(home / f"a.{sys.argv[1]}", name, codec)
    mutate = {"custom_mutator": mutator(codec)} if codec else {}
    atheris.Setup([sys.argv[0], *LIMITS, *given, *inputs], check, **mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
