"""The books of a build: what its manifest says, put together from what the phases have counted."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow.parquet as pq

from mrprep import __version__
from mrprep.builddir import layout
from mrprep.builddir.tables import TextPart
from mrprep.engine.ledger import added
from mrprep.examples import examples
from mrprep.plan import Plan
from mrprep.printable import printable
from mrprep.request import Request
from mrprep.stages import pack
from mrprep.stages.export import Form
from mrprep.tokenizers.family import copy_in

_WRITTEN = ("pieces", "tokens", "bos", "eod")


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard that its phase has written."""

    split: str
    number: int
    path: Path
    """Directory of its phase's unit."""

    @property
    def file(self) -> str:
        """Its name in the build."""
        return layout.SHARD.format(split=self.split, number=self.number)


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a build, and which of them stay."""

    parts: Sequence[TextPart]
    dedupe: Path | None
    """Directory of what dedupe has written, if it is a stage."""
    evaluation: Mapping[str, int]
    """What `stages.decontaminate` tells of its evaluation sets; empty if it is no stage."""
    first: int = 0
    """Number of the first part; above 0 where a build holds others already."""

    @property
    def verdict(self) -> Path | None:
        """Its ``verdict.npy``."""
        return self.dedupe / "verdict.npy" if self.dedupe else None


@dataclass(frozen=True, slots=True)
class Results:
    """What the phases have left, for the build to be put together from."""

    texts: Texts
    vocabulary: Path
    tokens: Sequence[Path]
    split: Mapping[str, Any]
    shards: Sequence[Shard]


@dataclass(frozen=True, slots=True)
class Exported:
    """What the phases have left, where documents are wanted and no tokens."""

    texts: Texts
    written: Sequence[Path]
    """Directories of the export phase, one a part."""
    form: Form

    @property
    def names(self) -> list[str]:
        """The names of the written files in the build."""
        return [layout.DOCUMENTS.format(number=number, form=self.form) for number in range(len(self.written))]


def facts(request: Request, found: Plan, results: Results) -> dict[str, Any]:
    """Return the manifest but for its list of files."""
    texts = results.texts
    counts = _read_counts(texts.parts)
    tokens = added([_json(path / "counts.json") for path in results.tokens])
    shards = {shard.file: _json(shard.path / "counts.json") for shard in results.shards}
    tokenizer = _json(results.vocabulary / "facts.json")
    return {
        **_text_facts(request, found, texts),
        "seq": request.pipeline.pack.seq,
        "layout": request.pipeline.pack.layout,
        "packing": request.pipeline.pack.packing,
        "tokenizer": {**tokenizer, "file": f"{layout.TOKENIZER}/{copy_in(results.vocabulary).name}"},
        "splits": _splits(results, shards),
        "ledger": _ledger(request, results, counts, tokens, shards),
        "counts": {**_text_counts(counts, texts), "tokens": tokens},
        "notes": [*results.split["notes"], *_vocabulary_notes(tokenizer)],
    }


def document_facts(request: Request, found: Plan, exported: Exported) -> dict[str, Any]:
    """Return the manifest of a build of documents but for its list of files."""
    texts = exported.texts
    counts = _read_counts(texts.parts)
    written = added([_json(path / "counts.json") for path in exported.written])
    assert texts.verdict is not None
    kept = int((np.load(texts.verdict, mmap_mode="r") == -1).sum())
    none = dict.fromkeys(("sampled_out", "empty"), 0)
    return {
        **_text_facts(request, found, texts),
        "documents": exported.names,
        "splits": {},
        "ledger": {
            "read": _read(counts),
            "documents": {**_left_out(counts, texts), **none, "kept": kept},
            "written": {**dict.fromkeys(_WRITTEN, 0), "copies": kept, "pieces": written["rows"]},
            "withheld": {"tokens": 0},
            "shards": {},
        },
        "counts": {**_text_counts(counts, texts), "written": written},
        "notes": [],
    }


def _text_facts(request: Request, found: Plan, texts: Texts) -> dict[str, Any]:
    """Return what every manifest says, whatever was made of the text."""
    parts, first = texts.parts, texts.first
    return {
        "mrprep": layout.FORMAT,
        "version": __version__,
        "seed": request.pipeline.seed,
        "pipeline": request.options,
        "libraries": dict(request.libraries),
        "text": {
            "parts": [
                {"file": layout.TEXT.format(number), "base": part.base, "rows": part.rows}
                for number, part in enumerate(parts, first)
            ],
            "dropped": [layout.DROPPED.format(number) for number in range(first, first + len(parts))],
        },
        "inputs": _inputs(found, parts),
        "examples": examples(parts),
    }


def _vocabulary_notes(tokenizer: Mapping[str, Any]) -> list[str]:
    return [note for note in (tokenizer.get("training", {}).get("note"), tokenizer.get("note")) if note]


def shard_entry(split: str, number: int, counted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a manifest says of a shard, of which ``counts.json`` of its phase is given."""
    names = ("rows", "tokens", "targets", "padding", "documents", "header", "page")
    return {
        "file": layout.SHARD.format(split=split, number=number),
        "provenance": layout.PROVENANCE.format(split=split, number=number),
        **{name: counted[name] for name in names},
    }


def shard_line(counted: Mapping[str, Any], packing: pack.Options) -> dict[str, Any]:
    """Return what a ledger says of a shard, of which ``counts.json`` of its phase is given."""
    names = ("rows", "tokens", "targets", "padding", "cuts", "bos", "eod")
    return {"packing": packing.packing, "seq": packing.seq, **{name: counted[name] for name in names}}


def _splits(results: Results, counts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    splits: dict[str, Any] = {}
    for shard in results.shards:
        entry = shard_entry(shard.split, shard.number, counts[shard.file])
        splits.setdefault(shard.split, {"shards": []})["shards"].append(entry)
    for split in splits.values():
        for name in ("rows", "tokens", "targets", "padding", "documents"):
            split[name] = sum(shard[name] for shard in split["shards"])
    return splits


def _inputs(found: Plan, parts: Sequence[TextPart]) -> dict[str, Any]:
    """Return what was read and what was not, by source and by kind."""
    notes = [row for part in parts for row in pq.read_table(part.path / "files.parquet").to_pylist()]
    problems = [{**_file(row), "problem": printable(row["problem"], 400)} for row in notes if row["problem"]]
    skipped = [
        {
            "source": listing.source.name,
            "path": printable(item.path, 4096),
            "kind": item.kind,
            "reason": item.reason,
        }
        for listing in found.listings
        for item in listing.skipped
    ]
    urls = {each.source.name: os.fsdecode(each.root) for each in found.listings if each.source.url}
    return {
        **({"urls": urls} if urls else {}),
        "files": found.files,
        "bytes": found.bytes,
        "skipped": skipped,
        "problems": problems,
        "encodings": _encodings(notes),
        "replaced": _replaced(notes),
    }


def _file(note: Mapping[str, Any]) -> dict[str, Any]:
    return {"source": note["source"], "path": printable(note["path"], 4096)}


def _encodings(notes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return encoding -> how many files that were read whole have it, and the least sure of them, 0 to 1."""
    files: dict[str, dict[tuple[str, bytes], float]] = {}
    for note in notes:
        if not note["problem"]:
            of_encoding = files.setdefault(note["encoding"], {})
            key = note["source"], note["path"]
            of_encoding[key] = min(note["confidence"], of_encoding.get(key, 1.0))
    return {
        name: {"files": len(sure), "least_confidence": round(min(sure.values()), 3)}
        for name, sure in sorted(files.items())
    }


def _replaced(notes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each file in which something became U+FFFD and how much, the most first."""
    counts = Counter[tuple[str, bytes]]()
    for note in notes:
        counts[note["source"], note["path"]] += note["replaced"]
    return [
        {**_file({"source": source, "path": path}), "bytes": count}
        for (source, path), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if count
    ]


def _ledger(
    request: Request,
    results: Results,
    counts: Mapping[str, Any],
    tokens: Mapping[str, Any],
    shards: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    return {
        "read": _read(counts),
        "documents": {
            **_left_out(counts, results.texts),
            "sampled_out": tokens["rows"]["sampled_out"],
            "empty": tokens["rows"]["empty"],
            "kept": tokens["rows"]["encoded"],
        },
        "written": {"copies": tokens["rows"]["copies"], **{name: tokens[name] for name in _WRITTEN}},
        "withheld": results.split["withheld"],
        "shards": {name: shard_line(shard, request.pipeline.pack) for name, shard in shards.items()},
    }


def _read_counts(parts: Sequence[TextPart]) -> dict[str, Any]:
    return added([_json(part.path / "counts.json") for part in parts])


def _read(counts: Mapping[str, Any]) -> dict[str, int]:
    return {name: counts[name] for name in ("records", "cuts", "bad", "documents")}


def _left_out(counts: Mapping[str, Any], texts: Texts) -> dict[str, int]:
    """Return how many pieces of documents went before tokens are made of the rest."""
    dropped = sum(sum(reasons.values()) for stage, reasons in counts["left_out"].items() if stage != "read")
    return {"dropped": dropped, "duplicates": _duplicates(texts)}


def _duplicates(texts: Texts) -> int:
    if texts.verdict is None:
        return 0
    of_parts = slice(texts.parts[0].base, texts.parts[-1].base + texts.parts[-1].rows)
    return int((np.load(texts.verdict, mmap_mode="r")[of_parts] != -1).sum())


def _text_counts(counts: Mapping[str, Any], texts: Texts) -> dict[str, Any]:
    duplicates = _json(texts.dedupe / "counts.json") if texts.dedupe else {}
    return {"read": counts, "evaluation": texts.evaluation, "duplicates": duplicates}


def _json(path: Path) -> Any:
    return orjson.loads(path.read_bytes())
