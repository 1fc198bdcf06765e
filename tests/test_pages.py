"""Pages and figures: well formed, nothing gets out of its place, marks and shapes worked out by hand."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from html_tree import read_html
from hypothesis import given, settings
from hypothesis import strategies as st

from mrprep.pages.axis import axis
from mrprep.pages.bars import bar_table, histogram, parts_bar
from mrprep.pages.chart import Caption
from mrprep.pages.heat import heat_map
from mrprep.pages.html import Html, tag, text
from mrprep.pages.lines import Mark, Series, line_chart, thin
from mrprep.pages.numbers import apart, duration, log_ticks, percent, short, size, ticks
from mrprep.pages.page import Card, cards, excerpt, facts, foldable, note, page, section, side_by_side, table

EVIL = "</title></style><script>alert('1')</script>\"><img src=x onerror=y>&amp;"
NAMED = Caption(EVIL, EVIL, EVIL, EVIL)


def whole_page(evil: str) -> str:
    """Return a page with every kind of part, and the same text wherever there may be text."""
    caption = Caption(evil, evil, evil, evil)
    return page(
        evil,
        evil,
        cards(Card(evil, evil, evil, "bad"), Card("steps", "3")),
        note(evil, "warning"),
        section(
            evil,
            side_by_side(
                line_chart(
                    caption,
                    [Series(evil, [1, 2], [3.0, None], points=True), Series(evil, [1, 2], [1, 2], faint=True)],
                    marks=[Mark(1, evil, bad=True)],
                ),
                histogram(caption, [1.0, 2.0, 4.0], [3, 1], log_x=True, log_y=True),
                bar_table(caption, [(evil, 2), ("other", 0)]),
                heat_map(caption, [evil], [evil, "b"], [[0.5, None]]),
                parts_bar(caption, [(evil, 1), (evil, 3)]),
            ),
            table([evil, "n"], [[evil, "1"]], numbers=[1]),
            foldable(evil, facts([(evil, evil)]), excerpt(evil)),
        ),
        language="en",
    )


def test_a_page_is_well_formed_and_data_stays_text():
    tree = read_html(whole_page(EVIL))
    assert [node.text for node in tree.all("h1")] == [EVIL]
    assert tree.all("pre")[0].text == EVIL
    assert {node.text for node in tree.all("title") if "script" in node.text} == {
        EVIL, f"{EVIL}: 25 %", f"{EVIL}: 75 %",
    }  # fmt: skip
    assert "script" not in tree.all("style")[0].text


@settings(deadline=None)
@given(st.text())
def test_no_text_breaks_a_page(evil):
    tree = read_html(whole_page(evil))
    assert len(tree.all("svg", role="img")) == 3
    whole_page(evil).encode()


def test_drawings_are_xml_too():
    for svg in re.findall(r"<svg role=.*?</svg>(?=<div|</figure)", whole_page(EVIL), re.DOTALL):
        ElementTree.fromstring(re.sub(r"&(?!amp;|lt;|gt;|quot;|#)", "&amp;", svg))


def test_every_drawing_is_told_to_those_who_do_not_see_it():
    for svg in read_html(whole_page("x")).all("svg", role="img"):
        assert [child.name for child in svg.children[:2]] == ["title", "desc"]
        assert all(child.text for child in svg.children[:2])


def test_text_is_escaped_once_and_what_is_hidden_is_written_out():
    assert text("a<b\x1b[1m\n\u202e") == "a&lt;b\\x1b[1m\n\\u202e"
    assert tag("p", Html("<b>x</b>"), "<", class_="a", aria_label='"', hidden=True, id=None) == (
        '<p class="a" aria-label="&quot;" hidden><b>x</b>&lt;</p>'
    )


@pytest.mark.parametrize(
    ("low", "high", "marks"),
    [(0, 10, [0, 2, 4, 6, 8, 10]), (-1, 1, [-1, -0.5, 0, 0.5, 1]), (1990, 2010, [1990, 1995, 2000, 2005, 2010]),
     (0.0013, 0.0031, [0.0015, 0.002, 0.0025, 0.003])],
)  # fmt: skip
def test_marks_are_round(low, high, marks):
    assert ticks(low, high) == pytest.approx(marks)


def test_marks_by_the_logarithm():
    assert log_ticks(1, 100) == pytest.approx([1, 2, 5, 10, 20, 50, 100])
    assert log_ticks(1, 1e6) == pytest.approx([10.0**k for k in range(7)])
    assert log_ticks(3.1, 4.3) == pytest.approx([3.5, 4.0])


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_there_are_always_a_few_marks(low, width):
    high = low + width
    if high - low > 1e-9 * abs(low):
        marks = ticks(low, high)
        assert 1 <= len(marks) <= 6
        assert all(low - width * 1e-6 <= mark <= high + width * 1e-6 for mark in marks)


def test_numbers_are_short():
    assert [short(x) for x in (0, 7, 0.001234, 12.345, 1234, 9999.6, 12_345, 4.56e6, 999_999, math.nan)] == [
        "0", "7", "0.00123", "12.3", "1,234", "10,000", "12.3k", "4.56M", "1M", "–",
    ]  # fmt: skip
    assert apart([10.41, 10.42, 10.43]) == ["10.41", "10.42", "10.43"]
    assert apart([12_310, 12_320]) == ["12,310", "12,320"]
    assert apart([0.1, 1, 10_000]) == ["0.1", "1", "10k"]
    assert [percent(x) for x in (0, 2e-6, 0.0004, 0.013, 0.62)] == ["0 %", "under 0.01 %", "0.04 %", "1.3 %", "62 %"]
    assert [duration(x) for x in (0.42, 41, 185, 7500, 273_600)] == [
        "0.42 s", "41 s", "3 min 05 s", "2 h 05 min", "3 d 4 h",
    ]  # fmt: skip
    assert [size(x) for x in (512, 3_565_158, 5 << 30)] == ["512 B", "3.4 MiB", "5 GiB"]


def test_places_on_an_axis():
    assert axis([1, 3, math.nan]).place(2) == pytest.approx(0.5)
    assert axis([1, 100, -5, 0], log=True).places([1, 10, 100, 0]) == pytest.approx([0, 0.5, 1, math.nan], nan_ok=True)
    assert axis([5, 10], zero=True).low == 0
    assert (axis([]).low, axis([2, 2]).low) == (1.0, 1.8)


def test_a_line_has_gaps_where_there_is_nothing():
    chart = read_html(line_chart(Caption("t"), [Series("s", range(5), [0.0, 1.0, None, math.inf, 1.0])]))
    (path,) = chart.all("path")
    assert path.attributes["d"] == "M0.0 963.0L250.0 37.0M1000.0 37.0"
    assert not chart.all("ul")


def test_a_long_line_is_thinned_and_keeps_its_peaks():
    values = np.sin(np.arange(100_000) / 9000)
    values[54_321] = 9
    across = np.linspace(0, 1, 100_000)
    kept = thin(across, values, 400)
    assert len(kept) <= 802
    assert {0, 54_321, 99_999} <= set(kept.tolist())
    assert len(line_chart(Caption("t"), [Series("s", range(100_000), values.tolist())])) < 20_000


def test_bars_by_hand():
    chart = read_html(histogram(Caption("t"), [0, 1, 2, 4], [2, 0, 1]))
    bars = [(b.attributes["x"], b.attributes["width"], b.attributes["height"]) for b in chart.all("rect")]
    assert bars == [("0.00%", "25.00%", "96.15%"), ("50.00%", "50.00%", "48.08%")]
    rows = read_html(bar_table(Caption("t"), [("a", 4), ("b", 1)])).all("rect")
    assert [row.attributes["width"] for row in rows] == ["100.00%", "25.00%"]
    cells = read_html(heat_map(Caption("t"), ["r"], ["a", "b", "c"], [[1, 4, None]])).all("td")
    assert [cell.attributes.get("style") for cell in cells] == [None, "--heat:25%", "--heat:100%", None]
