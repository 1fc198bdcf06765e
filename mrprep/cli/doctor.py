"""``mrprep doctor``: is this machine fit, and what does a log's last word mean?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mrprep.doctor.log import Diagnosis
    from mrprep.doctor.reading import Reading

_MARKS = {"ok": " ok ", "note": "note", "wrong": "FAIL"}


def doctor(
    log: Annotated[
        Path | None, typer.Argument(help="A log to name the failure of; - reads stdin.", metavar="[LOG]")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Start two ranks too and let them add up a number.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Say whether this machine has what mrprep needs, or name the cause of a log of a failed run; exit with 0, or 1
    when something is wrong with the machine, or a failure that mrprep knows is in the log."""
    if log is not None:
        return _log(log, as_json)
    return _machine(full, as_json)


def _machine(full: bool, as_json: bool) -> int:
    from mrprep.doctor import ascend, machine, packages

    readings = [*packages.readings(), *machine.readings(Path.cwd()), *ascend.readings()]
    if full:
        from mrprep.doctor.ranks import reading

        readings.append(reading())
    _print_json(readings) if as_json else _print_table(readings)
    return 1 if any(one.state == "wrong" for one in readings) else 0


def _log(log: Path, as_json: bool) -> int:
    import sys

    from mrprep.doctor.log import diagnose
    from mrprep.errors import MrprepError
    from mrprep.printable import printable

    if str(log) == "-":
        found = diagnose(sys.stdin)
    elif not log.is_file():
        raise MrprepError(f"{printable(str(log))} is not a file: name a log, or - to paste one")
    else:
        with log.open(encoding="utf-8", errors="replace") as lines:
            found = diagnose(lines)
    _print_json(found) if as_json else _print_diagnoses(found, "stdin" if str(log) == "-" else str(log))
    return 1 if found else 0


def _print_table(readings: "Sequence[Reading]") -> None:
    from mrprep.printable import printable

    name, found = (max(len(getattr(one, field)) for one in readings) for field in ("name", "found"))
    for one in readings:
        line = f"{_MARKS[one.state]}  {one.name:<{name}}  {printable(one.found):<{found}}  wanted: {one.wanted}"
        print(line + (f"\n      -> {one.mend}" if one.mend else ""))


def _print_diagnoses(found: "Sequence[Diagnosis]", log: str) -> None:
    from mrprep.printable import printable

    if not found:
        print(f"{printable(log)}: no failure that mrprep knows; if the run failed, its first line with ERROR says why")
    for one in found:
        times = f" ({one.count} lines)" if one.count > 1 else ""
        print(f"{printable(log)}:{one.line}: {one.name}{times}\n  {printable(one.text, 200)}")
        print(f"  cause: {one.cause}\n  try:   {one.advice}")


def _print_json(items: "Sequence[Reading | Diagnosis]") -> None:
    import json
    from dataclasses import asdict

    print(json.dumps([asdict(one) for one in items], ensure_ascii=False, indent=1))
