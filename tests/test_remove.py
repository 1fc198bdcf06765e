"""Documents removed on request: nothing of them is left in any file, and nothing of the others is lost."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sentencepiece
import xxhash
from builds import hashes, mrprep
from growing_builds import GIVEN, NEW, OLD, built, grow, manifest, shrink
from test_dedupe_command import jsonl
from test_dedupe_stage import POEM, varied

from mrprep.builddir.layout import work_of
from mrprep.builddir.manifest import open_build
from mrprep.builddir.verify import damage
from mrprep.building import change
from mrprep.building import remove as removing
from mrprep.errors import MrprepError
from mrprep.growing import cleaned
from mrprep.growing.listed import read_list
from mrprep.growing.removed_texts import FindUnit, find_part, text_hashes
from mrprep.growing.verdicts import REMOVED_ON_REQUEST
from mrprep.interop import library
from mrprep.mindrecord.read import stored_batches
from mrprep.printable import printable
from mrprep.provenance.name import find_document
from mrprep.provenance.show import _ranges, show_row
from mrprep.provenance.why import explain
from mrprep.request import clear

pytestmark = pytest.mark.mindspore

SHORT = "too short"  # a map stage leaves it out, and the reports quote it


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a build that has grown: two parts, three shards of train and one of valid."""
    folder = tmp_path_factory.mktemp("whole")
    build = built(folder, [*OLD, SHORT])
    grow(build, jsonl(folder / "new.jsonl", GIVEN))
    return build


@pytest.fixture
def build(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "build"))


def holders(build: Path, texts: list[str], ids: list[int]) -> Iterator[str]:
    """Yield the files of a build that hold one of some texts or ids, in any form that a build writes them in."""
    model = sentencepiece.SentencePieceProcessor(model_file=str(next(build.rglob("tokenizer.model"))))
    words = [text[:40].encode() for text in texts] + [f"{value:016x}".encode() for value in ids]
    words += [value.to_bytes(8, "little") for value in ids]
    shards = [np.array(model.encode(text), np.int32).tobytes() for text in texts]
    for path in (path for path in build.rglob("*") if path.is_file()):
        data = path.read_bytes()
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            columns = [str(table[name].to_pylist()) for name in table.column_names if name not in ("row", "at")]
            data += "\n".join(columns).encode()
            numbers = {value for name in ("id",) if name in table.column_names for value in table[name].to_pylist()}
            if numbers & set(ids):
                yield f"{path.name}: id"
        if any(word in data for word in words):
            yield path.name
        if path.suffix == ".mindrecord":
            seq = manifest(build)["seq"]
            rows = np.concatenate([batch["input_ids"] for batch in stored_batches(path, ["input_ids"])])
            stream = np.concatenate([rows[0], *(row[1:] for row in rows[1:])]) if rows.shape[1] == seq + 1 else rows
            if any(tokens in stream.tobytes() for tokens in shards):
                yield path.name


def stream(build: Path, name: str) -> list[int]:
    """Return the tokens of a shard packed by concat, each once, without padding."""
    rows = np.concatenate([batch["input_ids"] for batch in stored_batches(build / name, ["input_ids"])])
    tokens = np.concatenate([rows[0], *(row[1:] for row in rows[1:])])
    shards = [shard for split in manifest(build)["splits"].values() for shard in split["shards"]]
    return tokens[: next(shard["tokens"] for shard in shards if shard["file"] == name)].tolist()


def test_neither_text_nor_id_is_left_in_any_file(build: Path) -> None:
    names = ["old.jsonl:13", "new.jsonl:3", "old.jsonl:15"]
    found = open_build(build)
    ids = [find_document(found, name)[0].id for name in [*names, "new.jsonl:4", "old.jsonl:2"]]
    texts = [varied(1), NEW[2]]
    held = {name.partition(".")[0] for name in holders(build, [*texts, SHORT], ids)}
    assert {"part-00000", "part-00001", "train-00002", "manifest", "summary", "duplicates"} <= held, "it finds them"
    shards = {"old": manifest(build)["splits"]["train"]["shards"]}
    removed = shrink(build, *names)
    assert removed.listed.named == 3 and not removed.listed.missing
    assert not list(holders(build, [*texts, SHORT], ids))
    assert not list(damage(open_build(build)))
    assert not work_of(build).exists()
    stays = {shard["file"] for shard in shards["old"]} - set(removed.shards)
    assert stays and stays <= {shard["file"] for shard in manifest(build)["splits"]["train"]["shards"]}
    with pytest.raises(MrprepError, match="no document of this build"):
        explain(open_build(build), "old.jsonl:13")


def test_the_others_stay_token_for_token(build: Path) -> None:
    before = {name: stream(build, name) for name in before_names(build)}
    texts = {document.id: document.text for document in library.open_build(build).documents()}
    gone = find_document(open_build(build), "new.jsonl:3")[0]
    removed = shrink(build, f"{gone.id:016x}")
    ((old, new),) = removed.shards.items()
    model = sentencepiece.SentencePieceProcessor(model_file=str(build / "tokenizer/tokenizer.model"))
    cut = [*model.encode(texts[f"{gone.id:016x}"]), model.eos_id()]
    at = next(i for i in range(len(before[old])) if before[old][i : i + len(cut)] == cut)
    assert new is not None and stream(build, new) == before[old][:at] + before[old][at + len(cut) :]
    assert {name: stream(build, name) for name in before if name != old} == {
        name: tokens for name, tokens in before.items() if name != old
    }
    left = {document.id: document.text for document in library.open_build(build).documents()}
    assert left == {name: text for name, text in texts.items() if name != f"{gone.id:016x}"}
    assert explain(open_build(build), "new.jsonl:2").count(new) == explain(open_build(build), "new.jsonl:2").count(
        "train/"
    )


def before_names(build: Path) -> list[str]:
    return [shard["file"] for split in manifest(build)["splits"].values() for shard in split["shards"]]


def test_copies_and_what_was_left_out_for_it_go_too(build: Path) -> None:
    """old:13 stands for old:2 (near), and new:4 is a copy of it; new:6 is a copy of new:1."""
    removed = shrink(build, "old.jsonl:13")
    assert (removed.listed.named, removed.listed.copies, removed.listed.followers) == (1, 1, 1)
    books = manifest(build)["ledger"]
    assert books["documents"]["removed_on_request"] == 3
    assert [each["documents"]["removed_on_request"] for each in books["additions"]] == [2, 1]
    assert books["removed"]["pieces"] == 1
    verdict = np.load(open_build(build).file("dedup/verdict.npy"))
    assert np.flatnonzero(verdict == REMOVED_ON_REQUEST).tolist() == [1, 12, 14 + 3]
    named_copy = shrink(build, "new.jsonl:6")
    assert (named_copy.listed.named, named_copy.listed.copies) == (1, 1), "the text itself is to go"
    near = jsonl(build.parent / "near.jsonl", [varied(2) + " once more"])
    grow(build, near)
    resembling = shrink(build, "near.jsonl:1")
    assert not resembling.shards and "old.jsonl:3 (near)" in resembling.listed.resembling[0]
    assert not list(damage(open_build(build)))


def test_what_was_removed_resembles_nothing(build: Path) -> None:
    shrink(build, "old.jsonl:13", "old.jsonl:3")
    grow(build, jsonl(build.parent / "again.jsonl", [varied(1) + " anew", varied(2) + " anew", varied(5)]))
    books = manifest(build)["ledger"]["additions"][-1]["documents"]
    assert (books["kept"], books["duplicates"]) == (2, 1)
    assert not list(damage(open_build(build)))


@pytest.mark.parametrize("pipeline", ["default", "raw"])
def test_a_removed_text_does_not_come_again_from_another_file(pipeline: str, tmp_path: Path) -> None:
    build = built(tmp_path, OLD, pipeline)
    shrink(build, "old.jsonl:4")
    shrink(build, "old.jsonl:6", "old.jsonl:9")
    gone = [varied(3), varied(5), varied(8)]
    again = jsonl(tmp_path / "again.jsonl", [gone[0], varied(30), gone[1], varied(31), varied(3)[:-1], gone[2]])
    grow(build, again)
    books = manifest(build)["ledger"]["additions"][-1]["documents"]
    assert (books["dropped"], books["duplicates"], books["kept"]) == (3, 0, 3)
    assert {document.text for document in library.open_build(build).documents()} & {*gone} == set()
    for path in (build / "text").iterdir():
        assert not {*pq.read_table(path)["text"].to_pylist()} & {*gone}
    for name in manifest(build)["text"]["dropped"]:
        assert not any(pq.read_table(build / name)["excerpt"].to_pylist())
    assert "remove    dropped: on-request (its text was removed from this build)" in explain(
        open_build(build), "again.jsonl:3"
    )
    assert "tokens" in explain(open_build(build), "again.jsonl:2")
    assert not list(damage(open_build(build)))
    more = jsonl(tmp_path / "more.jsonl", [gone[0]])
    assert grow(build, more).added is not None, "no failure, though nothing is left of it"
    assert manifest(build)["ledger"]["additions"][-1]["documents"]["dropped"] == 1
    assert grow(build, more).added is None and not work_of(build).exists()
    assert not list(damage(open_build(build)))


def test_texts_are_known_by_the_hash_of_all_their_pieces(tmp_path: Path) -> None:
    rows = [(5, "ab"), (5, ""), (5, "c"), (7, ""), (9, "的abc"), (2, "abc")]
    table = pa.table({"id": pa.array([i for i, _ in rows], pa.uint64()), "text": [text for _, text in rows]})
    pq.write_table(table, tmp_path / "text.parquet", row_group_size=2)
    ids, hashes = text_hashes(tmp_path / "text.parquet")
    wanted = [(5, "abc"), (7, ""), (9, "的abc"), (2, "abc")]
    assert ids.tolist() == [number for number, _ in wanted]
    found = [int(high) << 64 | int(low) for high, low in hashes.tolist()]
    assert found == [xxhash.xxh3_128_intdigest(text.encode()) for _, text in wanted]
    half = np.array([[hashes[2, 0], 1]], "<u8")
    np.save(tmp_path / "removed.npy", np.concatenate([hashes[[0]], half]))
    find_part(FindUnit(tmp_path, tmp_path / "removed.npy"), tmp_path)
    assert np.load(tmp_path / "found.npy").tolist() == [5, 2]


def test_the_files_it_was_removed_from_do_not_bring_it_back(whole: Path, build: Path) -> None:
    shrink(build, "old.jsonl:4", "new.jsonl:2")
    before = hashes(build)
    assert grow(build, whole.parent / "old.jsonl").added is None
    assert grow(build, whole.parent / "new.jsonl", whole.parent / "old.jsonl").added is None
    assert hashes(build) == before
    jsonl(build.parent / "more.jsonl", [varied(70)])
    found = grow(build, build.parent / "more.jsonl", whole.parent / "old.jsonl")
    assert (found.held, manifest(build)["ledger"]["additions"][-1]["documents"]["kept"]) == (1, 1)
    texts = {document.text for document in library.open_build(build).documents()}
    assert not texts & {varied(3), NEW[1]} and varied(70) in texts


def test_documents_of_one_path_are_told_apart_by_their_sources(build: Path) -> None:
    for name in ("b", "ab"):
        (build.parent / name).mkdir()
        grow(build, jsonl(build.parent / name / "x.jsonl", [varied(80 + len(name))]).parent)
    with pytest.raises(MrprepError, match=r"holds 2 documents: name one of them \(\w{16} ab/x\.jsonl:1, \w{16} b/x\.j"):
        explain(open_build(build), "x.jsonl:1")
    assert find_document(open_build(build), "b/x.jsonl:1")[0].source == "b"
    assert shrink(build, "ab/x.jsonl:1").listed.named == 1
    assert find_document(open_build(build), "x.jsonl:1")[0].source == "b"


def test_a_shard_of_which_nothing_is_left_goes_and_train_never_does(build: Path) -> None:
    split = manifest(build)["splits"]["valid"]["shards"]
    docs = {doc for shard in split for doc in pq.read_table(build / shard["provenance"])["doc"].to_pylist()}
    texts = pq.read_table(build / "text/part-00000.parquet")["id"].to_pylist()
    removed = shrink(build, *(f"{texts[doc]:016x}" for doc in docs))
    assert None in removed.shards.values()
    assert "valid" not in manifest(build)["splits"] and not (build / "valid").exists()
    assert not list(damage(open_build(build)))
    before = hashes(build)
    every = [document.id for document in library.open_build(build).documents()]
    with pytest.raises(MrprepError, match="no row left"):
        shrink(build, *every)
    assert hashes(build) == before


def test_names_that_mean_nothing_are_told(build: Path) -> None:
    before = hashes(build)
    with pytest.raises(MrprepError, match=r": nothing was removed \(--strict\): name source/path:line"):
        shrink(build, "0000000000000001", "old.jsonl:1", strict=True)
    would = shrink(build, "0000000000000001", "nowhere.txt", "old.jsonl:1", dry_run=True)
    assert len(would.shards) == 1
    assert would.listed.missing == ("0000000000000001", "'nowhere.txt'")
    with pytest.raises(
        MrprepError, match=r"2 listed names mean no .*: 0000000000000001; 'x.jsonl:1': nothing was removed, as no"
    ):
        shrink(build, "0000000000000001", "x.jsonl:1")
    assert hashes(build) == before


def test_emptied_rows_are_no_documents(build: Path) -> None:
    shrink(build, "old.jsonl:4")
    before = hashes(build)
    for name in ("0" * 16, "/"):
        with pytest.raises(MrprepError, match=r"1 listed name means no document"):
            shrink(build, name)
        with pytest.raises(MrprepError, match="no document of this build goes by"):
            explain(open_build(build), name)
    assert hashes(build) == before


def test_a_removal_killed_while_it_tidies_up_leaves_nothing_after_the_next(
    build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(work: Path) -> None:
        (work / "phases").rename(work / "phases.trash")
        (work / "change.json.tmp").touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        calls = iter([clear, clear])  # before the work; the third is after it

        def third(work: Path) -> None:
            next(calls, stop)(work)

        patched.setattr(removing, "clear", third)
        shrink(build, "old.jsonl:4")
    assert list((work_of(build) / "phases.trash").rglob("text.parquet"))
    before = hashes(build)
    again = shrink(build, "old.jsonl:4")
    assert (again.listed.named, again.listed.already, again.listed.missing) == (0, 1, ())
    assert hashes(build) == before and not work_of(build).exists()


def test_shards_are_named_without_the_gaps(build: Path) -> None:
    shrink(build, "old.jsonl:4")
    names = sorted(before_names(build))
    with pytest.raises(MrprepError) as told:
        show_row(open_build(build), "train-00099:0")
    gone = {f"train/train-{number:05d}.mindrecord" for number in range(3)} - set(names)
    assert len(gone) == 1 and not any(name in str(told.value) for name in gone)
    assert _ranges(
        ["t/t-00003.mindrecord", "t/t-00000.mindrecord", "t/t-00001.mindrecord", "v/v-00002.mindrecord"]
    ) == [
        "t/t-00000.mindrecord to t/t-00001.mindrecord",
        "t/t-00003.mindrecord",
        "v/v-00002.mindrecord",
    ]


def test_the_list_is_read_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(
        "#n.jsonl:1\n\n a\u2028\x0b.txt \r\n\r\na.txt:1\na.txt:1\n".encode() + b"\xff:1\r\r\n \n0f"
    )
    assert read_list(tmp_path / "list") == ["#n.jsonl:1", " a\u2028\x0b.txt", "a.txt:1", "\udcff:1", "0f"]
    (tmp_path / "list").write_bytes(b"\xef\xbb\xbfa.txt:1 \t\na.txt:1\n")
    assert read_list(tmp_path / "list") == ["a.txt:1"]
    for encoding in ("utf-16", "utf-16-le"):
        (tmp_path / "list").write_bytes("a.txt:1\n".encode(encoding))
        with pytest.raises(MrprepError, match="UTF-16 or binary, and a list is UTF-8: save it as"):
            read_list(tmp_path / "list")
    (tmp_path / "none").write_text("\n \r\n")
    with pytest.raises(MrprepError, match="names no document"):
        read_list(tmp_path / "none")


def test_the_command_says_what_it_did(build: Path, tmp_path: Path) -> None:
    (tmp_path / "list").write_text("old.jsonl:4\nnowhere:1\n")
    done = mrprep("remove", build, "--docs", tmp_path / "list", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("nowhere:1") == done.stdout.count("name source/path:line") == 1
    assert "listed      2 names: 1 documents, 1 not found" in done.stdout and "-> train/train-0000" in done.stdout
    assert "  old.jsonl/old.jsonl:4\n" in done.stdout
    again = mrprep("remove", build, "--docs", tmp_path / "list", "--jobs", 1)
    assert again.returncode == 0 and "1 name was removed already" in again.stdout and "unchanged" in again.stdout
    assert mrprep("remove", build, "--docs", tmp_path / "list", "--strict").returncode == 1


def test_stopped_before_the_rename_the_build_is_the_old_one(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    before = hashes(build)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(change, "apply", stop)
        shrink(build, "old.jsonl:4")
    assert hashes(build) == before
    assert shrink(build, "old.jsonl:4").listed.named == 1


@pytest.mark.parametrize("pack", [{"packing": "bestfit", "layout": "mcore"}, {"layout": "mcore"}])
def test_other_packings_and_layouts_and_no_dedupe(pack: dict[str, str], tmp_path: Path) -> None:
    """Without dedupe a copy is a document of its own, and stays."""
    texts = [*NEW, POEM, POEM]
    build = built(tmp_path, texts, "raw", **pack)
    shrink(build, "old.jsonl:3", "old.jsonl:7")
    left = [document.text for document in library.open_build(build).documents()]
    assert left == [text for at, text in enumerate(texts) if at not in (2, 6)]
    assert not list(damage(open_build(build)))
    grow(build, jsonl(tmp_path / "more.jsonl", [varied(50), POEM, varied(51)]))  # the one that went, goes
    assert len(list(library.open_build(build).documents())) == len(texts)
    model = sentencepiece.SentencePieceProcessor(model_file=str(build / "tokenizer/tokenizer.model"))
    decoded = ""
    for shard in before_names(build):
        for batch in stored_batches(build / shard, ["input_ids"]):
            decoded += "".join(model.decode(row.tolist()) for row in batch["input_ids"])
    assert NEW[2].split()[-1] not in decoded and NEW[3].split()[-1] in decoded
    assert not list(damage(open_build(build)))


def test_quotes_are_found_wherever_a_long_text_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaned, "_SHOWN", 7)
    text = "".join(f"{n}\n\x1b" for n in range(40))
    for at in range(len(text) - 12):
        quoted: set[int] = set()
        cleaned._note_quoted(text, ("nothing of it", printable(text[at : at + 12], 12) + "…"), quoted)
        assert quoted == {1}
