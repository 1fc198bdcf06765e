"""Small builds that grow and shrink, made in this process: no workers are started."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_dedupe_command import jsonl
from test_dedupe_stage import POEM, varied

from mrprep.builddir.manifest import Build, open_build
from mrprep.building import append, attempt, build, remove
from mrprep.config import load_pipeline, with_inputs
from mrprep.engine.executor import Inline
from mrprep.growing import options as growing
from mrprep.request import RunOptions

OPTIONS = ("--seq", 64, "--vocab-size", 400, "--shards", 2, "--valid", 0.1, "--no-audit")
OVERRIDES: dict[str, dict[str, Any]] = {
    "tokenize": {"vocab_size": 400},
    "pack": {"seq": 64},
    "shard": {"shards": 2, "valid": 0.1},
}
OLD = [varied(number) for number in range(12)] + [varied(1) + " again", POEM]
NEW = [varied(number) for number in range(20, 26)]
GIVEN = [*NEW[:3], varied(1) + " again", varied(3), NEW[0], *NEW[3:]]
"""New texts, copies of old ones (one of a document that the build has removed), and a copy among the new."""


@contextmanager
def in_process() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attempt, "Pool", lambda _: Inline())
        yield


def built(
    folder: Path,
    texts: Sequence[str],
    pipeline: str = "default",
    name: str = "old",
    *,
    hashed: bool = False,
    **pack: Any,
) -> Path:
    """Build texts, a record each."""
    source = jsonl(folder / f"{name}.jsonl", list(texts))
    chosen = load_pipeline(pipeline, {**OVERRIDES, "pack": {**OVERRIDES["pack"], **pack}})
    with in_process():
        return build.build(
            with_inputs(chosen, [source]), folder / "build", RunOptions(1, hash_inputs=hashed), print
        ).path


def grow(build_: Path, *sources: Path, hashed: bool = False) -> append.Appended:
    """Append files and folders."""
    found = open_build(build_)
    chosen = growing.pipeline_of(found, growing.sources_of(found, sources, {}), (), {})
    with in_process():
        return append.append(chosen, build_, RunOptions(1, hash_inputs=hashed), print)


def shrink(build_: Path, *names: str, strict: bool = False, dry_run: bool = False) -> remove.Removed:
    """Remove documents."""
    with in_process():
        return remove.remove(build_, names, RunOptions(1, strict=strict), print, dry_run=dry_run)


def manifest(build_: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((build_ / "manifest.json").read_text())
    return found


def opened(build_: Path) -> Build:
    return open_build(build_)
