"""From the texts that are kept to shards: vocabulary, tokenize, split and shard."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from mrprep.books import Shard
from mrprep.builddir.tables import TextPart
from mrprep.config import Pipeline
from mrprep.engine.room import room
from mrprep.engine.work import Work
from mrprep.stages import pack, shard, tokenize
from mrprep.tokenizers.family import copy_in


def vocabulary_of(work: Work, pipeline: Pipeline, parts: Sequence[TextPart], verdict: Path | None) -> Path:
    """Return the directory of the vocabulary: trained on the documents that are kept, or a copy of the given one."""
    unit = tokenize.VocabularyUnit(tuple(parts), verdict, pipeline.tokenize, pipeline.seed)
    settings = {"seed": pipeline.seed, **tokenize.settings(pipeline.tokenize)}
    return work("vocabulary", [unit], tokenize.train_vocabulary, settings=settings)[0]


def tokenized(
    work: Work,
    pipeline: Pipeline,
    parts: Sequence[TextPart],
    verdict: Path | None,
    vocabulary: Path,
    *,
    stored: bool = False,
) -> list[Path]:
    """Return the tokens of each text part; ``stored``: the ids are in the parts, as an import leaves them."""
    weights = tuple((source.name, source.weight) for source in pipeline.source)
    units = [
        tokenize.TokenizeUnit(
            part=part,
            verdict=verdict,
            model=copy_in(vocabulary),
            seed=pipeline.seed,
            weights=weights,
            add_bos=pipeline.tokenize.add_bos,
            choices=pipeline.tokenize.choices,
            stored=stored,
        )
        for part in parts
    ]
    base = parts[0].base if parts else 0
    settings = {"version": tokenize.VERSION, "seed": pipeline.seed, "weights": weights, "base": base}
    with room(work.path / "tokenize", tokenize.bytes_of(units, _facts(vocabulary)["vocab_size"]), "tokenizing"):
        return work("tokenize", units, tokenize.tokenize_unit, settings=settings, weights=sizes(parts))


def sizes(parts: Sequence[TextPart]) -> list[int]:
    """Return the bytes of each part's texts, by which the largest is worked on first."""
    return [part.text_bytes for part in parts]


def sharded(
    work: Work, pipeline: Pipeline, tokens: Sequence[Path], vocabulary: Path, others: shard.Beside | None = None
) -> tuple[dict[str, Any], list[Shard]]:
    """Pack and write the shards, beside others if there are some; return what the split decided, and them."""
    packing, options = pipeline.pack, pipeline.shard.model_copy(update={"seed": pipeline.seed})
    settings = {
        "pack": {"version": pack.VERSION, **packing.model_dump(mode="json")},
        "shard": {"version": shard.VERSION, **options.model_dump(mode="json")},
    }
    split = work("split", [shard.SplitUnit(tuple(tokens), packing, options)], shard.split_unit, settings=settings)[0]
    facts = _facts(vocabulary)
    units = shard.shard_units(
        split,
        tokens,
        packing,
        options,
        pad_id=facts["pad_id"],
        eod_id=facts["eod_id"],
        bos=pipeline.tokenize.add_bos,
    )
    if others:
        units = shard.beside(units, others)
        settings["beside"] = asdict(others)
    sizes = [unit.bound.tokens for unit in units]
    with room(work.path / "shard", shard.bytes_of(units), "writing the shards", shard.room_beside(units)):
        done = work("shard", units, shard.shard_unit, settings=settings, weights=sizes)
    shards = [Shard(unit.split, unit.number, path) for unit, path in zip(units, done, strict=True)]
    return orjson.loads((split / "split.json").read_bytes()), shards


def _facts(vocabulary: Path) -> dict[str, Any]:
    facts: dict[str, Any] = orjson.loads((vocabulary / tokenize.FACTS).read_bytes())
    return facts
