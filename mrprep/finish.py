"""The last phase: the books are checked, the files put in place, the manifest written, the build published."""

import platform
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from mrprep.builddir import layout
from mrprep.builddir.change import place
from mrprep.builddir.digest import FileRecord, digest
from mrprep.builddir.manifest import Build, open_build, write_manifest
from mrprep.builddir.publish import publish, retire
from mrprep.builddir.verify import entries
from mrprep.engine.parts import discard
from mrprep.engine.work import Work
from mrprep.request import Request, RunOptions
from mrprep.summary import summary

DIGEST_BYTES = 64 << 20


def finish(
    request: Request, said: Mapping[str, Any], places: Mapping[str, Path], work: Work, out: Path, options: RunOptions
) -> Build:
    """Put the build together beside ``out``, check its ledger, and publish it by one rename.

    Args:
        request: what was asked for.
        said: the manifest but for its list of files.
        places: name in the build -> file of the work.
        work: that has run the phases.
        out: of the build.
        options: how the build was run.

    Raises:
        BugError: the ledger does not add up; nothing is published.
    """
    for entry in entries(said["ledger"]):
        entry.check()
    records = digests(work, places)
    staged = layout.work_of(out) / "out"
    shutil.rmtree(staged, ignore_errors=True)
    for name, file in places.items():
        place(file, staged / name, copy=options.keep_work)
    records |= _write_summary(said, staged)
    against = {each.name: str(each.build.path.resolve()) for each in request.earlier}
    run = {**run_facts(options, work), "against": against, "request": request.record()}
    run["marks"] = request.marks.record()
    (staged / layout.RUN).write_bytes(orjson.dumps(run, option=orjson.OPT_INDENT_2))
    write_manifest({**said, "files": records}, staged / layout.MANIFEST)
    _publish(staged, out, overwrite=options.overwrite)
    return open_build(out)


def _publish(staged: Path, out: Path, *, overwrite: bool) -> None:
    retired = staged.with_name("retired")
    if overwrite and (out / layout.MANIFEST).is_file():
        discard(retired)
        retire(out, retired)
    publish(staged, out)
    discard(retired)


def run_facts(options: RunOptions, work: Work) -> dict[str, Any]:
    """Return what run.json says of how a build was run: all that may differ between equal builds."""
    return {
        "host": platform.node(),
        "executor": options.executor,
        "jobs": options.jobs,
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": time.time() - work.began,
        "phases": [asdict(timing) for timing in work.timings],
    }


def digest_files(unit: tuple[tuple[str, Path], ...], out: Path) -> None:
    """Write the records of some files as ``digests.json``."""
    (out / "digests.json").write_bytes(orjson.dumps({name: digest(path) for name, path in unit}))


def digests(work: Work, places: Mapping[str, Path]) -> dict[str, FileRecord]:
    """Return the records of files by their names in the build; read in workers, DIGEST_BYTES at a time."""
    units: list[list[tuple[str, Path]]] = [[]]
    size = 0
    for name, path in places.items():
        if size >= DIGEST_BYTES:
            units.append([])
            size = 0
        units[-1].append((name, path))
        size += path.stat().st_size
    done = work("digests", [tuple(unit) for unit in units], digest_files, settings={"files": len(places)})
    return {
        name: record for path in done for name, record in orjson.loads((path / "digests.json").read_bytes()).items()
    }


def _write_summary(said: Mapping[str, Any], staged: Path) -> dict[str, FileRecord]:
    """Write report/summary.json: what the terminal shows, for programs."""
    path = staged / layout.SUMMARY
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(summary(said), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
    return {layout.SUMMARY: digest(path)}
