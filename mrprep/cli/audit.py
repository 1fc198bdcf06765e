"""``mrprep audit``: is this data fit to train on?"""

from pathlib import Path
from typing import Annotated

import typer


def audit(
    build: Annotated[Path | None, typer.Argument(help="A build; the only one in this directory by default.")] = None,
    sample: Annotated[int, typer.Option(help="Rows to look at, over all shards.", min=1)] = 400,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Sample rows of every shard and judge them; exit with 0, or 4 when something is not fit to train on."""
    from mrprep.builddir.find import find_build
    from mrprep.errors import AuditError
    from mrprep.stages.audit import audit_build, json_report, text_report

    found = find_build(build, shards=True)
    findings = audit_build(found, sample=sample, seed=seed)
    print(json_report(findings) if as_json else text_report(findings))
    failed = [finding for finding in findings if finding.level == "failure"]
    if failed:
        raise AuditError(f"{found.path} is not fit to train on: {', '.join(f.check for f in failed)}")
