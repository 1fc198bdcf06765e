"""Where each second goes: the seconds in which fewer than two workers are busy, of a made-up run counted by hand."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent / "bench"))
from chart import drawn, serial, stretches


def phase(name: str, began: float, seconds: float, busy: dict[str, list[list[float]]]) -> dict[str, Any]:
    return {"phase": name, "units": 2, "began": began, "seconds": seconds, "cpu": 1.5 * seconds, "busy": busy}


RUN: dict[str, Any] = {
    "host": "here",
    "ended": "today",
    "phases": [
        phase("read", 1.0, 5.0, {"a": [[1.5, 6.0]], "b": [[2.0, 5.0]]}),
        phase("split", 6.5, 1.0, {"a": [[6.5, 7.5]]}),
        phase("none", 7.5, 0.0, {}),
    ],
}


def test_seconds_with_fewer_than_two_workers_go_to_their_phases() -> None:
    found = stretches(RUN, 9.0)
    assert sum(stretch.seconds for stretch in found) == pytest.approx(9.0)
    assert sum(stretch.seconds for stretch in found if stretch.workers == 2) == pytest.approx(3.0)
    by_hand = {"(start)": 1.0, "read": 2.0, "(between phases)": 0.5, "split": 1.0, "(end)": 1.5}
    assert serial(found) == pytest.approx(by_hand)


def test_the_page_names_phases_and_shares_and_escapes() -> None:
    page = drawn({**RUN, "host": "<b>"}, 9.0)
    assert "&lt;b&gt;" in page and "<b>" not in page and page.count("<rect") >= 5
    assert "67 %" in page  # 6 of 9 s
