"""``mrprep why``: what each stage did with one document."""

from pathlib import Path
from typing import Annotated

import typer


def why(
    names: Annotated[
        list[str],
        typer.Argument(help="A document: its file, file:line, or id; before it the build, unless one lies here."),
    ],
) -> None:
    """Say what became of a document: its verdicts, its kept twin with a diff, or its shard and rows."""
    from mrprep.builddir.find import find_build
    from mrprep.errors import UsageError
    from mrprep.provenance.why import explain

    if len(names) > 2:
        raise UsageError("why takes one document: mrprep why [BUILD] DOC")
    build = find_build(Path(names[0]) if len(names) == 2 else None)
    print(explain(build, names[-1]))
