"""``mrprep show``: a row of a shard, decoded."""

from pathlib import Path
from typing import Annotated

import typer


def show(
    names: Annotated[
        list[str],
        typer.Argument(help="SHARD:ROW, such as train-00000:17; before it the build, unless one lies here."),
    ],
) -> None:
    """Decode a row and say which documents and input lines it holds."""
    from mrprep.builddir.find import find_build
    from mrprep.errors import UsageError
    from mrprep.provenance.show import show_row

    if len(names) > 2:
        raise UsageError("show takes one row: mrprep show [BUILD] SHARD:ROW")
    build = find_build(Path(names[0]) if len(names) == 2 else None, shards=True)
    print(show_row(build, names[-1]))
