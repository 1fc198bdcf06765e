"""``mrprep remove``: documents out of a finished build."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from mrprep.cli.where import Jobs, Memory


def remove(
    docs: Annotated[Path, typer.Option(help="A file of documents: an id or path:line on each line, no comments.")],
    build: Annotated[Path | None, typer.Argument(help="A build; the only one in this directory by default.")] = None,
    jobs: Jobs = None,
    memory: Memory = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Remove nothing, and exit with 1, if any line means no document.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; write nothing.")] = False,
) -> None:
    """Remove documents on request: their text, tokens, sketches and provenance, copies of the same text with them.

    Only the shards that held them are written again, under new names. Killed at any moment, the build is the old or
    the new one, whole.
    """
    from mrprep.builddir.find import find_build
    from mrprep.building.remove import remove as remove_documents
    from mrprep.cli.given import job_count
    from mrprep.cli.size import parse_size
    from mrprep.cli.terminal import say
    from mrprep.growing.listed import read_list
    from mrprep.request import RunOptions

    names = read_list(docs)
    options = RunOptions(job_count(jobs), strict=strict, memory=parse_size(memory, "--memory"))
    found = remove_documents(find_build(build, shards=True).path, names, options, say, dry_run=dry_run)
    print("\n".join(_said(found, len(names), dry_run=dry_run)))


def _said(removed: Any, names: int, *, dry_run: bool) -> Iterator[str]:
    from mrprep.printable import printable
    from mrprep.provenance.name import ADVICE

    listed = removed.listed
    yield f"listed      {names:,} names: {listed.named:,} documents, {len(listed.missing):,} not found"
    yield from (f"document    {each}" for each in listed.documents)
    if listed.named > len(listed.documents):
        yield f"            … and {listed.named - len(listed.documents):,} more"
    if listed.already:
        yield f"before      {listed.already:,} {'name was' if listed.already == 1 else 'names were'} removed already"
    yield from (f"stays       {name}: name it by its id if it is meant" for name in listed.others)
    yield from (f"not found   {name}" for name in listed.missing)
    if listed.missing:
        yield f"            {ADVICE}"
    if listed.named:
        yield from _gone(removed, dry_run=dry_run)
    yield f"{'unchanged' if dry_run or not listed.named else 'done':<11} {printable(str(removed.build.path))}"


def _gone(removed: Any, *, dry_run: bool) -> Iterator[str]:
    listed = removed.listed
    with_them = f"{listed.copies:,} copies of their text and {listed.followers:,} near duplicates left out for them"
    yield f"{'would go' if dry_run else 'removed':<11} {listed.named:,} documents, {with_them}"
    yield from (f"stays       {name}, of which a document that goes is a duplicate" for name in listed.resembling)
    yield f"shards      {len(removed.shards):,} of {removed.total:,} hold some of it"
    for old, new in removed.shards.items():
        yield f"            {old}" + ("" if dry_run else f" -> {new}" if new else ": nothing was left in it")
