"""What befell a run: the steps that were out of line, and its starts and ends."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mrprep.pages.html import Html, join, tag
from mrprep.pages.numbers import short
from mrprep.pages.page import excerpt, facts, foldable, note, table
from mrprep.report.state import Run

_INCIDENTS = 20
_ROWS = 4
_DOCUMENTS = 4


def incidents(run: Run) -> Html:
    """Return the newest incidents, each with the rows of highest loss and their documents."""
    if not run.incidents:
        return note("No step was out of line.")
    shown = run.incidents[-_INCIDENTS:]
    older = f"{len(run.incidents) - len(shown)} more in {run.path / 'incidents'}."
    parts = [_incident(run, incident, opened=incident is shown[0]) for incident in shown]
    return join([*parts, note(older, "warning") if len(shown) < len(run.incidents) else ""])


def _incident(run: Run, incident: Mapping[str, Any], *, opened: bool) -> Html:
    known = [(name.replace("_", " "), _value(value)) for name, value in incident.items() if name not in _APART]
    rows = incident["rows"]
    left = f"{len(rows) - _ROWS} more rows in incidents/step-{incident['step']:08d}/incident.json"
    return foldable(
        f"Step {incident['step']:,}: {incident['reason']}",
        facts(known),
        *(_row(run, row) for row in rows[:_ROWS]),
        tag("p", left) if len(rows) > _ROWS else "",
        opened=opened,
    )


_APART = {"step", "reason", "rows"}


def _row(run: Run, row: Mapping[str, Any]) -> Html:
    documents = sorted(row["documents"], key=lambda one: float("inf") if one["loss"] is None else one["loss"])[::-1]
    build = row.get("build") or run.settings.builds[0]
    return join(
        [
            tag("h3", f"Row {row['row']}, loss {_value(row['loss'])}"),
            tag("p", tag("code", f"mrprep show {build} {row['row']}")),
            *(_document(build, one) for one in documents[:_DOCUMENTS]),
        ]
    )


def _document(build: Path | str, document: Mapping[str, Any]) -> Html:
    named = f"loss {_value(document['loss'])} · {document['source']} · {document['place']}"
    return tag(
        "div",
        tag("p", tag("strong", named), tag("br"), tag("code", f"mrprep why {build} {document['id']}")),
        excerpt(document["text"]),
    )


def _value(value: Any) -> str:
    if value is None:
        return "not finite"
    return short(value) if isinstance(value, int | float) else str(value)


def history(run: Run) -> Html:
    """Return the table of starts and ends; a start that follows a start was killed in between."""
    rows, before = [], ""
    for event in run.events:
        killed = event["what"] == "started" and before == "started"
        told = "the run before was killed; " * killed + event["told"]
        rows.append([moment(event["at"]), event["what"], f"{event['step']:,}", told])
        before = event["what"]
    return table(["when", "what", "steps done", "more"], rows, numbers=[2])


def moment(at: float) -> str:
    """Return a time in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
