"""The books of a build: what its manifest says, put together from what the phases have counted."""

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
from mrprep.plan import Plan
from mrprep.printable import printable
from mrprep.request import Request

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
class Results:
    """What the phases have left, for the build to be put together from."""

    parts: Sequence[TextPart]
    dedupe: Path | None
    vocabulary: Path
    tokens: Sequence[Path]
    split: Mapping[str, Any]
    shards: Sequence[Shard]


def facts(request: Request, found: Plan, results: Results) -> dict[str, Any]:
    """Return the manifest but for its list of files."""
    counts = added([_json(part.path / "counts.json") for part in results.parts])
    tokens = added([_json(path / "counts.json") for path in results.tokens])
    shards = {shard.file: _json(shard.path / "counts.json") for shard in results.shards}
    duplicates = _json(results.dedupe / "counts.json") if results.dedupe else {}
    pipeline = request.options
    tokenizer = _json(results.vocabulary / "tokenizer.json")
    return {
        "mrprep": layout.FORMAT,
        "version": __version__,
        "seed": request.pipeline.seed,
        "seq": request.pipeline.pack.seq,
        "layout": request.pipeline.pack.layout,
        "packing": request.pipeline.pack.packing,
        "pipeline": pipeline,
        "libraries": dict(request.libraries),
        "tokenizer": {**tokenizer, "file": f"{layout.TOKENIZER}/tokenizer.model"},
        "text": {
            "parts": [
                {"file": layout.TEXT.format(number), "base": part.base, "rows": part.rows}
                for number, part in enumerate(results.parts)
            ],
            "dropped": [layout.DROPPED.format(number) for number in range(len(results.parts))],
        },
        "splits": _splits(results, shards),
        "inputs": _inputs(found, results),
        "ledger": _ledger(request, results, counts, tokens, shards),
        "counts": {"read": counts, "duplicates": duplicates, "tokens": tokens},
        "notes": [*results.split["notes"], *_vocabulary_notes(tokenizer)],
    }


def _vocabulary_notes(tokenizer: Mapping[str, Any]) -> list[str]:
    return [note for note in [tokenizer.get("training", {}).get("note", "")] if note]


def _splits(results: Results, counts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    splits: dict[str, Any] = {}
    for shard in results.shards:
        counted = counts[shard.file]
        entry = {
            "file": shard.file,
            "provenance": layout.PROVENANCE.format(split=shard.split, number=shard.number),
            **{name: counted[name] for name in ("rows", "tokens", "targets", "padding", "documents", "header", "page")},
        }
        splits.setdefault(shard.split, {"shards": []})["shards"].append(entry)
    for split in splits.values():
        for name in ("rows", "tokens", "targets", "padding", "documents"):
            split[name] = sum(shard[name] for shard in split["shards"])
    return splits


def _inputs(found: Plan, results: Results) -> dict[str, Any]:
    """Return what was read and what was not, by source and by kind."""
    problems = [
        {
            "source": row["source"],
            "path": printable(row["path"], 4096),
            "problem": printable(row["problem"], 400),
        }
        for part in results.parts
        for row in pq.read_table(part.path / "files.parquet").to_pylist()
        if row["problem"]
    ]
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
    return {"files": found.files, "bytes": found.bytes, "skipped": skipped, "problems": problems}


def _ledger(
    request: Request,
    results: Results,
    counts: Mapping[str, Any],
    tokens: Mapping[str, Any],
    shards: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    left_out = {stage: sum(reasons.values()) for stage, reasons in counts["left_out"].items() if stage != "read"}
    duplicates = int((np.load(results.dedupe / "verdict.npy", mmap_mode="r") >= 0).sum()) if results.dedupe else 0
    names = ("rows", "tokens", "targets", "padding", "cuts", "bos", "eod")
    return {
        "read": {name: counts[name] for name in ("records", "cuts", "bad", "documents")},
        "documents": {
            "dropped": sum(left_out.values()),
            "duplicates": duplicates,
            "sampled_out": tokens["rows"]["sampled_out"],
            "empty": tokens["rows"]["empty"],
            "kept": tokens["rows"]["encoded"],
        },
        "written": {"copies": tokens["rows"]["copies"], **{name: tokens[name] for name in _WRITTEN}},
        "withheld": results.split["withheld"],
        "shards": {
            name: {
                "packing": request.pipeline.pack.packing,
                "seq": request.pipeline.pack.seq,
                **{key: shard[key] for key in names},
            }
            for name, shard in shards.items()
        },
    }


def _json(path: Path) -> Any:
    return orjson.loads(path.read_bytes())
