"""Two audits side by side: each check's number and level in both."""

from collections.abc import Iterator

import orjson

from mrprep.audit.finding import Finding
from mrprep.audit.report import Audited, as_values
from mrprep.pages.numbers import short
from mrprep.printable import printable

Pair = tuple[str, Finding | None, Finding | None]


def pairs(one: Audited, other: Audited) -> list[Pair]:
    """Return every check with its finding in both; None where an audit has no such check."""
    ours, theirs = ({finding.check: finding for finding in audited.findings} for audited in (one, other))
    return [(check, ours.get(check), theirs.get(check)) for check in dict.fromkeys([*ours, *theirs])]


def text_comparison(one: Audited, other: Audited) -> str:
    """Return two audits as lines for a terminal: where the levels differ first, and marked."""
    rows = sorted(pairs(one, other), key=lambda pair: not differs(pair))
    table = [("", name(one), name(other), "")]
    table += [("rows sampled", f"{one.rows:,}", f"{other.rows:,}", "")]
    table += [(check, cell(a), cell(b), "<" if differs((check, a, b)) else "") for check, a, b in rows]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    lines = ["  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3]]).rstrip()
             for row in table]  # fmt: skip
    return "\n".join([*lines, *_told(one), *_told(other)])


def json_comparison(one: Audited, other: Audited) -> str:
    """Return ``{"builds": [one, other]}``, each as `json_report` has it."""
    data = {"builds": [as_values(one), as_values(other)]}
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()


def differs(pair: Pair) -> bool:
    """Tell whether a check comes to another level in the other audit, or is missing from one of them."""
    _, one, other = pair
    return one is None or other is None or one.level != other.level


def cell(finding: Finding | None) -> str:
    """Return number and level of a finding."""
    return "–" if finding is None else f"{short(finding.value)} {finding.level}"


def name(audited: Audited) -> str:
    """Return what an audit is called beside another."""
    return printable(audited.path.name, 40)


def _told(audited: Audited) -> Iterator[str]:
    """Say in words what is bad."""
    for finding in audited.findings:
        if finding.level in ("warning", "failure"):
            yield f"{name(audited)}: {finding.level} {finding.check}: {finding.message}"
