"""The data behind a run: its builds by their manifests, and what the audit holds against them."""

from pathlib import Path

from mrprep.builddir.manifest import Build, open_build
from mrprep.errors import MrprepError
from mrprep.pages.bars import bar_table
from mrprep.pages.chart import Caption
from mrprep.pages.html import Html, join, tag
from mrprep.pages.numbers import percent, short
from mrprep.pages.page import facts, note
from mrprep.report.state import Run
from mrprep.training import suspects

_SOURCES = 20


def data(run: Run, *, audited: bool) -> Html:
    """Return the facts of each build; ``audited``: with a look at some of its rows."""
    return join(_build(path, audited=audited) for path in run.settings.builds)


def _build(path: Path, *, audited: bool) -> Html:
    try:
        build = open_build(path)
    except MrprepError as error:
        return join([tag("h3", str(path)), note(str(error), "bad")])
    found = suspects.found(build) if audited else None
    judged = note("A quick audit holds nothing against it.") if found == [] else ""
    complaints = [note(line, "warning") for line in found or ()]
    return join([tag("h3", str(path)), judged, *complaints, _facts(build), _sources(build)])


def _facts(build: Build) -> Html:
    """Return what every manifest of a build of rows has, and how many documents went which way if it counts them."""
    manifest = build.manifest
    splits = [
        (f"{name} split", f"{split['rows']:,} rows, {split['tokens']:,} tokens, {len(split['shards'])} shards")
        for name, split in manifest["splits"].items()
    ]
    documents = manifest["ledger"].get("documents", {})
    ways = [(str(way), count) for way, count in documents.items() if count]
    return facts(
        [
            *splits,
            ("rows", f"{manifest['seq']:,} tokens, {manifest['layout']}, packed by {manifest['packing']}"),
            ("vocabulary", f"{manifest['tokenizer']['vocab_size']:,}"),
            *([("documents", ", ".join(f"{count:,} {way.replace('_', ' ')}" for way, count in ways))] if ways else []),
            *([("stages", ", ".join(manifest["pipeline"]["stages"]))] if "stages" in manifest["pipeline"] else []),
        ]
    )


def _sources(build: Build) -> Html:
    by_source = build.manifest["counts"].get("tokens", {}).get("by_source", {})
    if not by_source:
        return Html("")
    tokens = sorted(((name, one["tokens"]) for name, one in by_source.items()), key=lambda pair: -pair[1])
    whole = sum(count for _, count in tokens) or 1
    shown = tokens[:_SOURCES]
    if len(tokens) > _SOURCES:
        shown = [*shown, ("all others", sum(count for _, count in tokens[_SOURCES:]))]
    return bar_table(
        Caption("Tokens by source", x="source", y="tokens"), shown, lambda n: f"{short(n)} ({percent(n / whole)})"
    )
