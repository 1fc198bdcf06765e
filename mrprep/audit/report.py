"""Findings for people and for programs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from mrprep.audit.figures import Figures
from mrprep.audit.finding import LEVELS, Finding, Level
from mrprep.printable import printable

_INDENT = " " * 9


@dataclass(frozen=True, slots=True)
class Audited:
    """What an audit has found."""

    path: Path
    """What was audited."""
    rows: int
    """Rows that were looked at."""
    tokens: int
    """Tokens of text in them."""
    findings: Sequence[Finding]
    """In the order of the checks."""
    figures: Figures

    @property
    def level(self) -> Level:
        """The worst of the findings."""
        return max((finding.level for finding in self.findings), key=LEVELS.index, default="ok")

    def of(self, level: Level) -> list[Finding]:
        """Return the findings of a level."""
        return [finding for finding in self.findings if finding.level == level]


def text_report(findings: Sequence[Finding]) -> str:
    """Return the findings as lines for a terminal, the worst first."""
    counts = Counter(finding.level for finding in findings)
    said = ", ".join(f"{counts[level]} {level}" for level in reversed(LEVELS) if counts[level])
    return "\n".join(
        [line for finding in by_level(findings) for line in _lines(finding)] + [f"{len(findings)} findings: {said}"]
    )


def json_report(audited: Audited) -> str:
    """Return ``{"level": the worst, "findings": [...], …}``, the findings in the order of the checks."""
    return orjson.dumps(as_values(audited), option=orjson.OPT_INDENT_2).decode()


def as_values(audited: Audited) -> dict[str, Any]:
    """Return all of an audit as plain values."""
    return {
        "path": printable(str(audited.path), 4096),
        "level": audited.level,
        "rows": audited.rows,
        "tokens": audited.tokens,
        "findings": [asdict(finding) for finding in audited.findings],
        "figures": asdict(audited.figures),
    }


def short_report(audited: Audited) -> str:
    """Return a line on all that is in order, and all of the rest."""
    bad = [finding for finding in by_level(audited.findings) if finding.level in ("warning", "failure")]
    said = f"audit       short: {audited.rows} rows, {len(audited.findings) - len(bad)} of {len(audited.findings)} "
    apart = "not looked for: copies, leaks, drift, checksums (mrprep audit does)"
    return "\n".join([f"{said}findings in order; {apart}", *(line for finding in bad for line in _lines(finding))])


def by_level(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings, the worst first, else in their order."""
    return sorted(findings, key=lambda finding: -LEVELS.index(finding.level))


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.level:<8} {finding.check}: {finding.message}"
    if finding.level == "ok":
        return
    if finding.advice:
        yield f"{_INDENT}-> {finding.advice}"
    for example in finding.examples:
        where = "  ".join(part for part in (example.row, example.place) if part)
        yield f"{_INDENT}{where + '  ' if where else ''}{example.text}"
