"""The books of a build and of an addition as one manifest: totals for all, and a record of each on its own."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from mrprep import __version__
from mrprep.builddir.manifest import Build
from mrprep.engine.ledger import added
from mrprep.examples import EACH

_SPLIT_TOTALS = ("rows", "tokens", "targets", "padding", "documents")
_BOOKS = ("read", "documents", "written", "withheld")
"""What the ledger counts of each addition, too."""


def generation(build: Build) -> int:
    """Return which change of the build comes next, counted from 1."""
    return len(build.manifest.get("changes", ())) + 1


def next_number(build: Build, split: str) -> int:
    """Return the number of a new shard of a split: above those of all that it has."""
    shards = build.manifest["splits"].get(split, {}).get("shards", ())
    return max((int(PurePosixPath(shard["file"]).stem.rpartition("-")[2]) for shard in shards), default=-1) + 1


def with_addition(build: Build, said: Mapping[str, Any], inputs: str) -> dict[str, Any]:
    """Return the manifest of a build with an addition, but for its list of files and ``renamed``.

    Args:
        build: as it stands.
        said: what `books.facts` says of the addition alone.
        inputs: fingerprint of what was added.
    """
    was = build.manifest
    return {
        **was,
        "pipeline": {**was["pipeline"], "source": [*was["pipeline"]["source"], *said["pipeline"]["source"]]},
        "text": {name: [*was["text"][name], *said["text"][name]] for name in ("parts", "dropped")},
        "inputs": _inputs(was["inputs"], said["inputs"]),
        "examples": _examples(was["examples"], said["examples"]),
        "splits": splits({name: _shards(was, name) + _shards(said, name) for name in was["splits"]}),
        "ledger": _ledger(was["ledger"], said["ledger"]),
        "counts": _counts(was["counts"], said["counts"]),
        "notes": list(dict.fromkeys([*was["notes"], *said["notes"]])),
        "changes": [*was.get("changes", ()), _record(said, inputs)],
    }


def splits(shards: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the splits of a manifest from their shards; one without shards is none."""
    return {
        name: {"shards": entries, **{key: sum(entry[key] for entry in entries) for key in _SPLIT_TOTALS}}
        for name, entries in shards.items()
        if entries
    }


def _shards(manifest: Mapping[str, Any], split: str) -> list[dict[str, Any]]:
    return list(manifest["splits"].get(split, {}).get("shards", ()))


def _record(said: Mapping[str, Any], inputs: str) -> dict[str, Any]:
    """Return what is kept of an addition: what it was made of, by what, and how many parts of text it has."""
    return {
        "change": "append",
        "inputs": inputs,
        "sources": [source["name"] for source in said["pipeline"]["source"]],
        "files": said["inputs"]["files"],
        "bytes": said["inputs"]["bytes"],
        "parts": len(said["text"]["parts"]),
        "version": __version__,
        "libraries": said["libraries"],
    }


def _ledger(was: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sum of two ledgers; ``additions`` keeps each as it is, that of the first build before all."""
    alone = [{name: of[name] for name in _BOOKS} for of in (was, said)]
    removed = {"removed": was["removed"]} if "removed" in was else {}
    first = [{**alone[0], **removed}]
    return {
        **{name: added([was[name], said[name]]) for name in _BOOKS},
        **removed,
        "shards": {**was["shards"], **said["shards"]},
        "additions": [*was.get("additions", first), alone[1]],
    }


def _counts(was: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name in was if name != "evaluation"]
    return {**{name: added([was[name], said[name]]) for name in names}, "evaluation": was.get("evaluation", {})}


def _inputs(was: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    both = {name: [*was[name], *said[name]] for name in ("skipped", "problems", "replaced")}
    replaced = sorted(both["replaced"], key=lambda each: (-each["bytes"], each["source"], each["path"]))
    encodings: dict[str, dict[str, Any]] = {}
    for name, facts in (*was["encodings"].items(), *said["encodings"].items()):
        before = encodings.get(name, {"files": 0, "least_confidence": 1.0})
        encodings[name] = {
            "files": before["files"] + facts["files"],
            "least_confidence": min(before["least_confidence"], facts["least_confidence"]),
        }
    sums = {name: was[name] + said[name] for name in ("files", "bytes")}
    return {**sums, **both, "replaced": replaced, "encodings": dict(sorted(encodings.items()))}


def _examples(was: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return up to EACH examples of each reason, those of the build first."""
    found: dict[str, dict[str, list[Any]]] = {}
    for examples in (was, said):
        for stage, reasons in examples.items():
            for reason, rows in reasons.items():
                listed = found.setdefault(stage, {}).setdefault(reason, [])
                listed += rows[: max(0, EACH - len(listed))]
    return {stage: dict(sorted(reasons.items())) for stage, reasons in sorted(found.items())}
