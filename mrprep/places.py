"""Where each file that phases have written goes in a finished build: (name in the build, file of the work)."""

from collections.abc import Iterator
from pathlib import Path

from mrprep.books import Exported, Results, Texts
from mrprep.builddir import layout

Places = Iterator[tuple[str, Path]]


def shard_places(results: Results) -> Places:
    """Yield the files of a build of shards."""
    yield from _texts(results.texts)
    for file in sorted(results.vocabulary.iterdir()):
        yield f"{layout.TOKENIZER}/{file.name}", file
    for shard in results.shards:
        for ending in ("", ".db"):
            yield shard.file + ending, shard.path / (Path(shard.file).name + ending)
        yield layout.PROVENANCE.format(split=shard.split, number=shard.number), shard.path / "provenance.parquet"


def document_places(exported: Exported) -> Places:
    """Yield the files of a build of documents."""
    yield from _texts(exported.texts)
    for name, path in zip(exported.names, exported.written, strict=True):
        yield name, path / f"documents.{exported.form}"


def _texts(texts: Texts) -> Places:
    for number, part in enumerate(texts.parts, texts.first):
        yield layout.TEXT.format(number), part.path / "text.parquet"
        yield layout.DROPPED.format(number), part.path / "dropped.parquet"
        yield layout.FILES.format(number), part.path / "files.parquet"
        yield layout.HITS.format(number), part.path / "hits.parquet"
        yield from _those_there(
            (layout.SKETCH.format(number, name), part.path / f"{name}.npy") for name in ("documents", "bands")
        )
    if texts.dedupe:
        names = {layout.DUPLICATES: "report.json", layout.CLUSTERS: "clusters.parquet", layout.VERDICT: "verdict.npy"}
        yield from _those_there((name, texts.dedupe / file) for name, file in names.items())


def _those_there(places: Places) -> Places:
    """Leave out what is not written: a build without dedupe has no sketches, and verdicts only after a removal."""
    return ((name, file) for name, file in places if file.is_file())
