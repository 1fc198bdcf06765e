"""The books of a build from which documents were removed on request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrprep import __version__
from mrprep.builddir.manifest import Build
from mrprep.duplicates.verdicts import KEPT
from mrprep.engine.ledger import added
from mrprep.growing.books import splits
from mrprep.growing.listed import Listed
from mrprep.order import I64
from mrprep.tokenizers.copies import copies

REMOVED = "removed_on_request"
"""Key of the ledger."""


@dataclass(frozen=True, slots=True)
class Emptied:
    """What became of a part of the text."""

    number: int
    facts: Mapping[str, Any]
    """``facts.json`` of `growing.cleaned`."""


@dataclass(frozen=True, slots=True)
class Repacked:
    """What became of a shard."""

    split: str
    place: int
    """Among the shards of its split."""
    entry: Mapping[str, Any] | None
    """Of the one that takes its place in the manifest; None where no document stays."""
    ledger: Mapping[str, Any]
    """Its line of the ledger."""
    removed: I64
    """Doc, tokens and whether an EOD closes it of each entry that went, int64[n, 3]."""


def without(
    build: Build, listed: Listed, emptied: Sequence[Emptied], repacked: Sequence[Repacked], verdict: I64
) -> dict[str, Any]:
    """Return the manifest of a build without some documents, but for its files, ``renamed``, names of parts, examples.

    Args:
        build: as it stands.
        listed: what goes.
        emptied: the parts of the text that it stood in.
        repacked: the shards that it stood in.
        verdict: of all rows, before.
    """
    was = build.manifest
    tokens_of = _by_part(build, repacked)
    books = {part.number: _part_books(build, part, tokens_of.get(part.number), verdict) for part in emptied}
    return {
        **was,
        "splits": _splits(was, repacked),
        "ledger": _ledger(was, books, repacked),
        "counts": {**was["counts"], "tokens": _tokens(build, emptied, repacked)},
        "changes": [*was.get("changes", ()), _record(listed, was, repacked)],
    }


def _part_of(build: Build, docs: I64) -> I64:
    bases = [part["base"] for part in build.manifest["text"]["parts"]]
    found: I64 = np.searchsorted(bases, docs, "right") - 1
    return found


def _by_part(build: Build, repacked: Sequence[Repacked]) -> dict[int, I64]:
    """Return the entries that went, by the part that holds their text."""
    entries = np.concatenate([np.zeros((0, 3), np.int64), *(each.removed for each in repacked)])
    of = _part_of(build, entries[:, 0])
    return {number: entries[of == number] for number in np.unique(of).tolist()}


def _part_books(build: Build, part: Emptied, entries: I64 | None, verdict: I64) -> dict[str, Any]:
    """Return how many rows of a part went from which line of the ledger, and of what was written."""
    base = build.manifest["text"]["parts"][part.number]["base"]
    rows = part.facts["rows"]
    docs = np.array([base + row["place"] for row in rows], np.int64)
    weights = {source["name"]: source["weight"] for source in build.manifest["pipeline"]["source"]}
    wanted = copies(
        int(build.manifest["seed"]),
        np.array([row["id"] for row in rows], np.uint64),
        np.array([weights.get(row["source"], 1.0) for row in rows], np.float64),
    )
    written = np.zeros((0, 3), np.int64) if entries is None else entries
    duplicates = verdict[docs] != KEPT
    kept = np.isin(docs, written[:, 0]) & ~duplicates
    rest = ~duplicates & ~kept
    gone = {
        "duplicates": int(duplicates.sum()),
        "kept": int(kept.sum()),
        "sampled_out": int((rest & (wanted == 0)).sum()),
        "empty": int((rest & (wanted > 0)).sum()),
        "dropped": part.facts["dropped"],
    }
    return {"documents": gone, "removed": {"pieces": len(written), "tokens": int(written[:, 1].sum())}}


def _ledger(was: Mapping[str, Any], books: Mapping[int, Any], repacked: Sequence[Repacked]) -> dict[str, Any]:
    ledger = was["ledger"]
    gone = {was["splits"][each.split]["shards"][each.place]["file"] for each in repacked}
    shards = {name: line for name, line in ledger["shards"].items() if name not in gone}
    shards |= {each.entry["file"]: each.ledger for each in repacked if each.entry}
    found = {**_taken(ledger, list(books.values())), "shards": shards}
    if "additions" in ledger:
        of = _additions(was)
        found["additions"] = [
            _taken(alone, [books[number] for number in books if of[number] == addition])
            for addition, alone in enumerate(ledger["additions"])
        ]
    return found


def _taken(ledger: Mapping[str, Any], books: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a ledger with what went moved to a line of its own."""
    total = added([{"documents": {}, "removed": {"pieces": 0, "tokens": 0}}, *books])
    gone, documents = total["documents"], ledger["documents"]
    moved = {name: count - gone.get(name, 0) for name, count in documents.items()}
    moved[REMOVED] = documents.get(REMOVED, 0) + sum(gone.values())
    return {**ledger, "documents": moved, "removed": added([ledger.get("removed", {}), total["removed"]])}


def _additions(was: Mapping[str, Any]) -> list[int]:
    """Return which addition each part of the text came with; 0 is the first build."""
    later = [change["parts"] for change in was["changes"] if change["change"] == "append"]
    sizes = [len(was["text"]["parts"]) - sum(later), *later]
    found: list[int] = np.repeat(np.arange(len(sizes)), sizes).tolist()
    return found


def _splits(was: Mapping[str, Any], repacked: Sequence[Repacked]) -> dict[str, Any]:
    gone = {(each.split, each.place) for each in repacked}
    shards = {
        split: [
            *(shard for place, shard in enumerate(facts["shards"]) if (split, place) not in gone),
            *(dict(each.entry) for each in repacked if each.split == split and each.entry),
        ]
        for split, facts in was["splits"].items()
    }
    return splits(shards)


def _tokens(build: Build, emptied: Sequence[Emptied], repacked: Sequence[Repacked]) -> dict[str, Any]:
    """Return ``counts.tokens`` without what went: documents, pieces, tokens and bytes, of all and by source."""
    was = build.manifest["counts"]["tokens"]
    bases = [part["base"] for part in build.manifest["text"]["parts"]]
    rows = {bases[part.number] + row["place"]: row for part in emptied for row in part.facts["rows"]}
    entries = np.concatenate([np.zeros((0, 3), np.int64), *(each.removed for each in repacked)]).tolist()
    gone = [
        {
            "by_source": {rows[doc]["source"]: {"documents": ends, "tokens": tokens, "bytes": rows[doc]["bytes"]}},
            "documents": ends,
            "eod": ends,
            "pieces": 1,
            "tokens": tokens,
            "bytes": rows[doc]["bytes"],
            **({"bos": ends} if was["bos"] else {}),
            "rows": {"copies": 1},
        }
        for doc, tokens, ends in entries
    ]
    once = {doc: ends for doc, _, ends in entries}
    gone.append({"encoded": sum(once.values()), "kept": sum(once.values()), "rows": {"encoded": len(once)}})
    return added([was, _negative(added(gone))])


def _negative(counts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _negative(count) if isinstance(count, Mapping) else -count for name, count in counts.items()}


def _record(listed: Listed, was: Mapping[str, Any], repacked: Sequence[Repacked]) -> dict[str, Any]:
    """Return what is kept of a removal: counts and shards, nothing that tells the documents."""
    return {
        "change": "remove",
        "documents": int(listed.ids.size),
        "copies": listed.copies,
        "followers": listed.followers,
        "shards": {
            was["splits"][each.split]["shards"][each.place]["file"]: each.entry["file"] if each.entry else None
            for each in repacked
        },
        "version": __version__,
    }
