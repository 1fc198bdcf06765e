"""Documents that earlier builds hold, made ready for dedupe to compare with: what is already there wins.

All documents of a build's text table count, those it removed as duplicates too: they are in it by their twins. Its
kept sketches are taken as they are; where they were made with other options, its texts are sketched again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from mrprep.builddir.digest import digest
from mrprep.builddir.layout import MANIFEST, SKETCH
from mrprep.builddir.manifest import Build, open_build
from mrprep.builddir.tables import TextPart
from mrprep.engine.phase import RunPhase
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.stages import dedupe

_SKETCH = ("documents", "bands")


@dataclass(frozen=True, slots=True)
class Earlier:
    """A finished build whose documents count as there already."""

    name: str
    """Name of its directory; a second one of the same name gets a number."""
    manifest: str
    """SHA-256 of its manifest, and so of all that it holds."""
    build: Build

    @property
    def record(self) -> dict[str, str]:
        """What decides bytes of a build that is made against it."""
        return {"name": self.name, "manifest": self.manifest}


@dataclass(frozen=True, slots=True)
class HeldUnit:
    """A part of an earlier build."""

    text: Path
    sketch: tuple[Path, ...]
    """``documents.npy`` and ``bands.npy``; empty where they must be made again."""
    options: dedupe.Options


def open_earlier(paths: Sequence[Path]) -> tuple[Earlier, ...]:
    """Open builds.

    Raises:
        MrprepError: one is no finished build, or its texts or sketches are not whole.
    """
    names: dict[str, int] = {}
    found = []
    for path in paths:
        build = open_build(path)
        if torn := build.torn("text", "dedup"):
            shown = printable(str(path))
            raise MrprepError(f"build {shown} is incomplete ({torn}): see mrprep verify {shown}")
        base = printable(path.resolve().name)
        names[base] = names.get(base, 0) + 1
        name = base if names[base] == 1 else f"{base}-{names[base]}"
        found.append(Earlier(name, digest(path / MANIFEST)["sha256"], build))
    return tuple(found)


def refuse_as_output(paths: Sequence[Path], out: Path) -> None:
    """Keep a build from taking the place of one that it is compared with.

    Raises:
        MrprepError: one of the earlier builds is, or lies in, the directory to make.
    """
    made = out.resolve()
    for path in paths:
        if path.resolve().is_relative_to(made):
            raise MrprepError(
                f"--against {printable(str(path))} is the build that --out would replace, and all that it holds would "
                "be left out: give another --out"
            )


def hold(run_phase: RunPhase, earlier: Sequence[Earlier], options: dedupe.Options) -> list[dedupe.Held]:
    """Return the documents of earlier builds as parts with sketches of these options."""
    units, rows = [], []
    for each in earlier:
        fits = _fits(each.build.manifest, options)
        for number, part in enumerate(each.build.manifest["text"]["parts"]):
            sketch = [each.build.file(SKETCH.format(number, name)).resolve() for name in _SKETCH]
            units.append(HeldUnit(each.build.file(part["file"]).resolve(), tuple(sketch) if fits else (), options))
            rows.append(part["rows"])
    settings = {"against": [each.record for each in earlier], "sketch": dedupe.sketch_settings(options)}
    settings["places"] = [str(each.build.path.resolve()) for each in earlier]
    done = run_phase("against", units, hold_unit, settings=settings, weights=[u.text.stat().st_size for u in units])
    parts = iter([TextPart(path, 0, count) for path, count in zip(done, rows, strict=True)])
    return [
        dedupe.Held(each.name, tuple(next(parts) for _ in each.build.manifest["text"]["parts"])) for each in earlier
    ]


def _fits(manifest: Mapping[str, Any], options: dedupe.Options) -> bool:
    """Tell whether a build's sketches are what these options would give."""
    if "dedupe" not in manifest["pipeline"]["stages"]:
        return False
    made = manifest["pipeline"]["dedupe"]
    return all(made.get(name) == value for name, value in dedupe.sketch_settings(options).items())


def hold_unit(unit: HeldUnit, out: Path) -> None:
    """Make a part of links to an earlier build, its sketch made anew if need be."""
    (out / "text.parquet").symlink_to(unit.text)
    for name, path in zip(_SKETCH, unit.sketch, strict=False):
        (out / f"{name}.npy").symlink_to(path)
    if not unit.sketch:
        sketches = dedupe.sketches(unit.options)
        with pq.ParquetFile(unit.text) as file:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group, columns=["id", "text"], use_threads=False)
                sketches.add(table["text"], np.asarray(table["id"]))
        sketches.save(out)
