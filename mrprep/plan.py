"""What a build is going to read: the files of its sources, cut into units, before anything is written."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import xxhash

from mrprep.errors import MrprepError
from mrprep.mindrecord.foreign import mindrecord_files
from mrprep.printable import file_name, printable
from mrprep.sources.discover import File, Listing, discover
from mrprep.sources.files import open_file
from mrprep.sources.source import Source
from mrprep.sources.spans import Span, cut, unit_bytes
from mrprep.sources.twice import named_before

UNREAD = ("unreadable", "dangling")
"""Kinds of what is left aside though somebody meant it to be read."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The input of a build."""

    listings: tuple[Listing, ...]
    unit: int
    """Bytes a unit of work aims at; a function of the input's size alone."""
    units: tuple[tuple[Span, ...], ...]
    held: frozenset[tuple[str, bytes]] = frozenset()
    """Source and path of the files that are not read, as the build that grows holds them."""
    twice: frozenset[tuple[str, bytes]] = frozenset()
    """Source and path of those that are not read, as an earlier source holds them."""

    @property
    def files(self) -> int:
        """How many files will be read."""
        return sum(len(listing.files) for listing in self.listings)

    @property
    def bytes(self) -> int:
        """Their size on disk."""
        return sum(file.size for listing in self.listings for file in listing.files)


_PACKED = 3
"""Times as much text as a compressed file or table has bytes, at least."""


def room_for(found: Plan) -> int:
    """Return the bytes that a build of an input takes on the disk, itself and its work: its text once, at the least."""
    files = (file for listing in found.listings for file in listing.files)
    return sum(file.size * (_PACKED if file.compression else 1) for file in files)


def plan(sources: Sequence[Source], out: Path | None, *, strict: bool = False) -> Plan:
    """List the sources and cut them into units.

    Args:
        sources: of a pipeline.
        out: where the build will stand, if that is to be checked.
        strict: refuse files and folders that cannot be read, and links that lead nowhere.

    Raises:
        MrprepError: a source does not exist, ``out`` lies in the way, or nothing supported was found.
    """
    for source in sources:
        _check(source, out)
    listings = listed(sources)
    twice = named_before(listings)
    listings = tuple(_without(listing, twice) for listing in listings) if twice else listings
    unit = unit_bytes(sum(file.size for listing in listings for file in listing.files))
    found = Plan(listings, unit, tuple(cut(listings, unit)), twice=twice)
    if strict:
        _refuse_unreadable(listings)
    _refuse_nowhere(listings)
    if not found.files:
        raise MrprepError(_nothing(listings))
    return found


def plan_mindrecord(sources: Sequence[Source], out: Path) -> Plan:
    """List the MindRecord files of sources: themselves, or those below them that have an index.

    Raises:
        MrprepError: a source does not exist, ``out`` lies in the way, or there is no such file.
    """
    for source in sources:
        _refuse_url(source)
        _check(source, out)
    listings = tuple(_mindrecord(source) for source in sources)
    empty = next((listing.source for listing in listings if not listing.files), None)
    if empty:
        raise MrprepError(f"{printable(str(empty.path))} holds no MindRecord file with a .db beside it: name others")
    return Plan(listings, 0, ())


def _mindrecord(source: Source) -> Listing:
    root = (source.path if source.path.is_dir() else source.path.parent).absolute()
    found = [(path, path.stat()) for path in mindrecord_files(source.path.absolute())]
    files = [
        File(os.fsencode(path.relative_to(root)), stat.st_size, stat.st_mtime_ns, "mindrecord", "")
        for path, stat in found
    ]
    return Listing(source, os.fsencode(root), tuple(files), ())


def listed(sources: Sequence[Source]) -> tuple[Listing, ...]:
    """List the sources as they are now."""
    return tuple(discover(source) for source in sources)


def without(found: Plan, held: frozenset[tuple[str, bytes]]) -> Plan:
    """Return a plan without some files, by source and path; a source of which none is left goes too."""
    if not (held or found.twice):
        return found
    left_out = {name for name, _ in held | found.twice}
    listings = tuple(
        left for each in found.listings if (left := _without(each, held)).files or each.source.name not in left_out
    )
    unit = unit_bytes(sum(file.size for listing in listings for file in listing.files))
    return Plan(listings, unit, tuple(cut(listings, unit)), held, found.twice)


def _without(listing: Listing, held: frozenset[tuple[str, bytes]]) -> Listing:
    files = tuple(file for file in listing.files if (listing.source.name, file.path) not in held)
    return replace(listing, files=files)


def listed_again(found: Plan) -> tuple[Listing, ...]:
    """List the sources of a plan as they are now, without the files that it leaves to the build, or another source."""
    left_out = found.held | found.twice
    return tuple(_without(listing, left_out) for listing in listed([each.source for each in found.listings]))


def _refuse_unreadable(listings: Sequence[Listing]) -> None:
    for listing in listings:
        for item in listing.skipped:
            if item.kind in UNREAD:
                raise MrprepError(
                    f"{file_name(listing.source.name, item.path)} {item.reason} (--strict stops at what cannot be read)"
                )


def _refuse_nowhere(listings: Sequence[Listing]) -> None:
    """Refuse URLs without a file below them: stores do not tell an empty folder from none."""
    for listing in listings:
        if listing.source.url and not listing.files and not listing.skipped:
            shown = printable(listing.source.place)
            raise MrprepError(f"{shown} does not exist, or holds no file: name a URL with text below it")


def _refuse_url(source: Source) -> None:
    if source.url:
        raise MrprepError(
            f"{printable(source.url)} is a URL, and MindRecord files are read of a file system alone: copy them to "
            "one, and name the copy"
        )


def _check(source: Source, out: Path | None) -> None:
    shown = printable(source.place)
    if source.url.endswith("/"):
        raise MrprepError(f"{shown} names no place in a store: name one, such as {shown.rstrip('/')}//bucket/corpus")
    if source.url:
        return
    if not os.path.lexists(source.path):
        raise MrprepError(f"{shown} does not exist: name a folder or a file of text")
    if out is None:
        return
    if source.path.resolve() == out.resolve() or out.resolve() in source.path.resolve().parents:
        raise MrprepError(f"the input {shown} lies inside the output {printable(str(out))}: give another --out")


def _nothing(listings: Sequence[Listing]) -> str:
    skipped = [item for listing in listings for item in listing.skipped]
    shown = ", ".join(f"{printable(item.path)} ({item.reason})" for item in skipped[:5])
    return (
        "no file with a supported ending (.txt .md .jsonl .json .parquet .arrow, texts also .gz .zst .bz2 .xz) "
        "was found"
        + (f"; left aside: {shown}{' …' if len(skipped) > 5 else ''}" if skipped else "; the input is empty")
        + ": name other inputs, or give format = in a pipeline file"
    )


def inputs_record(listings: Sequence[Listing], *, hashed: bool) -> Mapping[str, Any]:
    """Return what tells one state of the input from another: path, size and mtime (or XXH3) of each file."""
    return {
        listing.source.name: [
            [printable(file.path, 4096), file.size, _content(listing, file.path) if hashed else file.version]
            for file in listing.files
        ]
        for listing in listings
    }


def _content(listing: Listing, path: bytes) -> str:
    hasher = xxhash.xxh3_128()
    with open_file(os.path.join(listing.root, path)) as stream:  # noqa: PTH118
        while block := stream.read(1 << 20):
            hasher.update(block)
    return hasher.hexdigest()


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Say in some words how two inputs_records differ; empty when they do not."""
    was = {(name, row[0]): row[1:] for name, rows in old.items() for row in rows}
    now = {(name, row[0]): row[1:] for name, rows in new.items() for row in rows}
    for word, keys in (
        ("new", sorted(now.keys() - was.keys())),
        ("gone", sorted(was.keys() - now.keys())),
        ("changed", sorted(key for key in now.keys() & was.keys() if now[key] != was[key])),
    ):
        if keys:
            more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
            return f"{'/'.join(keys[0])}{more} {'is' if not more else 'are'} {word}"
    return ""
