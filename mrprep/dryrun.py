"""What a build would read and do, without writing anything."""

from collections.abc import Iterator
from pathlib import Path

from mrprep.builddir.layout import MANIFEST
from mrprep.config import Pipeline
from mrprep.growing.held import files_held
from mrprep.plan import UNREAD, Plan, plan
from mrprep.printable import printable
from mrprep.sources.twice import told

_LISTED = 10


def describe(pipeline: Pipeline, out: Path, url: str | None = None, found: Plan | None = None) -> str:
    """Return what a build of ``pipeline`` into ``out``, and from there to a URL, would read, leave aside and do.

    Args:
        pipeline: what to do.
        out: directory to make.
        url: where the build goes then.
        found: what would be read, if that is known already.

    Raises:
        MrprepError: it could not even start.
    """
    found = plan(pipeline.source, out) if found is None else found
    upload = [f"upload: {printable(url)}"] if url else []
    return "\n".join([*_inputs(found), *_steps(pipeline, out), *upload])


def _inputs(found: Plan) -> Iterator[str]:
    for listing in found.listings:
        size = sum(file.size for file in listing.files)
        yield f"{printable(listing.source.name)}: {len(listing.files):,} files, {size:,} bytes"
        skipped = sorted(listing.skipped, key=lambda item: item.kind not in UNREAD)
        for item in skipped[:_LISTED]:
            yield f"  left aside: {printable(item.path)} ({item.reason})"
        if len(listing.skipped) > _LISTED:
            yield f"  left aside: {len(listing.skipped) - _LISTED:,} more"
    if found.twice:
        yield told(len(found.twice))
    if found.held:
        yield files_held(len(found.held))
    yield f"{len(found.units):,} units of about {found.unit:,} bytes"


def _steps(pipeline: Pipeline, out: Path) -> Iterator[str]:
    model = pipeline.tokenize.model
    yield f"stages: {', '.join(pipeline.stages)}"
    yield f"tokenizer: {printable(str(model)) if model else 'trained on the text'}"
    yield f"rows of {pipeline.pack.seq:,} tokens, packing {pipeline.pack.packing}, layout {pipeline.pack.layout}"
    yield f"output: {printable(str(out))}{' (a build stands there)' if (out / MANIFEST).is_file() else ''}"
