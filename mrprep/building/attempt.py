"""One attempt at a directory: what stands there is settled under a lock, and the phases run on what was left."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar, get_args

from mrprep.builddir.layout import LOCK, work_of
from mrprep.builddir.lock import locked
from mrprep.builddir.manifest import Build
from mrprep.building.deliver import uploaded
from mrprep.config import Pipeline
from mrprep.engine.cluster import Cluster, Terms
from mrprep.engine.executor import Executor, Pool
from mrprep.engine.node import PYTHON, versions
from mrprep.engine.room import room
from mrprep.engine.work import SparedError, Work
from mrprep.mindrecord.write import ROOM
from mrprep.plan import Plan, plan, room_for
from mrprep.request import Request, RunOptions, clear, settle
from mrprep.sources.twice import told
from mrprep.stages import against, read
from mrprep.stages.export import Form

Say = Callable[[str], None]
Make = Callable[[Request, Plan, Path, RunOptions, Work], Build]


def made(pipeline: Pipeline, out: Path, options: RunOptions, say: Say, form: str, make: Make) -> Build:
    """Make ``out`` of the sources of a pipeline, or take what stands there when it is what is asked for.

    Args:
        pipeline: what to do.
        out: directory to make.
        options: how it is run.
        say: is given lines for the user.
        form: what is made, in the fingerprint of the request.
        make: runs the phases and publishes.

    Raises:
        MrprepError: the inputs, the options or what stands at ``out`` do not allow it.
    """
    against.refuse_as_output(pipeline.against, out)
    found = plan(pipeline.source, out, strict=options.strict)
    if found.twice:
        say(told(len(found.twice)))
    return made_of(found, pipeline, out, options, say, form, make)


def made_of(found: Plan, pipeline: Pipeline, out: Path, options: RunOptions, say: Say, form: str, make: Make) -> Build:
    """Make ``out`` of inputs that are listed already; else as ``made``.

    Where the build is whole at the URL it goes to, and no longer at ``out``, nothing is made.
    """
    request = Request.of(pipeline, found, options, form)
    home = work_of(out)
    with locked(home):
        if options.url and (there := uploaded(request, out, options.url, overwrite=options.overwrite)):
            clear(home)
            return there
        finished = settle(request, out, overwrite=options.overwrite, say=say)
        if finished and options.strict:
            read.refuse_unread([finished.path])
        if finished is None:
            beside = 0 if form in get_args(Form) else ROOM
            with room(home, room_for(found), "the build", beside):
                finished = worked(request, found, home, options, say, partial(make, request, found, out, options))
        if not options.keep_work:
            clear(home)
    return finished


Made = TypeVar("Made")


def worked(
    request: Request, found: Plan, home: Path, options: RunOptions, say: Say, make: Callable[[Work], Made]
) -> Made:
    """Run phases in ``home``; from the start, what is done being done, if one needs what was deleted to make room."""
    while True:
        with working(request, found, home, options, say) as work, suppress(SparedError):
            return make(work)


@contextmanager
def working(request: Request, found: Plan, home: Path, options: RunOptions, say: Say) -> Iterator[Work]:
    """Yield the work in ``home``, with workers that end with it."""
    home = home.absolute()
    executor: Executor = Pool(options.workers)
    if options.executor == "ray":
        executor = Cluster(_terms(request, found, home, options), say)
    try:
        yield Work(home / "phases", executor, say, request.root, keep=options.keep_work, began=options.began)
    finally:
        executor.close()


def _terms(request: Request, found: Plan, home: Path, options: RunOptions) -> Terms:
    """Return what machines must share with this one: the libraries, a file of each input, and the work directory."""
    mark = home / LOCK
    mark.touch()
    seen = {str(mark): mark.stat().st_size}
    for listing in found.listings:
        for file in () if listing.source.url else listing.files[:1]:
            seen[os.fsdecode(os.path.join(listing.root, file.path))] = file.size  # noqa: PTH118
    names = [PYTHON, "mrprep", *(name for name in request.libraries if name != "format")]
    return Terms(options.address, options.jobs, versions(names), seen)
