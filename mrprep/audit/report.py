"""Findings for people and for programs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import orjson

from mrprep.audit.finding import LEVELS, Finding

_INDENT = " " * 9


def text_report(findings: Sequence[Finding]) -> str:
    """Return the findings as lines for a terminal, the worst first."""
    order = sorted(findings, key=lambda finding: -LEVELS.index(finding.level))
    counts = Counter(finding.level for finding in findings)
    said = ", ".join(f"{counts[level]} {level}" for level in reversed(LEVELS) if counts[level])
    return "\n".join([line for finding in order for line in _lines(finding)] + [f"{len(findings)} findings: {said}"])


def json_report(findings: Sequence[Finding]) -> str:
    """Return ``{"level": the worst, "findings": [...]}``, the findings in the order of the checks."""
    worst = max((finding.level for finding in findings), key=LEVELS.index, default="ok")
    data = {"level": worst, "findings": [asdict(finding) for finding in findings]}
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.level:<8} {finding.check}: {finding.message}"
    if finding.level == "ok":
        return
    if finding.advice:
        yield f"{_INDENT}-> {finding.advice}"
    for example in finding.examples:
        where = "  ".join(part for part in (example.row, example.place) if part)
        yield f"{_INDENT}{where + '  ' if where else ''}{example.text}"
