"""The page of an audit: findings first, then figures; and the page of two audits side by side."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from mrprep.audit.block import Example
from mrprep.audit.compare import Pair, cell, differs, name, pairs
from mrprep.audit.figures import Figures, Heat, Histogram
from mrprep.audit.finding import Finding
from mrprep.audit.report import Audited, by_level
from mrprep.pages.bars import bar_table, histogram, parts_bar
from mrprep.pages.chart import COLORS, Caption
from mrprep.pages.heat import heat_map
from mrprep.pages.html import Html, tag
from mrprep.pages.lines import Series, line_chart
from mrprep.pages.numbers import percent, short
from mrprep.pages.page import Card, cards, excerpt, foldable, note, page, section, side_by_side, table
from mrprep.printable import printable

_LEVELS: Mapping[str, Literal["good", "warning", "bad"]] = {
    "ok": "good",
    "note": "good",
    "warning": "warning",
    "failure": "bad",
}
_NOTABLE = 100.0
"""Thousandths of a bit: noise and small differences stay pale."""
_ROWS = 16
"""Sources that a figure shows."""
_SEEN = 0.001
"""Share of a source that a script or language must have to get a column."""


def audit_page(audited: Audited) -> str:
    """Return the page of an audit."""
    bad = [finding for finding in by_level(audited.findings) if finding.level != "ok"]
    fine = audited.of("ok")
    return page(
        f"Audit of {printable(audited.path.name, 80)}",
        f"{audited.rows:,} rows sampled, {audited.tokens:,} tokens of text",
        cards(*_cards(audited)),
        section("Findings", *map(_finding, bad), *([] if bad else [note("Nothing to complain of.")])),
        foldable(f"{len(fine)} checks in order", _table(fine)),
        section("Figures", *_figures(audited.figures)),
    )


def comparison_page(one: Audited, other: Audited) -> str:
    """Return the page of two audits."""
    found = pairs(one, other)
    unlike, like = [pair for pair in found if differs(pair)], [pair for pair in found if not differs(pair)]
    return page(
        f"{name(one)} and {name(other)}",
        f"{one.rows:,} and {other.rows:,} rows sampled",
        cards(*(_card(audited) for audited in (one, other))),
        section("Checks that differ", _checks(one, other, unlike) if unlike else note("None differs.")),
        foldable(f"{len(like)} checks of the same level", _checks(one, other, like)),
        section("Figures of both", _curves([(name(one), one.figures), (name(other), other.figures)])),
        *(section(f"Figures of {name(audited)}", *_figures(audited.figures, curve=False)) for audited in (one, other)),
    )


def _checks(one: Audited, other: Audited, of: Sequence[Pair]) -> Html:
    rows = [(check, cell(a), cell(b)) for check, a, b in of]
    return table(["check", name(one), name(other)], rows, numbers=(1, 2))


def _cards(audited: Audited) -> Iterator[Card]:
    yield _card(audited)
    for check, words in (
        ("entropy", "bits a token"),
        ("repeated-text", "of the text repeated"),
        ("leaked-text", "of valid also in train"),
        ("alignment", "of stretches unlike their text"),
        ("padding", "padding"),
    ):
        found = next((finding for finding in audited.findings if finding.check == check), None)
        if found is not None:
            value = short(found.value) if check == "entropy" else percent(found.value)
            yield Card(check, value, words if found.level == "ok" else f"{words}: {found.level}", _LEVELS[found.level])


def _card(audited: Audited) -> Card:
    counts = ((len(audited.of(level)), level) for level in ("failure", "warning", "note", "ok"))
    told = ", ".join(f"{count} {level}{'s' if count > 1 and level != 'ok' else ''}" for count, level in counts if count)
    verdict = {"failure": "not fit", "warning": "look at it"}.get(audited.level, "fit")
    return Card(printable(audited.path.name, 40), verdict, told, _LEVELS[audited.level])


def _finding(finding: Finding) -> Html:
    """Return a finding that folds; failures and warnings are open."""
    number = f"measured {short(finding.value)}, threshold {short(finding.threshold)}"
    return foldable(
        f"{finding.level}: {finding.check}",
        note(finding.message, _LEVELS[finding.level]),
        tag("p", number + (f". What to do: {finding.advice}." if finding.advice else "")),
        *(_example(example) for example in finding.examples),
        opened=finding.level in ("failure", "warning"),
    )


def _example(example: Example) -> Html:
    where = "  ".join(part for part in (example.row, example.place) if part)
    return tag("div", tag("code", where), excerpt(example.text))


def _table(findings: Sequence[Finding]) -> Html:
    rows = [(finding.check, finding.message, short(finding.value), short(finding.threshold)) for finding in findings]
    return table(["check", "found", "measured", "threshold"], rows, numbers=(2, 3))


def _figures(figures: Figures, *, curve: bool = True) -> Iterator[Html]:
    if curve and figures.ranks:
        top = Caption("The most frequent tokens", "▁ stands for a space", "piece", "share of the text")
        yield side_by_side(_curves([("", figures)]), bar_table(top, figures.top, percent))
    lengths = [
        _lengths("Lengths of documents", figures.document_bytes, "bytes", "documents"),
        _lengths("Documents a row", figures.row_documents, "documents", "rows"),
    ]
    if any(lengths):
        yield side_by_side(*filter(None, lengths))
    yield side_by_side(*_by_source(figures))
    heats = [_heat("shard of train", figures.shard_heat), _heat("split", figures.split_heat)]
    if any(heats):
        yield side_by_side(*filter(None, heats))


def _curves(of: Sequence[tuple[str, Figures]]) -> Html:
    caption = Caption(
        "Tokens by rank",
        "share of the text of the n-th most frequent token; text falls nearly straight (Zipf)",
        "rank",
        "share",
    )
    series = [Series(title, figures.ranks, figures.shares) for title, figures in of]
    return line_chart(caption, series, log_x=True, log_y=True)


def _lengths(title: str, held: Histogram | None, unit: str, of: str) -> Html | None:
    """Return a histogram whose bars double in range; what begins at 0 is drawn as wide as the others."""
    if held is None:
        return None
    edges = [edge or held.edges[1] / 2 for edge in held.edges]
    return histogram(Caption(title, "", unit, of), edges, held.counts, log_x=True)


def _by_source(figures: Figures) -> Iterator[Html]:
    ratios = list(figures.bytes_per_token.items())[:_ROWS]
    if ratios:
        told = "how much text a token holds: low where the vocabulary does not fit"
        yield bar_table(Caption("Bytes a token", told, "source", "bytes"), ratios)
    if figures.all_scripts:
        yield parts_bar(
            Caption("Scripts", "letters by script, of all sources"), list(figures.all_scripts.items())[:COLORS]
        )
    for title, shares in (("Scripts by source", figures.scripts), ("Languages by source", figures.languages)):
        names = list(shares)[:_ROWS]
        seen = {kind for source in names for kind, share in shares[source].items() if share >= _SEEN}
        columns = sorted(seen, key=lambda kind: -_sum(shares, kind))[:8]
        if columns:
            values = [[shares[source].get(kind) for kind in columns] for source in names]
            yield heat_map(Caption(title, "", "", "source"), names, columns, values, shown=percent, most=1.0)


def _sum(shares: Mapping[str, Mapping[str, float]], kind: str) -> float:
    return sum(of.get(kind, 0.0) for of in shares.values())


def _heat(what: str, heat: Heat | None) -> Html | None:
    if heat is None:
        return None
    told = (
        "Jensen-Shannon divergence of token frequencies in thousandths of a bit; a row that stands out is another text"
    )
    names = [name.rpartition("/")[2].removesuffix(".mindrecord") for name in heat.names]
    values = [[1000 * value for value in row] for row in heat.values]
    full = max(_NOTABLE, *(value for row in values for value in row))
    return heat_map(
        Caption(f"Drift, {what} by {what}", told), names, names, values, shown=lambda v: f"{v:.0f}", most=full
    )
