"""Which files of an addition a build holds already: what was removed from it must not come back with them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from mrprep.builddir.layout import RUN
from mrprep.builddir.manifest import Build
from mrprep.engine.fingerprint import fingerprint
from mrprep.plan import Plan, inputs_record
from mrprep.sources.marks import Marks, by_content, by_place


def held(build: Build, found: Plan, names: Sequence[str], *, hashed: bool) -> frozenset[tuple[str, bytes]]:
    """Return source and path of each file of a plan that a build holds already, unchanged.

    A file that went into the build under ``--hash-inputs`` is known by its content, each other one by path, size and
    mtime. Of builds whose run.json is gone, or that an earlier mrprep has made, whole sets of inputs are known.

    Args:
        build: that grows.
        found: what is asked to be added.
        names: of its sources, as they were given.
        hashed: whether inputs go by their content.
    """
    run = run_of(build)
    files = [(listing.source.name, file.path) for listing in found.listings for file in listing.files]
    if "marks" in run:
        known = Marks.read(run["marks"])
        there = known.holds(by_place(found.listings))
        if known.contents and not there.all():
            there |= known.holds(by_content(inputs_record(found.listings, hashed=True)))
    else:
        inputs = inputs_record(found.listings, hashed=hashed)
        there = np.full(len(files), _is_one_set(build, run, dict(zip(names, inputs.values(), strict=True))))
    return frozenset(file for file, here in zip(files, there.tolist(), strict=True) if here)


def files_held(count: int) -> str:
    """Say how many files a build holds already."""
    return f"{count:,} {'file is' if count == 1 else 'files are'} in the build already"


def run_of(build: Build) -> dict[str, Any]:
    """Return what run.json says; nothing where it is gone."""
    path = build.file(RUN)
    return dict(orjson.loads(path.read_bytes())) if path.is_file() else {}


def _is_one_set(build: Build, run: Mapping[str, Any], inputs: Mapping[str, Any]) -> bool:
    """Return whether inputs are all that the build was first made of, or all of one addition."""
    if run.get("request", {}).get("inputs") == fingerprint("", "inputs", inputs):
        return True
    added = fingerprint("", "inputs", {"files": list(inputs.values())})
    return any(change.get("inputs") == added for change in build.manifest.get("changes", ()))
