"""Is a build what its manifest says: every file there, of its size and SHA-256, and the books in order?"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mrprep.builddir.digest import digest
from mrprep.builddir.manifest import Build
from mrprep.engine.ledger import Entry
from mrprep.engine.progress import bar
from mrprep.printable import printable


def damage(build: Build) -> Iterator[str]:
    """Yield one sentence for each file that is missing or differs, and for each line of the ledger that is off."""
    with bar(sum(record["bytes"] for record in build.files.values()), "verify") as shown:
        for name, record in sorted(build.files.items()):
            problem = _file_problem(build.file(name), record)
            if problem:
                yield f"{printable(name)}: {problem}"
            shown.update(record["bytes"])
    yield from _shard_problems(build)
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
        for shard in facts["shards"]:
            if f"{shard['file']}.db" not in build.files:
                yield f"{printable(shard['file'])}: its index (.db) is not in the manifest"
        if sum(shard["rows"] for shard in facts["shards"]) != facts["rows"]:
            yield f"{printable(split)}: the rows of its shards do not add up to {facts['rows']}"


def entries(ledger: Mapping[str, Any]) -> list[Entry]:
    """Return the equations of a build's ledger; see docs/ledger.md for the words."""
    read, kept, written = ledger["read"], ledger["documents"], ledger["written"]
    lines = [
        Entry(
            "records + cuts = bad records + documents",
            read["records"] + read["cuts"],
            read["bad"] + read["documents"],
        ),
        Entry(
            "documents = kept + dropped + duplicates + sampled out + without tokens",
            read["documents"],
            kept["kept"] + kept["dropped"] + kept["duplicates"] + kept["sampled_out"] + kept["empty"],
        ),
        Entry(
            "written tokens = text + BOS + EOD",
            written["total"],
            written["tokens"] + written["bos"] + written["eod"],
        ),
    ]
    return lines + [entry for name, shard in sorted(ledger["shards"].items()) for entry in _shard_entries(name, shard)]


def _shard_entries(name: str, shard: Mapping[str, Any]) -> list[Entry]:
    seq, rows, total, padding = shard["seq"], shard["rows"], shard["tokens"], shard["padding"]
    if shard["packing"] == "bestfit":
        return [Entry(f"{name}: R(S+1) = T + cuts + padding", rows * (seq + 1), total + shard["cuts"] + padding)]
    return [Entry(f"{name}: R·S = targets + padding", rows * seq, total - 1 + padding)]
