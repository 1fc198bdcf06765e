"""Is a build what its manifest says: every file there, of its size and SHA-256, and the books in order?"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from mrprep.builddir.digest import digest
from mrprep.builddir.layout import TOKENIZER
from mrprep.builddir.manifest import Build
from mrprep.builddir.publish import strangers
from mrprep.engine.ledger import Entry, added
from mrprep.engine.progress import bar
from mrprep.printable import printable


def damage(build: Build) -> Iterator[str]:
    """Yield one sentence for each file that is missing or differs, and for each line of the ledger that is off."""
    yield from (f"{printable(name)}: {problem}" for name, problem in changed(build, build.files))
    yield from disorder(build)


def changed(build: Build, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield name and problem of those files, of some of the manifest's, that are missing or differ."""
    records = {name: build.files[name] for name in sorted(names)}
    with bar(sum(record["bytes"] for record in records.values()), "verify") as shown:
        for name, record in records.items():
            problem = _file_problem(build.file(name), record)
            if problem:
                yield name, problem
            shown.update(record["bytes"])


def disorder(build: Build) -> Iterator[str]:
    """Yield one sentence for each file that the manifest does not list, and for all that is off in its books."""
    yield from (f"{printable(name)}: not in the manifest" for name in strangers(build))
    yield from _shard_problems(build)
    yield from _tokenizer_problems(build)
    for entry in entries(build.manifest["ledger"]):
        if entry.left != entry.right:
            yield f"ledger: {entry.name}: {entry.left} against {entry.right}"


def _file_problem(path: Path, record: Mapping[str, Any]) -> str:
    if not path.is_file() or path.is_symlink():
        return "missing"
    found = digest(path)
    if found["bytes"] != record["bytes"]:
        return f"{found['bytes']} bytes, {record['bytes']} in the manifest"
    return "" if found["sha256"] == record["sha256"] else "its content changed (SHA-256 differs from the manifest)"


def _shard_problems(build: Build) -> Iterator[str]:
    for split, facts in build.manifest["splits"].items():
        if sum(shard["rows"] for shard in facts["shards"]) != facts["rows"]:
            yield f"{printable(split)}: the rows of its shards do not add up to {facts['rows']}"


def _tokenizer_problems(build: Build) -> Iterator[str]:
    path = build.file(f"{TOKENIZER}/facts.json")
    if not build.manifest["splits"] or not path.is_file():
        return
    said, facts = build.manifest["tokenizer"], orjson.loads(path.read_bytes())
    yield from (f"tokenizer: {name} differs from {path.name}" for name in facts if said.get(name) != facts[name])


def entries(ledger: Mapping[str, Any]) -> list[Entry]:
    """Return the equations of a build's ledger; see docs/ledger.md for the words."""
    read, kept, written = ledger["read"], ledger["documents"], ledger["written"]
    shards, withheld = ledger["shards"], ledger["withheld"]
    in_shards = sum(shard["tokens"] for shard in shards.values())
    removed = ledger.get("removed", {"tokens": 0})["tokens"]
    return [
        *_addition_entries(ledger),
        Entry(
            "records + cuts = bad records + documents", read["records"] + read["cuts"], read["bad"] + read["documents"]
        ),
        Entry("documents = kept + left out by reason", read["documents"], sum(kept.values())),
        Entry("written = kept x copies", written["pieces"], written["copies"]),
        Entry(
            "tokens written = tokens in shards + withheld + removed on request",
            written["tokens"],
            in_shards + withheld["tokens"] + removed,
        ),
        *(entry for name, shard in sorted(shards.items()) for entry in _shard_entries(name, shard)),
    ]


def _addition_entries(ledger: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield the equations of what was added one after the other, whose sums the ledger has."""
    additions = ledger.get("additions", ())
    for number, alone in enumerate(additions):
        read, kept = alone["read"], alone["documents"]
        yield Entry(f"addition {number}: documents = kept + left out", read["documents"], sum(kept.values()))
    for book in ("read", "documents", "written", "withheld", "removed") if additions else ():
        total = added([alone[book] for alone in additions if book in alone])
        of_all = ledger.get(book, {})
        for name in sorted(total.keys() | of_all.keys()):
            yield Entry(f"{book} {name} = that of all additions", of_all.get(name, 0), total.get(name, 0))


def _shard_entries(name: str, shard: Mapping[str, Any]) -> list[Entry]:
    seq, rows, tokens, padding = shard["seq"], shard["rows"], shard["tokens"], shard["padding"]
    targets = Entry(f"{name}: rows x S = targets + padding", rows * seq, shard["targets"] + padding)
    if shard["packing"] == "bestfit":
        places = rows * (seq + 1)
        return [
            targets,
            Entry(f"{name}: rows x (S + 1) = T + cuts + padding", places, tokens + shard["cuts"] + padding),
        ]
    return [targets, Entry(f"{name}: targets = T - 1", shard["targets"], max(0, tokens - 1))]
