"""Small builds for the tests of the audit, and copies of them with one fault planted."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson

from mrprep.audit.finding import Finding
from mrprep.builddir.digest import digest
from mrprep.builddir.layout import MANIFEST
from mrprep.builddir.manifest import open_build
from mrprep.building import build
from mrprep.config import command_line_sources, load_pipeline
from mrprep.mindrecord.read import read_batches
from mrprep.mindrecord.schema import schema
from mrprep.mindrecord.write import write_rows
from mrprep.request import RunOptions
from mrprep.stages.audit import audit_build

TRAIN = "train/train-00001.mindrecord"


def make(out: Path, corpus: Path, pipeline: str = "default", **overrides: dict[str, object]) -> Path:
    """Build a corpus; overrides: table -> key -> value."""
    chosen = load_pipeline(pipeline, overrides)
    chosen = chosen.model_copy(update={"source": command_line_sources([corpus], chosen.input)})
    build(chosen, out, RunOptions(jobs=1), lambda _: None)
    return out


def audit(path: Path, *, sample: int = 400, seed: int = 0) -> dict[str, Finding]:
    """Return the findings by check."""
    findings = audit_build(open_build(path), sample=sample, seed=seed)
    assert len({finding.check for finding in findings}) == len(findings)
    return {finding.check: finding for finding in findings}


def bad(findings: dict[str, Finding]) -> set[str]:
    """Return the checks that warn or fail."""
    return {name for name, finding in findings.items() if finding.level in {"warning", "failure"}}


def twin(healthy: Path, out: Path) -> Path:
    shutil.copytree(healthy, out)
    return out


def vouch(path: Path, **changes: object) -> None:
    """Write the manifest anew, so that checksums fit what was planted and only a look at the rows can tell."""
    manifest = orjson.loads((path / MANIFEST).read_bytes()) | changes
    manifest["files"] = {name: digest(path / name) for name in manifest["files"]}
    (path / MANIFEST).write_bytes(orjson.dumps(manifest))


def replant(path: Path, change: Callable[[np.ndarray], np.ndarray], shard: str = TRAIN) -> None:
    """Rewrite the rows of a flat shard, int32[n, S+1], and vouch for it."""
    file = path / shard
    rows = np.concatenate([batch["input_ids"] for batch in read_batches([file], ["input_ids"])])
    file.unlink()
    file.with_name(file.name + ".db").unlink()
    changed = change(rows.copy())
    write_rows(file, schema("flat", rows.shape[1] - 1, 0, len(rows)), [{"input_ids": changed}])
    vouch(path)
