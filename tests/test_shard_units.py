"""Token parts into shards: every token where the provenance says, splits apart, bounds even."""

import hashlib
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep import order
from mrprep.builddir.tables import PROVENANCE, TOKEN_ENTRY
from mrprep.errors import MrprepError
from mrprep.mindrecord.read import read_row, read_rows
from mrprep.sharding import bounds
from mrprep.stages import pack, shard

EOD, PAD = 2, 0
Piece = tuple[int, int, int, bool, list[int]]  # id, doc, copy, ends, tokens


def corpus(documents: int, seed: int = 0, longest: int = 40, wide: bool = False) -> list[Piece]:
    """Documents with text of their own: some in pieces, some with repeats, all tokens telling where they are from."""
    random = np.random.default_rng(seed)
    pieces, doc = [], 0
    for document in range(documents):
        count = 3 if document % 7 == 3 else 1
        for copy in range(3 if document % 5 == 1 else 1):
            for piece in range(count):
                last = piece == count - 1
                text = random.integers(3, 200_000 if wide else 60_000, random.integers(0 if count > 1 else 1, longest))
                pieces.append((document, doc + piece, copy, last, [*text.tolist(), *[EOD] * last]))
        doc += count
    return pieces


def write_parts(root: Path, pieces: Sequence[Piece], parts: int, wide: bool = False) -> tuple[Path, ...]:
    """Write token parts as the tokenize phase does; the pieces of a document may lie in several parts."""
    directories = []
    for index in range(parts):
        mine = [piece for piece in pieces if piece[1] * parts // (pieces[-1][1] + 1) == index]
        docs = np.zeros(len(mine), TOKEN_ENTRY)
        lengths = [len(piece[4]) for piece in mine]
        for entry, (document, doc, copy, ends, tokens), start in zip(docs, mine, np.cumsum(lengths), strict=True):
            identity = order.mix(np.array([document], np.uint64))
            entry["key"] = order.shuffle_keys(0, identity, copy)[0]
            entry["base"] = order.shuffle_keys(0, identity, 0)[0]
            entry["doc"], entry["copy"], entry["ends"] = doc, copy, ends
            entry["start"], entry["length"] = start - len(tokens), len(tokens)
        docs.sort(order=["key", "doc", "copy"])
        directory = root / f"part-{index}"
        directory.mkdir(parents=True)
        np.save(directory / "docs.npy", docs)
        flat = np.array([t for piece in mine for t in piece[4]], np.int32 if wide else np.uint16)
        np.save(directory / "tokens.npy", flat)
        directories.append(directory)
    return tuple(directories)


class Built:
    """All shards of a build, and what is in them."""

    def __init__(self, root: Path, parts: tuple[Path, ...], packing: pack.Options, options: shard.Options) -> None:
        split = root / "split"
        split.mkdir()
        shard.split_unit(shard.SplitUnit(parts, packing, options), split)
        self.split = json.loads((split / "split.json").read_text())
        self.units = shard.shard_units(split, parts, packing, options, pad_id=PAD, eod_id=EOD, bos=False)
        self.directories = [root / f"{unit.split}-{unit.number}" for unit in self.units]
        for unit, out in zip(self.units, self.directories, strict=True):
            out.mkdir()
            shard.shard_unit(unit, out)
        self.counts = [json.loads((out / "counts.json").read_text()) for out in self.directories]

    def rows(self, index: int) -> list[list[int]]:
        file = self.directories[index] / self.units[index].file
        columns = list(self.units[index].schema.columns)[:2]
        read = [np.stack(column) for column in zip(*(row.values() for row in read_rows([file], columns)), strict=True)]
        return (read[0] if len(columns) == 1 else np.column_stack([read[0], read[1][:, -1]])).tolist()

    def provenance(self, index: int) -> list[dict[str, Any]]:
        table = pq.read_table(self.directories[index] / "provenance.parquet")
        assert table.schema.equals(PROVENANCE)
        return table.to_pylist()


PACKINGS = [
    pack.Options(seq=16, packing=packing, layout=layout)
    for packing in ("concat", "bestfit")
    for layout in ("flat", "mcore")
]


@pytest.mark.parametrize("packing", PACKINGS, ids=lambda p: f"{p.packing}-{p.layout}")
@pytest.mark.parametrize("wide", [False, True], ids=["uint16", "int32"])
def test_every_token_is_where_provenance_says_and_nowhere_else(
    packing: pack.Options, wide: bool, tmp_path: Path
) -> None:
    pieces = corpus(90, wide=wide)
    text = {(doc, copy): tokens for _, doc, copy, _, tokens in pieces}
    built = Built(tmp_path, write_parts(tmp_path, pieces, 3, wide), packing, shard.Options(shards=3, valid=0.05))
    seen: dict[tuple[int, int], list[int]] = {}
    for index, counts in enumerate(built.counts):
        rows = built.rows(index)
        held = np.zeros((len(rows), packing.seq + 1), bool)
        lines = built.provenance(index)
        assert [(s["row"], s["at"]) for s in lines] == sorted((s["row"], s["at"]) for s in lines)
        for s in lines:
            stretch = slice(s["at"], s["at"] + s["length"])
            expected = text[s["doc"], s["copy"]][s["token"] : s["token"] + s["length"]]
            assert rows[s["row"]][stretch] == expected
            assert len(expected) == s["length"] > 0
            assert not held[s["row"], stretch].any()
            held[s["row"], stretch] = True
            seen.setdefault((s["doc"], s["copy"]), []).extend(range(s["token"], s["token"] + s["length"]))
        assert (np.array(rows)[~held] == PAD).all()
        assert int((~held).sum()) == counts["padding"]
        assert counts["rows"] * packing.seq == counts["targets"] + counts["padding"]
        assert counts["rows"] * (packing.seq + 1) == counts["tokens"] + counts["cuts"] + counts["padding"]
    valid_ids = {document for document, *_ in pieces if base(document) < built.split["valid_end"]}
    for document, doc, copy, _, tokens in pieces:
        withheld = document in valid_ids and copy > 0
        assert set(seen.pop((doc, copy), [])) == (set() if withheld else set(range(len(tokens))))
    assert not seen


def base(document: int) -> int:
    return int(order.shuffle_keys(0, order.mix(np.array([document], np.uint64)), 0)[0])


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_splits_share_no_document_and_the_books_add_up(share: float, tmp_path: Path) -> None:
    pieces = corpus(200)
    built = Built(tmp_path, write_parts(tmp_path, pieces, 2), pack.Options(seq=16), shard.Options(valid=share))
    document_of = {doc: document for document, doc, *_ in pieces}
    held: dict[str, set[int]] = {"train": set(), "valid": set()}
    for index, unit in enumerate(built.units):
        lines = built.provenance(index)
        held[unit.split] |= {document_of[line["doc"]] for line in lines}
        if unit.split == "valid":
            assert {line["copy"] for line in lines} == {0}
    assert held["train"] | held["valid"] == set(range(200))
    assert not held["train"] & held["valid"]
    tokens = sum(len(piece[4]) for piece in pieces)
    assert sum(counts["tokens"] for counts in built.counts) + built.split["withheld"]["tokens"] == tokens
    assert built.split["withheld"]["tokens"] > 0
    first = sum(len(piece[4]) for piece in pieces if piece[2] == 0)
    valid = sum(counts["tokens"] for counts in built.counts if counts["split"] == "valid")
    assert share * first <= valid < share * first + 130  # it ends with the document that fills it
    smallest = sorted(range(200), key=base)[: len(held["valid"])]
    assert held["valid"] == set(smallest)
    assert sum(c["eod"] for c in built.counts) == sum(c["documents"] for c in built.counts)


def test_pieces_of_a_document_stay_together_and_in_order(tmp_path: Path) -> None:
    pieces = corpus(50)
    packing = pack.Options(seq=300, packing="bestfit")
    built = Built(tmp_path, write_parts(tmp_path, pieces, 5), packing, shard.Options(shards=2, valid=0))
    lines = [line | {"shard": index} for index in range(2) for line in built.provenance(index)]
    for document in range(3, 50, 7):
        docs = [doc for d, doc, copy, _, tokens in pieces if d == document and copy == 0 and tokens]
        mine = [line for line in lines if line["doc"] in docs and line["copy"] == 0]
        assert [line["doc"] for line in mine] == docs
        assert len({(line["shard"], line["row"]) for line in mine}) == 1
        assert all(b["at"] == a["at"] + a["length"] for a, b in pairwise(mine))


def test_two_documents_of_one_hash_stay_two(tmp_path: Path) -> None:
    pieces = [(5, doc, 0, True, [7] * 8 + [EOD]) for doc in range(2)]
    packing = pack.Options(seq=16, packing="bestfit")
    built = Built(tmp_path, write_parts(tmp_path, pieces, 2), packing, shard.Options(valid=0))
    assert built.counts[0]["documents"] == 2
    assert built.counts[0]["rows"] == 2  # as one document of 18 it would be cut


def test_a_document_longer_than_a_shard_makes_a_larger_shard(tmp_path: Path) -> None:
    pieces = [(i, i, 0, True, [*range(3, 3 + (5000 if i == 4 else 20)), EOD]) for i in range(10)]
    built = Built(tmp_path, write_parts(tmp_path, pieces, 2), pack.Options(seq=16), shard.Options(shards=5, valid=0))
    assert len(built.units) == 5
    assert sum(counts["tokens"] for counts in built.counts) == 9 * 21 + 5001
    assert max(counts["tokens"] for counts in built.counts) >= 5001
    assert min(counts["tokens"] for counts in built.counts) >= 21


def test_fewer_documents_than_shards_is_said(tmp_path: Path) -> None:
    pieces = [(i, i, 0, True, [5] * 30 + [EOD]) for i in range(3)]
    built = Built(tmp_path, write_parts(tmp_path, pieces, 1), pack.Options(seq=16), shard.Options(shards=8, valid=0))
    assert [unit.number for unit in built.units] == [0, 1, 2]
    assert "3 shards instead of 8" in built.split["notes"][0]


@pytest.mark.parametrize("documents", [1, 2])
def test_a_corpus_too_small_for_valid_has_none_and_says_so(documents: int, tmp_path: Path) -> None:
    pieces = [(i, i, 0, True, [5] * 10 + [EOD]) for i in range(documents)]
    built = Built(tmp_path, write_parts(tmp_path, pieces, 1), pack.Options(seq=16), shard.Options())
    assert [unit.split for unit in built.units] == ["train"]
    assert "no valid split" in built.split["notes"][0]
    assert built.counts[0]["tokens"] == 11 * documents


def test_a_valid_split_of_one_long_document_is_said(tmp_path: Path) -> None:
    pieces = [(i, i, 0, True, [5] * 400 + [EOD]) for i in range(4)]
    built = Built(tmp_path, write_parts(tmp_path, pieces, 1), pack.Options(seq=16), shard.Options())
    assert "valid holds 25.0% of the tokens instead of 1.0%" in built.split["notes"][0]


def test_same_bytes_whatever_the_parts(tmp_path: Path) -> None:
    """How tokens are spread over parts, and where they lie, does not reach the shards."""
    pieces = corpus(60)
    seen = []
    for name, parts in (("a", 1), ("b", 4)):
        root = tmp_path / name
        built = Built(root, write_parts(root, pieces, parts), PACKINGS[3], shard.Options(shards=2, valid=0.1))
        files = sorted(path for out in built.directories for path in out.iterdir())
        seen.append([(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files])
        for index, unit in enumerate(built.units):
            recorded = built.counts[index]["files"][unit.file]
            data = (built.directories[index] / unit.file).read_bytes()
            assert recorded == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    assert seen[0] == seen[1]


def test_bestfit_without_a_padding_id_is_refused_before_any_work(tmp_path: Path) -> None:
    parts = write_parts(tmp_path, corpus(5), 1)
    packing = pack.Options(seq=16, packing="bestfit")
    shard.split_unit(shard.SplitUnit(parts, packing, shard.Options()), tmp_path)
    with pytest.raises(MrprepError, match="no id for padding"):
        shard.shard_units(tmp_path, parts, packing, shard.Options(), pad_id=None, eod_id=EOD, bos=False)


def test_mcore_rows_of_many_documents(tmp_path: Path) -> None:
    """200 documents of two tokens in one row of 400: bestfit holds 128 a row, concat merges what is over."""
    pieces = [(i, i, 0, True, [7, EOD]) for i in range(200)]
    parts = write_parts(tmp_path, pieces, 1)
    for packing, rows, merged in (("bestfit", 2, 0), ("concat", 1, 72)):
        root = tmp_path / packing
        root.mkdir()
        options = pack.Options(seq=400, packing=packing, layout="mcore")
        built = Built(root, parts, options, shard.Options(valid=0))
        assert (built.counts[0]["rows"], built.counts[0]["merged_boundaries"]) == (rows, merged)
        assert built.counts[0]["much_padding"] is (packing == "bestfit")
        ends = read_row(root / "train-0" / "train-00000.mindrecord", 0, ["actual_seq_len"])["actual_seq_len"]
        assert len(ends) == 128
        assert ends[-1] == 400
        assert ends[:100].tolist() == list(range(2, 202, 2))


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=60), st.integers(1, 70))
@settings(deadline=None, max_examples=200)
def test_bounds_are_even_and_none_is_empty(tokens: list[int], shards: int) -> None:
    histogram = bounds.empty_histogram()
    buckets = np.sort(np.random.default_rng(len(tokens)).choice(len(histogram), len(tokens), replace=False))
    histogram[buckets] = tokens
    found = bounds.cut(histogram, shards, 0, bounds.KEYS)
    assert len(found) == min(shards, len(tokens))
    assert found[0].first == 0
    assert found[-1].last == bounds.KEYS - 1
    assert all(b.first == a.last + 1 for a, b in pairwise(found))
    keys = buckets.astype(object) << (64 - bounds.BITS)
    for bound in found:
        inside = [n for key, n in zip(keys, tokens, strict=True) if bound.first <= key <= bound.last]
        assert sum(inside) == bound.tokens > 0
        if len(tokens) >= 2 * shards and max(tokens) < sum(tokens) / shards / 2:
            assert bound.tokens <= sum(tokens) / shards + max(tokens)


def test_bounds_around_one_heavy_document() -> None:
    histogram = bounds.empty_histogram()
    histogram[10:21] = [1, 1, 1, 1, 1, 1000, 1, 1, 1, 1, 1]
    assert [b.tokens for b in bounds.cut(histogram, 4, 0, bounds.KEYS)] == [5, 1000, 1, 4]


def test_valid_holds_its_share_and_a_row_and_leaves_a_row() -> None:
    histogram = bounds.empty_histogram()
    histogram[:100] = 10
    key = bounds.KEYS >> bounds.BITS
    assert bounds.valid_end(histogram, 0, 17) == 0
    assert bounds.valid_end(histogram, 0.001, 17) == 2 * key
    assert bounds.valid_end(histogram, 0.05, 17) == 5 * key
    assert bounds.valid_end(histogram, 0.98, 17) == 98 * key
    assert bounds.valid_end(histogram, 0.99, 17) == 0


def test_valid_does_not_take_nearly_everything_for_one_long_document() -> None:
    histogram, key = bounds.empty_histogram(), 1 << (64 - bounds.BITS)
    histogram[:4] = [10, 5, 9_000, 985]
    assert bounds.valid_end(histogram, 0.0012, 8) == 2 * key
    assert bounds.valid_end(histogram, 0.01, 8) == 0
    assert bounds.valid_end(histogram, 0.8, 8) == 3 * key


def test_each_shard_orders_its_rows_by_a_seed_of_its_own(tmp_path: Path) -> None:
    built = Built(tmp_path, write_parts(tmp_path, corpus(60), 1), PACKINGS[2], shard.Options(shards=3, valid=0.3))
    assert len({shard._row_seed(unit) for unit in built.units}) == len(built.units) >= 4


@pytest.mark.parametrize(
    ("tokens", "shards"), [(1 << 19, 1), (1 << 20, 1), ((1 << 20) + 1, 3), (4 << 20, 4), (40 << 20, 5)]
)
def test_default_number_of_shards(tokens: int, shards: int, tmp_path: Path) -> None:
    unit = shard.SplitUnit((tmp_path,), pack.Options(), shard.Options())
    assert shard._shards(tokens, unit) == shards


def test_shard_size_in_bytes(tmp_path: Path) -> None:
    pieces = [(i, i, 0, True, [40_000] * 999 + [EOD]) for i in range(1000)]
    options = shard.Options(shard_size=500_000, valid=0)
    built = Built(tmp_path, write_parts(tmp_path, pieces, 2), pack.Options(), options)
    sizes = [counts["files"][u.file]["bytes"] for counts, u in zip(built.counts, built.units, strict=True)]
    assert 3 <= len(sizes) <= 9
    assert max(sizes) < 2.5 * 500_000
