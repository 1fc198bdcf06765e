"""What a build says of encodings, of bytes that could not be decoded, and of files that were not read."""

import json
from pathlib import Path

from builds import mrprep

CHINESE = "整篇都是正常的中文，讲的是清晨的市场和孩子们的笑声。\n"


def dedupe(folder: Path, *arguments: object) -> tuple[int, str]:
    done = mrprep("dedupe", folder, "--out", folder.parent / "out", "--jobs", 1, *arguments)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def test_replaced_bytes_and_encodings_are_told_and_strict_stops(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "bad.txt").write_bytes(b"".join(CHINESE.encode() for _ in range(200)) + b"\xff\xfe")
    (folder / "gb.txt").write_bytes(("第一篇" + CHINESE * 9).encode("gb18030"))
    (folder / "plain.txt").write_text("Plain words of a second document, quite another one.\n")
    code, said = dedupe(folder, "--strict")
    assert (code, "in/bad.txt: 2 bytes that cannot be decoded" in said) == (1, True), said
    code, said = dedupe(folder)
    assert code == 0, said
    summary = json.loads((tmp_path / "out/report/summary.json").read_text())
    assert summary["replaced"] == [{"source": "in", "path": "bad.txt", "bytes": 2}]
    encodings = summary["encodings"]
    assert {name: facts["files"] for name, facts in encodings.items()} == {"gb18030": 1, "utf-8": 2}
    assert 0.25 < encodings["gb18030"]["least_confidence"] < 1
    assert "REPLACED    2 bytes that cannot be decoded became U+FFFD, in 1 file: in/bad.txt 2\n" in said
    assert "encodings   of files: utf-8 2" in said
    code, said = dedupe(folder, "--strict", "--overwrite")
    assert (code, "2 bytes that cannot be decoded" in said) == (1, True), said


def test_files_of_one_name_in_two_inputs_are_told_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text.txt").write_text(
            f"A text of its own, and {name} is the letter of the input that holds it.\n"
        )
    (tmp_path / "b" / "table.parquet").write_bytes(b"no table")
    (tmp_path / "b" / "away.txt").symlink_to("nowhere")
    (tmp_path / "a" / "page.pdf").touch()
    code, said = dedupe(tmp_path / "a", tmp_path / "b")
    assert code == 0, said
    assert "NOT READ    2 files" in said
    assert "  b/table.parquet: is no readable Parquet file" in said
    assert "  b/away.txt: is a link to nowhere\n" in said
    assert "left aside  ending 1: a/page.pdf (PDF is not read" in said
    code, said = dedupe(tmp_path / "a", tmp_path / "b", "--strict")
    assert (code, "mrprep: b/away.txt is a link to nowhere (--strict" in said) == (1, True), said


def test_files_that_were_not_read_are_named_when_nothing_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.txt").write_bytes(bytes(range(256)) * 20)
    code, said = dedupe(folder)
    assert code == 1
    assert "no document is left to build from" in said
    assert "not read: in/0.txt: undecodable: " in said
    assert "and 2 more files" in said


def test_clean_shows_a_file_of_the_encoding_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Ärger über Öl\u00a0und Größe\n".encode("cp437"))
    assert "not read: undecodable" in mrprep("clean", tmp_path / "a.txt").stdout
    done = mrprep("clean", tmp_path / "a.txt", "--encoding", "cp437", "--pipeline", "raw")
    assert done.stdout.splitlines()[-1].startswith("1 documents")
