"""Is the build on disk what its manifest says, and can its shards be read?"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from mrprep.audit.block import Example
from mrprep.audit.finding import EXAMPLES, Finding
from mrprep.audit.subject import Shard, Subject
from mrprep.builddir.manifest import Build
from mrprep.builddir.verify import changed, disorder
from mrprep.printable import printable


def integrity(build: Build, wrong: Mapping[str, str]) -> Finding:
    """Judge what ``wrong_files`` has found in all files, and the ledger, as ``mrprep verify`` does."""
    problems = [*(f"{printable(name)}: {problem}" for name, problem in wrong.items()), *disorder(build)]
    return _listed("integrity", problems, f"{len(build.files)} files and the ledger are in order")


def wrong_files(build: Build, names: Iterable[str] | None = None) -> dict[str, str]:
    """Return file -> problem of those that are not what the manifest says; reads them all, over 1 GB/s a core."""
    return dict(changed(build, build.files if names is None else names))


def without(subject: Subject, wrong: Collection[str]) -> tuple[Subject, list[str]]:
    """Return what is left to be looked at, and a sentence for each shard left out.

    MindRecord reads beyond its memory in a file that does not belong to its index: what is known to be wrong is not
    opened.
    """
    bad = {str(shard["file"]) for shard in subject.shards if wrong and {*files_of(shard)} & {*wrong}}
    splits = {
        split: tuple(shard for shard in shards if shard["file"] not in bad) for split, shards in subject.splits.items()
    }
    left_out = [f"{printable(name)} is not the file that the manifest means: its rows were left out" for name in bad]
    return replace(subject, splits=splits), sorted(left_out)


def files_of(shard: Shard) -> tuple[str, str]:
    """Return the names of a shard's data file and of its index."""
    return str(shard["file"]), f"{shard['file']}.db"


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
