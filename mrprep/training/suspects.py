"""What the audit holds against the data of a run, for one whose loss is flat."""

from collections.abc import Sequence
from pathlib import Path

from mrprep.builddir.manifest import Build, open_build
from mrprep.stages.audit import Options, quick_audit


def found(build: Build) -> list[str]:
    """Return a sentence or two for each finding in the first rows of a build; a second or less."""
    findings = quick_audit(build, Options()).findings
    return [f"{one.check}: {one.message} {one.advice}" for one in findings if one.level in ("warning", "failure")]


def told(builds: Sequence[Path]) -> str:
    """Return in half a sentence what is held against builds, or that it is nothing."""
    complaints = [line.strip(". ") for build in builds for line in found(open_build(build))]
    return f"the data: {'; '.join(complaints)}" if complaints else "a quick audit holds nothing against the data"
