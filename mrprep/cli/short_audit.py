"""The short audit with which a build ends."""

from typing import Any


def print_audit(made: Any, chosen: Any, *, strict: bool) -> None:
    """Print what is wrong with the first rows; only with ``strict`` is a failure one of the command."""
    from mrprep.errors import AuditError
    from mrprep.stages.audit import quick_audit, short_report

    found = quick_audit(made, chosen.audit)
    print(short_report(found))
    if strict and found.of("failure"):
        raise AuditError(f"the build stands, but {', '.join(f.check for f in found.of('failure'))} failed: see above")
