"""A finished build that becomes another one: what both growing and shrinking begin and end with."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import orjson

from mrprep.builddir import layout
from mrprep.builddir.change import Change, apply
from mrprep.builddir.manifest import Build, open_build
from mrprep.builddir.publish import check_ours, take_away_left
from mrprep.builddir.verify import entries
from mrprep.building.attempt import Say
from mrprep.engine.work import Work
from mrprep.errors import MrprepError
from mrprep.finish import digests, run_facts
from mrprep.growing.books import generation
from mrprep.growing.held import run_of
from mrprep.printable import printable
from mrprep.request import RunOptions
from mrprep.sources.marks import Marks
from mrprep.summary import summary


def whole(out: Path, say: Say | None) -> Build:
    """Open a build of shards whose files are all there, and no others; the lock of its work directory is held.

    Args:
        out: of the build.
        say: is told which files of a change that was cut off are taken away; None: none may be.

    Raises:
        MrprepError: it is none such.
    """
    build = open_build(out)
    shown = printable(str(out))
    if not build.manifest["splits"]:
        raise MrprepError(f"{shown} holds documents and no shards: name a build of shards")
    if torn := build.torn():
        raise MrprepError(f"{shown} is incomplete ({torn}): see mrprep verify {shown}")
    if say and (left := take_away_left(build)):
        more = f" and {len(left) - 1:,} more" if left[1:] else ""
        say(f"{printable(left[0])}{more}, left by a change that was cut off, {'are' if more else 'is'} taken away")
    check_ours(build)
    return build


def changed(
    build: Build,
    manifest: Mapping[str, Any],
    places: Mapping[str, Path],
    options: RunOptions,
    work: Work,
    gone: Collection[str] = (),
    marks: Marks | None = None,
) -> Build:
    """Make a build the one that a manifest describes.

    Args:
        build: as it stands; the lock of its work directory is held.
        manifest: the new one but for its list of files and ``renamed``.
        places: name -> file of the work. One that `builddir.layout` names and the build has is given a new name.
        options: how it is run.
        work: that has made the files.
        gone: names of further files of the build that the new one has not.
        marks: of the files that come to those that the build was made of.

    Raises:
        BugError: the ledger does not add up; the build stays as it was.
    """
    for entry in entries(manifest["ledger"]):
        entry.check()
    said = work.path / "summary.json"
    said.write_bytes(orjson.dumps(summary(manifest), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
    places = {**places, layout.SUMMARY: said}
    taken = {name: layout.successor(name, generation(build)) for name in places if build.holds(name)}
    new = {taken.get(name, name): file for name, file in places.items()}
    old = {*gone, *(build.name(name) for name in taken)}
    files = {name: record for name, record in build.files.items() if name not in old} | digests(work, new)
    renamed = {**build.manifest.get("renamed", {}), **taken}
    run = run_of(build)
    if marks is not None and "marks" in run:  # else not those of all files
        run["marks"] = (Marks.read(run["marks"]) | marks).record()
    change = Change({**manifest, "files": files, "renamed": renamed}, new, run | run_facts(options, work))
    return apply(build, change, copy=options.keep_work)
