"""The stage on texts whose answer is known by hand, and what it must not depend on."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dedupe_helpers import InProcess, deduped, sketch, write_parts
from pydantic import ValidationError

from mrprep.duplicates import candidates, ranks, set_writer, shingle_files
from mrprep.stages import dedupe

SENTENCE = "the harbour master kept a ledger of every vessel that came in from the northern route last winter"
WORDS = SENTENCE.split()
POEM = "床前明月光疑是地上霜举头望明月低头思故乡独在异乡为异客每逢佳节倍思亲遥知兄弟登高处遍插茱萸少一人"


def varied(number: int) -> str:
    """Return an English text that shares no shingle with those of other numbers."""
    return " ".join(f"{word}{number}" for word in WORDS)


def verdict(out: Path) -> list[int]:
    found: list[int] = np.load(out / "verdict.npy").tolist()
    return found


def counts(out: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads((out / "counts.json").read_text())
    return found


def rows(out: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(out / "clusters.parquet").to_pylist()
    return found


def test_exact_copies_leave_the_first(tmp_path: Path) -> None:
    out = deduped(tmp_path, [varied(1), "tiny", varied(2), "tiny", varied(1)], parts=2)
    assert verdict(out) == [-1, -1, -1, 1, 0]
    assert counts(out) == {"exact": 2, "near": 0, "chain": 0, "contained": 0, "held": 0, "overflow": 0}
    assert [(r["doc"], r["survivor"], r["cluster"], r["kind"], r["jaccard"]) for r in rows(out)] == [
        (3, 1, 1, "exact", 1.0),
        (4, 0, 0, "exact", 1.0),
    ]


def test_the_longest_stays_with_its_true_jaccard(tmp_path: Path) -> None:
    short, long = POEM, POEM + "又及"
    out = deduped(tmp_path, [short, varied(1), long, short])
    shingles = len(POEM) - 4
    assert verdict(out) == [2, -1, -1, 2]
    assert counts(out) == {"exact": 0, "near": 2, "chain": 0, "contained": 0, "held": 0, "overflow": 0}
    assert [(r["doc"], r["survivor"], r["cluster"], r["kind"]) for r in rows(out)] == [
        (0, 2, 0, "near"),
        (3, 2, 0, "near"),
    ]
    assert all(r["jaccard"] == shingles / (shingles + 2) for r in rows(out))
    first = deduped(tmp_path / "first", [short, varied(1), long, short], dedupe.Options(keep="first"))
    assert verdict(first) == [-1, -1, 0, 0]


def test_copies_are_no_candidates(tmp_path: Path) -> None:
    out = deduped(tmp_path, [varied(1)] * 500 + [varied(2)] * 500)
    assert counts(out) == {"exact": 998, "near": 0, "chain": 0, "contained": 0, "held": 0, "overflow": 0}
    assert not (tmp_path / "dedupe.compare").exists()


def chain() -> list[str]:
    """Return texts of which each resembles the next at 0.86, but the first and the last at 0.5."""
    return [POEM[at:] + "".join(chr(0x5F00 + n) for n in range(at)) for at in range(0, 16, 3)]


def test_a_chain_is_one_cluster_and_counted_or_stars(tmp_path: Path) -> None:
    out = deduped(tmp_path / "connected", chain())
    assert verdict(out) == [-1, 0, 0, 0, 0, 0]
    assert counts(out) == {"exact": 0, "near": 1, "chain": 4, "contained": 0, "held": 0, "overflow": 0}
    assert [r["kind"] for r in rows(out)] == ["near", "chain", "chain", "chain", "chain"]
    star = deduped(tmp_path / "star", chain(), dedupe.Options(cluster="star"))
    assert verdict(star) == [-1, 0, -1, 2, -1, 4]
    assert counts(star) == {"exact": 0, "near": 3, "chain": 0, "contained": 0, "held": 0, "overflow": 0}


@pytest.mark.parametrize(
    "texts",
    [
        ["", " ", "。", "!", "??"],
        ["短", "短。", "Ab", "ab"],
        ["哈" * 50, "哈" * 80, "a" * 300_000, "a" * 299_999],
        ["ha " * 50, "ha " * 80],
        ["one two three four", "One, two, three, four."],
        [f"会议定于{month}月{day}日上午在一号楼召开" for month, day in [(3, 5), (9, 28), (4, 1)]],
        [f"Invoice {n} for order {n * 7} of customer {n * 3} was sent on day {n} to branch {n + 1}" for n in range(20)],
    ],
    ids=["nothing", "short", "one character", "one word", "one shingle", "template zh", "template en"],
)
def test_never_merged(tmp_path: Path, texts: list[str]) -> None:
    assert verdict(deduped(tmp_path, texts)) == [-1] * len(texts)


def test_copies_that_differ_in_case_width_and_line_breaks_are_near(tmp_path: Path) -> None:
    text = varied(3)
    out = deduped(tmp_path, [text, text.upper(), text.replace(" ", "\n"), varied(4)])
    assert verdict(out) == [-1, 0, 0, -1]
    assert [(r["kind"], r["jaccard"]) for r in rows(out)] == [("near", 1.0), ("near", 1.0)]


def test_pieces_are_one_document_and_no_shingle_crosses_them(tmp_path: Path) -> None:
    texts = [varied(1), varied(2), "x", varied(1), varied(2) + " tail", varied(3)]
    out = deduped(tmp_path, texts, ids=[7, 7, 8, 9, 9, 10])
    assert verdict(out) == [3, 3, -1, -1, -1, -1]
    shingles = 2 * (len(WORDS) - 4)
    assert rows(out)[0]["jaccard"] == shingles / (shingles + 1)
    assert [r["doc"] for r in rows(out)] == [0]
    across = deduped(tmp_path / "across", texts, ids=[7, 7, 8, 9, 9, 10], group_rows=1)
    assert rows(across) == rows(out)
    same = deduped(tmp_path / "same", texts[:2] * 2, ids=[1, 1, 2, 2])
    assert verdict(same) == [-1, -1, 0, 0]
    assert counts(same)["exact"] == 1


def test_no_documents(tmp_path: Path) -> None:
    out = deduped(tmp_path, [])
    assert verdict(out) == [] and rows(out) == []
    part_without = deduped(tmp_path / "one", ["only"], parts=3)
    assert verdict(part_without) == [-1]


def corpus() -> list[str]:
    texts = [varied(n) for n in range(60)] + [varied(n) + f" ending {n}" for n in range(0, 60, 3)]
    return texts + [varied(n) for n in range(0, 60, 7)] + chain() + ["", "短"]


def files(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def test_the_verdict_does_not_depend_on_parts_row_groups_or_units_of_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = files(deduped(tmp_path / "a", corpus()))
    assert files(deduped(tmp_path / "b", corpus(), parts=5, group_rows=3)) == plain
    monkeypatch.setattr(candidates, "KEYS_A_UNIT", 200)
    monkeypatch.setattr(candidates, "UNITS_A_GROUP", 50)
    monkeypatch.setattr(shingle_files, "TEXT_A_UNIT", 1)
    monkeypatch.setattr(shingle_files, "CHUNK", 7)
    monkeypatch.setattr(set_writer, "LONG", 100)
    split = deduped(tmp_path / "c", corpus(), parts=5, group_rows=4)
    assert files(split) == plain
    assert len(list((tmp_path / "c/dedupe.bands").iterdir())) == 6
    assert len(list((tmp_path / "c/dedupe.compare").iterdir())) > 5
    assert counts(split)["near"] >= 20
    monkeypatch.setattr(candidates, "KEYS_A_UNIT", 30)
    monkeypatch.setattr(ranks, "DOCUMENTS_AT_A_TIME", 7)
    assert files(deduped(tmp_path / "d", corpus(), parts=5, group_rows=4)) == plain | {
        "clusters.parquet": files(tmp_path / "d/dedupe.verdicts/00000")["clusters.parquet"]
    }
    assert rows(tmp_path / "d/dedupe.verdicts/00000") == rows(tmp_path / "a/dedupe.verdicts/00000")
    assert len(list((tmp_path / "d/dedupe.bands").iterdir())) >= 24
    assert len(list((tmp_path / "d/dedupe.exact").iterdir())) > 4


def test_datasketch_gives_the_same_verdict(tmp_path: Path) -> None:
    plain = files(deduped(tmp_path / "a", corpus()))
    assert files(deduped(tmp_path / "b", corpus(), dedupe.Options(kernel="datasketch"))) == plain


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_batches_give_the_sketch_of_the_whole(size: int) -> None:
    options = dedupe.Options()
    texts = pa.array(corpus())
    ids = np.repeat(np.arange(len(texts), dtype=np.uint64), 3)[: len(texts)]  # three pieces a document
    whole = sketch(texts, ids, options)
    assert whole["documents"]["rows"].tolist() == [3] * (len(texts) // 3) + [len(texts) % 3] * (len(texts) % 3 > 0)
    growing = dedupe.sketches(options)
    for low in range(0, len(texts), size):
        growing.add(texts[low : low + size], ids[low : low + size])
    assert all((array == whole[name]).all() for name, array in growing.arrays().items())
    assert dedupe.sketches(options).arrays()["bands"].shape == (12, 0)
    chunked = pa.chunked_array([texts[:30], texts[30:]]).cast(pa.large_string())
    assert all((array == whole[name]).all() for name, array in sketch(chunked, ids, options).items())


def test_the_sketch_is_small_and_pinned() -> None:
    found = sketch(pa.array([varied(1), "短"]), np.arange(2, dtype=np.uint64), dedupe.Options())
    assert found["documents"].dtype.itemsize + 12 * 8 < 150
    assert found["documents"]["units"].tolist() == [len(WORDS), 1]
    assert found["documents"]["banded"].tolist() == [True, False]
    assert found["documents"]["exact"].tolist() == [
        [5563032956714355945, 5178564236123978722],
        [5910556463733753654, 7930368526932773880],
    ]
    assert found["bands"][:2, 0].tolist() == [11944154583524433485, 7543663672595711068]
    more = sketch(pa.array([varied(1)]), np.arange(1, dtype=np.uint64), dedupe.Options(permutations=128))
    assert more["bands"][:2, 0].tolist() == [17059769646460581129, 4838747196411754397]


def test_options_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"recall 0\.998 at 0\.8 needs 4 permutations or more, not 3"):
        dedupe.Options(permutations=3)
    with pytest.raises(ValidationError, match="extra"):
        dedupe.Options(treshold=0.7)  # type: ignore[call-arg]


def test_other_thresholds_and_shingle_lengths(tmp_path: Path) -> None:
    words = [f"w{n}" for n in range(40)]
    edited = [*words[:20], "other", *words[21:]]
    texts = [" ".join(words), " ".join(edited)]
    assert verdict(deduped(tmp_path / "a", texts)) == [-1, -1]  # 31 of 41 shingles of 5
    assert verdict(deduped(tmp_path / "b", texts, dedupe.Options(threshold=0.75))) == [-1, 0]
    assert verdict(deduped(tmp_path / "c", texts, dedupe.Options(ngram=1))) == [-1, 0]  # 39 of 41


def test_the_phases_are_few_and_their_settings_say_what_decides(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    class Recorder(InProcess):
        def __call__(self, name, units, function, *, settings, weights=None, writer=False):  # type: ignore[no-untyped-def]
            seen[name] = (len(units), settings)
            return super().__call__(name, units, function, settings=settings, weights=weights)

    options = dedupe.Options()
    dedupe.run(Recorder(tmp_path), write_parts(tmp_path, corpus(), options, parts=4), options)
    assert {name: units for name, (units, _) in seen.items()} == {
        "dedupe.candidates": 1,
        "dedupe.shingles": 1,
        "dedupe.compare": 1,
        "dedupe.verdicts": 1,
    }
    assert all(
        json.loads(json.dumps(said)) == {"version": 2, "options": options.model_dump(), "sources": []}
        for _, said in seen.values()
    )
