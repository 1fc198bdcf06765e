"""What was in a bad step: ``incidents/step-N/`` with its rows, their documents, lines and losses.

``incident.json`` for programs, ``incident.txt`` for people: rows by falling loss, in each its documents with their
own mean loss and their decoded text from its worst place on. A second or so an incident; nothing otherwise.
"""

import math
from collections.abc import Iterator, Mapping
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
from mrprep.tokenizers.of_build import tokenizer_of
from mrprep.tokenizers.protocol import Tokenizer
from mrprep.training.mixture import Mixture
from mrprep.training.shards import place

Ids = npt.NDArray[np.int32]

_EXCERPT = 300
_ROWS_TOLD = 8
_WORST = 64
_NOT_FINITE = 1e6


@dataclass(frozen=True, slots=True)
class Scored:
    """A row of the step, scored at the weights before the update."""

    rank: int
    """Who trained on it."""
    row: int
    """Its number over all shards of the train splits."""
    losses: npt.NDArray[np.float32]
    """Cross entropy of each target, nats [seq]."""
    mask: npt.NDArray[np.float32]
    """1 where there is a target [seq]."""


def write(directory: Path, facts: Mapping[str, Any], rows: list[Scored], mixture: Mixture) -> Path:
    """Write an incident and return its directory.

    Args:
        directory: ``RUN/incidents``.
        facts: ``step`` and whatever else is known of it: reason, loss, norm, limits, lr, scale, action.
        rows: of all ranks.
        mixture: whose rows they are.
    """
    told = list(_rows(mixture, rows))
    told.sort(key=lambda row: _falling(row["loss"]))
    path = directory / f"step-{facts['step']:08d}"
    path.mkdir(parents=True, exist_ok=True)
    (path / "incident.json").write_bytes(orjson.dumps({**facts, "rows": told}, option=orjson.OPT_INDENT_2))
    (path / "incident.txt").write_text("\n".join(_story(facts, told)) + "\n", encoding="utf-8")
    return path


def _rows(mixture: Mixture, rows: list[Scored]) -> Iterator[dict[str, Any]]:
    of, within = mixture.locate(np.array([scored.row for scored in rows]))
    for k in np.unique(of):
        build, mine = open_build(mixture.parts[k].build), np.flatnonzero(of == k)
        tokenizer = tokenizer_of(build, checked=True)
        for i, read in zip(mine, read_rows(mixture.parts[k].files, ["input_ids"], within[mine]), strict=True):
            yield _row(build, rows[i], int(within[i]), read["input_ids"], tokenizer)


def _row(build: Build, scored: Scored, row: int, ids: Ids, tokenizer: Tokenizer) -> dict[str, Any]:
    shard, within = place(build, "train", row)
    return {
        "rank": scored.rank,
        "build": str(build.path),
        "row": f"{Path(shard['file']).stem}:{within}",
        "loss": _finite(_mean(scored, 0, len(scored.losses))),
        "targets": int(scored.mask.sum()),
        "documents": [
            _document(build, stretch, scored, ids, tokenizer)
            for stretch in tables.stretches_of_row(build, dict(shard), within)
        ],
    }


def _document(
    build: Build, stretch: Mapping[str, int], scored: Scored, ids: Ids, tokenizer: Tokenizer
) -> dict[str, Any]:
    found, _, _ = tables.by_ordinal(build, stretch["doc"])
    start, end = stretch["at"], stretch["at"] + stretch["length"]
    first, last = max(0, start - 1), end - 1  # target i is token i + 1
    told_from = start + worst(scored.losses[first:last] * scored.mask[first:last])
    text = tokenizer.decode(ids[told_from:end].tolist()).lstrip("\ufffd")  # a character cut in two
    return {
        "id": f"{found.id:016x}",
        "source": printable(found.source),
        "place": found.place,
        "from_token": stretch["token"],
        "at": [start, end],
        "loss": _finite(_mean(scored, first, last)),
        "text_from": told_from,
        "text": text[:_EXCERPT] + "…" if len(text) > _EXCERPT else text,
    }


def worst(losses: npt.NDArray[np.float32]) -> int:
    """Return where the 64 losses of the highest sum begin; 0 of fewer than 128. What is not finite is highest."""
    if len(losses) < 2 * _WORST:
        return 0
    sums = np.concatenate([[0.0], np.cumsum(np.where(np.isfinite(losses), losses, _NOT_FINITE), dtype=np.float64)])
    return int(np.argmax(sums[_WORST:] - sums[:-_WORST]))


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
    several = len({row["build"] for row in rows}) > 1
    for row in rows[:_ROWS_TOLD]:
        place = f"{row['row']}  of {printable(row['build'])}" if several else row["row"]
        lines += ["", f"{place}  rank {row['rank']}  loss {row['loss']}  {row['targets']} targets"]
        for document in sorted(row["documents"], key=lambda told: _falling(told["loss"])):
            lines.append(f"  loss {document['loss']}  {document['id']}  {document['source']}  {document['place']}")
            lines.append(f"    {printable(document['text'], _EXCERPT + 1)}")
    if len(rows) > _ROWS_TOLD:
        lines += ["", f"… {len(rows) - _ROWS_TOLD} more rows in incident.json"]
    return lines
