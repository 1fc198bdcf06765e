"""What a list of names means: exactly what it says, whatever else is in the build, and what was in it before."""

import os
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mrprep.builddir.layout import REMOVED_NAMES
from mrprep.builddir.manifest import Build
from mrprep.builddir.tables import DROPPED, TEXT
from mrprep.errors import MrprepError
from mrprep.growing.listed import Listed, documents_of
from mrprep.order import document_id
from mrprep.provenance import meaning, tables
from mrprep.provenance.called import all_names, name_hashes
from mrprep.provenance.meaning import meanings
from mrprep.provenance.name import find_document

Row = tuple[str, bytes, int]
"""Source, path, line."""


def build_of(
    folder: Path, parts: Sequence[Sequence[Row]], dropped: Sequence[Row] = (), gone: Sequence[Row] = ()
) -> Build:
    """Return what there is of a build to look names up in; ``gone``: what was removed from it."""
    entries, base = [], 0
    for number, rows in enumerate([*parts, dropped]):
        left_out = number == len(parts)
        more = {"stage": "filter", "reason": "", "detail": "", "excerpt": ""} if left_out else {"text": ""}
        table = [
            {
                "id": identity(row),
                "source": row[0],
                "path": row[1],
                "offset": row[2],
                "line": row[2],
                "piece": 0,
                **more,
            }
            for row in rows
        ]
        schema = DROPPED if left_out else TEXT
        pq.write_table(pa.Table.from_pylist(table, schema=schema), folder / f"{number}", row_group_size=2)
        entries.append({"file": f"{number}", "base": base, "rows": len(rows)})
        base += len(rows)
    names = [name for row in gone for name in all_names(identity(row), *row)]
    sources = sorted({row[0] for rows in (*parts, gone) for row in rows})
    (folder / "dedup").mkdir()
    np.save(folder / REMOVED_NAMES, np.unique(name_hashes(names)))
    return Build(
        folder,
        {
            "text": {"parts": entries[:-1], "dropped": [f"{len(parts)}"]},
            "pipeline": {"source": [{"name": name} for name in sources]},
            "inputs": {"skipped": [], "problems": []},
            "ledger": {"documents": {}},
            "files": {REMOVED_NAMES: {}},
        },
    )


def identity(row: Row) -> int:
    return document_id(row[0], row[1], row[2])


def meant(listed: Listed) -> list[str]:
    return [each.partition("  ")[2] for each in listed.documents]


def test_a_name_of_what_was_removed_means_no_other_document(tmp_path: Path) -> None:
    gone: list[Row] = [("a", b"f.jsonl", 1), ("t", b"one.txt", 3)]
    here: list[Row] = [("b", b"f.jsonl", 1), ("b", b"g.jsonl", 1), ("t", b"one.txt", 1), ("t", b"one.txt", 2)]
    build = build_of(tmp_path, [here], gone=gone)
    first = documents_of(build, [f"{identity(gone[0]):016x}", "a/f.jsonl:1", "t/one.txt:3", "one.txt:3", "f.jsonl:1"])
    assert (first.already, first.ids.size, first.missing) == (5, 0, ())
    assert len(first.others) == 1 and "b/f.jsonl:1 has that name now" in first.others[0]
    assert meant(documents_of(build, ["b/f.jsonl:1", "g.jsonl:1"])) == ["b/f.jsonl:1", "b/g.jsonl:1"]
    for name in ("a/f.jsonl:1", "t/one.txt:3"):
        with pytest.raises(MrprepError, match=f"'{name}': it was removed on request"):
            find_document(build, name)


def test_a_full_name_means_its_own_document_though_a_removed_one_could_go_by_it(tmp_path: Path) -> None:
    gone: list[Row] = [("s1", b"s2/v.jsonl", 4)]  # its path alone is what s2's v.jsonl is called
    build = build_of(tmp_path, [[("s1", b"s2/v.jsonl", 9), ("s2", b"v.jsonl", 4)]], gone=gone)
    assert meant(documents_of(build, ["s2/v.jsonl:4"])) == ["s2/v.jsonl:4"]
    assert documents_of(build, ["s1/s2/v.jsonl:4"]).already == 1
    assert documents_of(build, ["s2/v.jsonl"]).already == 1  # a file is another's name too


def test_a_name_of_what_was_removed_stays_so_when_two_others_have_it(tmp_path: Path) -> None:
    here: list[Row] = [("b", b"f.jsonl", 1), ("c", b"f.jsonl", 1)]
    listed = documents_of(build_of(tmp_path, [here], gone=[("a", b"f.jsonl", 1)]), ["f.jsonl:1"])
    assert (listed.already, listed.ids.size, listed.missing, len(listed.others)) == (1, 0, (), 1)


def test_only_a_line_on_which_a_document_begins_means_it(tmp_path: Path) -> None:
    build = build_of(
        tmp_path, [[("ln", b"a.txt", 1), ("ln", b"a.txt", 4)], [("ln", b"a.txt", 9), ("ln", b"b.jsonl", 2)]]
    )
    names = [
        "ln/a.txt:12",
        "a.txt:3",
        "a.txt:99999",
        "a.txt:04",
        "b.jsonl:3",
        "a.txt:0",
        "a.txt:-1",
        "a.txt:99999999999",
    ]
    listed = documents_of(build, names)
    assert not listed.ids.size
    said = [
        name.split(" (no document begins on that line; the last one before it does on ")[-1] for name in listed.missing
    ]
    assert said[:3] == ["line 9)", "line 1)", "line 9)"]
    assert said[3:] == [repr(name) for name in names[3:]]
    assert meant(documents_of(build, ["a.txt:4", "ln/a.txt:9"])) == ["ln/a.txt:4", "ln/a.txt:9"]
    assert find_document(build, "ln/a.txt:12")[0].line == 9, "why takes any line of a text"


@pytest.mark.parametrize(
    "other", ["otherbuild/f.jsonl:2", "/data/x/f.jsonl:2", "./f.jsonl:2", "\ufefff.jsonl:2", "f.jsonl:2\tf.jsonl:2"]
)
def test_another_prefix_means_nothing(other: str, tmp_path: Path) -> None:
    build = build_of(tmp_path, [[("c", b"f.jsonl", 2), ("c", b"one.txt", 1)]])
    assert documents_of(build, [other, other.replace("f.jsonl:2", "one.txt")]).ids.size == 0


def test_why_takes_longer_paths_but_never_another_source(tmp_path: Path) -> None:
    build = build_of(tmp_path, [[("c", b"f.jsonl", 2), ("d", b"e/f.jsonl", 7), ("e", b"g.jsonl", 7)]])
    assert find_document(build, "/data/c/f.jsonl:2")[0].source == "c"
    assert find_document(build, "/elsewhere/f.jsonl:2")[0].source == "c"
    assert find_document(build, "./c/../c/f.jsonl:2")[0].source == "c"
    assert find_document(build, "d/e/f.jsonl:7")[0].source == "d"
    for name in ("d/f.jsonl:2", "/data/d/f.jsonl:2", "e/f.jsonl:7", "/x/e/f.jsonl:7"):
        with pytest.raises(MrprepError, match="no document of this build goes by"):
            find_document(build, name)


def test_names_of_several_documents_are_refused_with_each(tmp_path: Path) -> None:
    rows: list[Row] = [("a", b"x.txt", 1), ("b", b"x.txt", 1), ("b", b"y.jsonl", 1), ("b", b"y.jsonl", 2)]
    many: list[Row] = [("b", b"z.jsonl", line) for line in range(1, 40)]
    build = build_of(tmp_path, [rows[:2], rows[2:], many], dropped=[("b", b"only.txt", 1), ("c", b"a/x.txt", 1)])
    listed = documents_of(build, ["x.txt:1", "x.txt", "y.jsonl", "z.jsonl"])
    a, b = (f"{identity(row):016x} {row[0]}/x.txt:1" for row in rows[:2])
    assert listed.missing[0] == f"'x.txt:1' holds 2 documents: name one of them ({a}, {b})"
    assert listed.missing[1] == listed.missing[0].replace("x.txt:1'", "x.txt'")
    assert "holds 2 documents" in listed.missing[2]
    assert "holds 39 documents" in listed.missing[3] and listed.missing[3].count(" b/z.jsonl:") == 10
    assert meant(documents_of(build, ["only.txt", "a/x.txt", "b/x.txt"])) == ["b/only.txt:1", "a/x.txt:1", "b/x.txt:1"]
    assert meant(documents_of(build, [f"z.jsonl:{line}" for line in range(1, 31)]))[-1] == "b/z.jsonl:20"


def test_what_is_printed_is_a_name(tmp_path: Path) -> None:
    rows: list[Row] = [("s", b"new\nline.jsonl", 1), ("s", b"\xff.txt", 1), ("s", b"a:12", 1), ("s", b"\x1b", 1)]
    build = build_of(tmp_path, [rows])
    names = ["new\\nline.jsonl:1", "s/new\nline.jsonl:1", "\\xff.txt", os.fsdecode(b"s/\xff.txt:1"), "a:12", "a:12:1"]
    listed = documents_of(build, names)
    assert (meant(listed), listed.missing) == (["s/new\\nline.jsonl:1", "s/\\xff.txt:1", "s/a:12:1"], ())
    assert documents_of(build, meant(listed)).named == 3
    assert find_document(build, "new\\nline.jsonl:1")[0].path == b"new\nline.jsonl"


def slow(rows: Sequence[Row], name: str) -> set[int]:
    sources = {row[0] for row in rows}
    found = set()
    for row in rows:
        source, path, line = row[0], row[1].decode(), row[2]
        heads = [other for other in sources if name.startswith(f"{other}/")]
        own = not heads or source in heads
        forms = {f"{source}/{path}", f"{source}/{path}:{line}"} | ({path, f"{path}:{line}"} if own else set())
        if name in forms or name == f"{identity(row):016x}":
            found.add(identity(row))
    return found


def test_many_names_mean_what_each_means_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one pass over each table."""
    some = random.Random(7)
    paths = ["a", "a/a", "b/a", "a:1", "b", "b/b/a", "a/b", "c"]
    rows = list({(some.choice("abc"), some.choice(paths).encode(), some.randrange(1, 6)): 0 for _ in range(90)})
    some.shuffle(rows)
    build = build_of(tmp_path, [rows[:20], [], rows[20:50]], dropped=rows[50:])
    names = {
        some.choice(["", "a/", "b/", "x/"]) + some.choice(paths) + some.choice(["", ":1", ":3", ":9"])
        for _ in range(200)
    }
    names |= {f"{identity(row):016x}" for row in rows[::3]} | {"0" * 16, "f" * 16}
    asked = sorted(names)
    read: list[str] = []
    monkeypatch.setattr(
        tables, "table_of", lambda path, of=tables.table_of, **options: read.append(path.name) or of(path, **options)
    )
    found = meanings(build, [name.encode() for name in asked])
    assert sorted(read) == ["0", "1", "2", "3"]
    wanted = [slow(rows, name) for name in asked]
    assert [each.count for each in found] == [len(ids) for ids in wanted]
    assert all(
        set(each.ids) <= ids and len(each.ids) == min(len(ids), meaning.LISTED)
        for each, ids in zip(found, wanted, strict=True)
    )
    assert {len(ids) for ids in wanted} >= {0, 1, 2, 3}
