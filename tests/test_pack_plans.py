"""Both packers against slow obvious ones, and the invariants that hold for any lengths."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.errors import MrprepError
from mrprep.sharding.plan import Plan
from mrprep.stages import pack

LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=40)
SEQ = st.integers(1, 17)


def documents_of(lengths: list[int]) -> list[list[tuple[int, int]]]:
    return [[(d, i) for i in range(n)] for d, n in enumerate(lengths)]


def rows_of(plan: Plan) -> list[list[tuple[int, int] | None]]:
    """Lay the plan out token by token: (document, offset), or None for padding."""
    rows: list[list[tuple[int, int] | None]] = [[None] * (plan.seq + 1) for _ in range(plan.rows)]
    for row, at, document, offset, length in zip(
        *(c.tolist() for c in (plan.row, plan.at, plan.document, plan.offset, plan.length)), strict=True
    ):
        for i in range(length):
            assert rows[row][at + i] is None, "two tokens in one place"
            rows[row][at + i] = (document, offset + i)
    return rows


def slow_concat(lengths: list[int], seq: int) -> list[list[tuple[int, int] | None]]:
    stream = [token for document in documents_of(lengths) for token in document]
    rows = [stream[i : i + seq + 1] for i in range(0, max(1, len(stream) - 1), seq)]
    return [row + [None] * (seq + 1 - len(row)) for row in rows]


def slow_bestfit(lengths: list[int], seq: int, most: int | None) -> list[list[tuple[int, int]]]:
    """Best fit decreasing as the textbook has it: each item into the bin with the least room that holds it."""
    windows = []
    for document in documents_of(lengths):
        windows += [document[i : i + seq + 1] for i in range(0, max(1, len(document) - 1), seq)]
    bins: list[list[list[tuple[int, int]]]] = []
    for window in sorted(windows, key=len, reverse=True):
        room = [seq + 1 - sum(map(len, held)) for held in bins]
        fits = [(room[b], b) for b in range(len(bins)) if room[b] >= len(window) and (not most or len(bins[b]) < most)]
        if not fits:
            bins.append([window])
        else:
            bins[min(fits)[1]].append(window)
    return [list(chain.from_iterable(held)) for held in bins]


@given(LENGTHS, SEQ)
@settings(deadline=None, max_examples=150)
def test_concat_is_the_stream_cut_every_seq_tokens(lengths: list[int], seq: int) -> None:
    assert rows_of(pack.concat(np.array(lengths), seq)) == slow_concat(lengths, seq)


@given(LENGTHS, SEQ)
@settings(deadline=None, max_examples=100)
def test_concat_trains_each_next_token_once(lengths: list[int], seq: int) -> None:
    plan = pack.concat(np.array(lengths), seq)
    targets = [token for row in rows_of(plan) for token in row[1:] if token is not None]
    stream = [token for document in documents_of(lengths) for token in document]
    total = len(stream)
    assert targets == stream[1:]
    assert plan.rows == max(1, -(-(total - 1) // seq))
    assert plan.targets == total - 1
    assert plan.rows * seq == plan.targets + plan.padding


@given(LENGTHS, SEQ, st.sampled_from([None, 1, 2, 5]), st.integers(0, 5))
@settings(deadline=None, max_examples=150)
def test_bestfit_fills_rows_as_the_textbook_does(lengths: list[int], seq: int, most: int | None, seed: int) -> None:
    rows = rows_of(pack.bestfit(np.array(lengths), seq, seed, most))
    filled = [[token for token in row if token is not None] for row in rows]
    assert sorted(filled) == sorted(slow_bestfit(lengths, seq, most))


def runs(row: list) -> list[list[tuple[int, int]]]:
    """Split a row where a document ends."""
    found: list[list[tuple[int, int]]] = []
    for token in row:
        if token is None:
            continue
        if found and (token[0], token[1] - 1) == found[-1][-1]:
            found[-1].append(token)
        else:
            found.append([token])
    return found


@given(LENGTHS, SEQ, st.sampled_from([None, 3]), st.integers(0, 5))
@settings(deadline=None, max_examples=150)
def test_bestfit_cuts_nothing_that_fits(lengths: list[int], seq: int, most: int | None, seed: int) -> None:
    plan = pack.bestfit(np.array(lengths), seq, seed, most)
    rows = rows_of(plan)
    held = [run for row in rows for run in runs(row)]
    for document in documents_of(lengths):
        mine = sorted(run for run in held if run[0][0] == document[0][0])
        if len(document) <= seq + 1:
            assert mine == [document]
        else:  # windows of a whole row, overlapping by one: each of its next tokens is a target once
            assert [token for run in mine for token in run[1:]] == document[1:]
            assert all(len(run) == seq + 1 for run in mine[:-1])
    assert plan.rows * (seq + 1) == sum(lengths) + plan.cuts + plan.padding
    assert plan.rows * seq == plan.targets + plan.padding
    assert sum(token is None for row in rows for token in row) == plan.padding
    assert all(token is not None for row in rows for token in row[: sum(map(len, runs(row)))])
    assert most is None or all(len(runs(row)) <= most for row in rows)


@pytest.mark.parametrize("length", [1, 7, 8, 9, 10, 17])
def test_lengths_around_a_row(length: int) -> None:
    concat, bestfit = pack.concat(np.array([length]), 8), pack.bestfit(np.array([length]), 8, 0)
    rows = {1: 1, 7: 1, 8: 1, 9: 1, 10: 2, 17: 2}[length]
    assert concat.rows == bestfit.rows == rows
    assert concat.cuts == bestfit.cuts == rows - 1
    assert bestfit.padding == rows * 9 - length - (rows - 1)


def test_no_documents_make_no_rows() -> None:
    empty = np.zeros(0, np.int64)
    assert pack.concat(empty, 8).rows == pack.bestfit(empty, 8, 0).rows == 0


def test_row_order_is_a_function_of_the_seed() -> None:
    lengths = np.arange(1, 200) % 23 + 1
    one, same, other = (rows_of(pack.bestfit(lengths, 30, seed)) for seed in (1, 1, 2))
    assert one == same != other
    assert sorted(map(str, one)) == sorted(map(str, other))


def test_golden_plan() -> None:
    """Worked by hand but for the order of rows; packing must never change in silence."""
    plan = pack.bestfit(np.array([5, 3, 12, 1, 8, 4, 2]), 7, 42)
    segments = zip(*(c.tolist() for c in (plan.row, plan.at, plan.document, plan.offset, plan.length)), strict=True)
    assert list(segments) == [
        (0, 0, 2, 0, 8),
        (1, 0, 2, 7, 5),
        (1, 5, 6, 0, 2),
        (1, 7, 3, 0, 1),
        (2, 0, 0, 0, 5),
        (2, 5, 1, 0, 3),
        (3, 0, 4, 0, 8),
        (4, 0, 5, 0, 4),
    ]
    assert (plan.rows, plan.tokens, plan.cuts, plan.padding) == (5, 35, 1, 4)


def test_flat_bestfit_wants_a_padding_id() -> None:
    refused = pack.Options(packing="bestfit", layout="flat")
    with pytest.raises(MrprepError, match="no id for padding"):
        pack.check_padding(refused, None)
    pack.check_padding(refused, 3)
    pack.check_padding(pack.Options(packing="bestfit", layout="mcore"), None)
    pack.check_padding(pack.Options(), None)


def test_three_hundred_thousand_lines_take_under_a_second() -> None:
    import time

    lengths = np.random.default_rng(0).geometric(1 / 30, 300_000)
    start = time.process_time()
    plan = pack.bestfit(lengths, 2048, 0)
    assert time.process_time() - start < 3  # 0.12 s measured
    assert plan.padding < 0.001 * plan.rows * 2049
