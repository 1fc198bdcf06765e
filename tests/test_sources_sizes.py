"""Sizes: memory does not grow with a file, nothing is lost, time is linear. Slow: writes hundreds of MB."""

import gzip
import json
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sources_tools import read_path

MB = 1 << 20
pytestmark = pytest.mark.slow

MEASURE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from mrprep.document import Document
from mrprep.sources.read import read
from sources_tools import units_of
count = size = 0
for unit in units_of(Path(sys.argv[1]), 64 << 20, documents=sys.argv[2]):
    for span in unit:
        for item in read(span):
            if isinstance(item, Document):
                count, size = count + 1, size + len(item.text)
peak = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]  # ru_maxrss would be the parent's
print(count, size, int(peak) >> 10)
"""


def measured(path: Path, documents: str = "file") -> tuple[int, int, int]:
    """Return documents, characters and peak MB of a process that reads ``path``."""
    command = [sys.executable, "-c", MEASURE, path, documents, Path(__file__).parent]
    count, size, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(count), int(size), int(peak)


def test_100_mb_on_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("长文".encode() * (100 * MB // 6))
    count, size, peak = measured(tmp_path)
    assert (count, size) == (9, 100 * MB // 6 * 2)  # cut before each 12 MB: at 12, 24 … 96
    assert peak < 300


def test_a_record_of_60_mb_in_gz(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.jsonl.gz", "wb", compresslevel=1) as file:
        for text in ("before", "x" * (60 * MB), "after"):
            file.write(json.dumps({"text": text}).encode() + b"\n")
    count, size, peak = measured(tmp_path)
    assert (count, size) == (7, 60 * MB + 11)  # the long one at 12, 24, 36, 48
    assert peak < 600


def test_a_record_over_256_mb_is_refused(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.jsonl.gz", "wb", compresslevel=1) as file:
        file.write(b'{"text":"before"}\n{"text":"')
        for _ in range(300):
            file.write(b"x" * MB)
        file.write(b'"}\n{"text":"after"}\n')
    reading = read_path(tmp_path)
    assert reading.texts == ["before", "after"]
    assert [(r.reason, r.place.line) for r in reading.bad] == [("too-long", 2)]
    assert reading.documents[1].place.line == 3


def test_a_row_group_of_half_a_gigabyte(tmp_path: Path) -> None:
    texts = pa.array([f"{i:08d}" * 128 for i in range(500_000)])
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet", row_group_size=500_000, use_dictionary=False)
    count, size, peak = measured(tmp_path)
    assert (count, size) == (500_000, 512_000_000)
    assert peak < 400


def test_a_json_array_of_200_mb(tmp_path: Path) -> None:
    element = json.dumps({"id": 1, "text": 'say "a", [b] \\ ' * 50}) + ",\n"
    count = 200 * MB // len(element)
    with (tmp_path / "a.json").open("w") as file:
        file.write("[" + element * count + "{}]")
    found, _, peak = measured(tmp_path)
    assert found == count
    assert peak < 250


def test_time_is_linear_in_a_single_line(tmp_path: Path) -> None:
    spent = []
    for size in (10, 80):
        (tmp_path / "a.jsonl").write_bytes(b'{"text":"' + b"x" * (size * MB) + b'"}')
        start = time.process_time()
        read_path(tmp_path, 2 * MB)
        spent.append(time.process_time() - start)
    assert spent[1] < 25 * spent[0]
