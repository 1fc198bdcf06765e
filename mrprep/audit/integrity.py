"""Is the build on disk what its manifest says, and can its shards be read?"""

from collections.abc import Sequence

from mrprep.audit.block import Example
from mrprep.audit.finding import EXAMPLES, Finding
from mrprep.builddir.manifest import Build
from mrprep.builddir.verify import damage
from mrprep.printable import printable


def integrity(build: Build) -> Finding:
    """Check every file and the ledger, as ``mrprep verify`` does; reads the whole build, over 1 GB/s a core."""
    return _listed("integrity", list(damage(build)), f"{len(build.files)} files and the ledger are in order")


def unreadable(problems: Sequence[str]) -> Finding:
    """Judge what went wrong while rows were read; see ``audit.read.blocks``."""
    return _listed("rows", problems, "the sampled rows of all shards could be read and have the right length")


def _listed(check: str, problems: Sequence[str], fine: str) -> Finding:
    if not problems:
        return Finding(check, "ok", 0, 1, fine)
    more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    return Finding(
        check,
        "failure",
        len(problems),
        1,
        printable(problems[0], 400) + more,
        "the build was changed or damaged after it was made: build it again",
        tuple(Example("", "", printable(problem, 400)) for problem in problems[1 : EXAMPLES + 1]),
    )
