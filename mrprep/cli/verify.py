"""``mrprep verify``: is a build what its manifest says?"""

from pathlib import Path
from typing import Annotated

import typer


def verify(
    build: Annotated[Path | None, typer.Argument(help="A build; the only one in this directory by default.")] = None,
) -> None:
    """Check every file against its SHA-256, the indexes of the shards, and the ledger."""
    from mrprep.builddir.find import find_build
    from mrprep.builddir.verify import damage
    from mrprep.errors import MrprepError

    found = find_build(build)
    problems = list(damage(found))
    for problem in problems:
        print(problem)
    if problems:
        raise MrprepError(f"{len(problems)} things are wrong with {found.path}: build it again with --overwrite")
    print(f"{found.path}: {len(found.files)} files and the ledger are in order")
