"""What was in a bad step: ``incidents/step-N/`` with its rows, their documents, lines and losses.

``incident.json`` for programs, ``incident.txt`` for people: rows by falling loss, in each its documents with their
own mean loss and the start of their decoded text. A second or so an incident; nothing otherwise.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from mrprep.builddir.manifest import Build, open_build
from mrprep.mindrecord.read import read_rows
from mrprep.printable import printable
from mrprep.provenance import tables
from mrprep.tokenizers.protocol import Tokenizer
from mrprep.tokenizers.sentencepiece import open_sentencepiece

Ids = npt.NDArray[np.int32]

_EXCERPT = 300
_ROWS_TOLD = 8


@dataclass(frozen=True, slots=True)
class Scored:
    """A row of the step, scored at the weights before the update."""

    rank: int
    """Who trained on it."""
    row: int
    """Its number over all shards of the train split."""
    losses: npt.NDArray[np.float32]
    """Cross entropy of each target, nats [seq]."""
    mask: npt.NDArray[np.float32]
    """1 where there is a target [seq]."""


def write(directory: Path, facts: Mapping[str, Any], rows: list[Scored], build: Path) -> Path:
    """Write an incident and return its directory.

    Args:
        directory: ``RUN/incidents``.
        facts: ``step`` and whatever else is known of it: reason, loss, norm, limits, lr, scale, action.
        rows: of all ranks.
        build: whose train split they are of.
    """
    opened = open_build(build)
    ids = read_rows(sorted(opened.shards("train")), ["input_ids"], [scored.row for scored in rows])
    tokenizer = open_sentencepiece(opened.file(opened.manifest["tokenizer"]["file"]), checked=True)
    told = [_row(opened, scored, one["input_ids"], tokenizer) for scored, one in zip(rows, ids, strict=True)]
    told.sort(key=lambda row: _falling(row["loss"]))
    path = directory / f"step-{facts['step']:08d}"
    path.mkdir(parents=True, exist_ok=True)
    (path / "incident.json").write_bytes(orjson.dumps({**facts, "rows": told}, option=orjson.OPT_INDENT_2))
    (path / "incident.txt").write_text("\n".join(_story(facts, told)) + "\n", encoding="utf-8")
    return path


def _row(build: Build, scored: Scored, ids: Ids, tokenizer: Tokenizer) -> dict[str, Any]:
    shard, within = _place(build, scored.row)
    return {
        "rank": scored.rank,
        "row": f"{Path(shard['file']).stem}:{within}",
        "loss": _finite(_mean(scored, 0, len(scored.losses))),
        "targets": int(scored.mask.sum()),
        "documents": [
            _document(build, stretch, scored, ids, tokenizer)
            for stretch in tables.stretches_of_row(build, dict(shard), within)
        ],
    }


def _place(build: Build, row: int) -> tuple[Mapping[str, Any], int]:
    """Return the shard of a row of the train split, and its number there."""
    for shard in sorted(build.manifest["splits"]["train"]["shards"], key=lambda shard: str(shard["file"])):
        if row < shard["rows"]:
            return shard, row
        row -= shard["rows"]
    raise IndexError(row)


def _document(
    build: Build, stretch: Mapping[str, int], scored: Scored, ids: Ids, tokenizer: Tokenizer
) -> dict[str, Any]:
    found, _, _ = tables.by_ordinal(build, stretch["doc"])
    start, end = stretch["at"], stretch["at"] + stretch["length"]
    return {
        "id": f"{found.id:016x}",
        "source": printable(found.source),
        "place": found.place,
        "from_token": stretch["token"],
        "at": [start, end],
        "loss": _finite(_mean(scored, max(0, start - 1), end - 1)),  # target i is token i + 1
        "text": printable(tokenizer.decode(ids[start:end].tolist()), _EXCERPT),
    }


def _mean(scored: Scored, start: int, end: int) -> float:
    mask = scored.mask[start:end]
    targets = float(mask.sum())
    return float((scored.losses[start:end] * mask).sum(dtype=np.float64)) / targets if targets else 0.0


def _finite(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None


def _falling(loss: float | None) -> float:
    """Sort key: the highest loss first, before it what is not finite."""
    return -math.inf if loss is None else -loss


def _story(facts: Mapping[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    lines = [f"{name:<12}{printable(str(value))}" for name, value in facts.items()]
    for row in rows[:_ROWS_TOLD]:
        lines += ["", f"{row['row']}  rank {row['rank']}  loss {row['loss']}  {row['targets']} targets"]
        for document in sorted(row["documents"], key=lambda told: _falling(told["loss"])):
            lines.append(f"  loss {document['loss']}  {document['id']}  {document['source']}  {document['place']}")
            lines.append(f"    {document['text']}")
    if len(rows) > _ROWS_TOLD:
        lines += ["", f"… {len(rows) - _ROWS_TOLD} more rows in incident.json"]
    return lines
